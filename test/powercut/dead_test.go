//go:build linux

package powercut

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"memento"
	"memento/backend/doctor"
	"memento/backend/sqlitestore"
)

// A disk that can no longer be read is not damage: neither reads nor writes nor doctor
// report any. SQLite does, for some failed reads.
func TestDeadDisk(t *testing.T) {
	d, err := newExt4Disk(t)
	if err != nil {
		t.Logf("ext4 is not available: %v", err)
		volume(Strict)(t)
		return
	}
	do := mounted{T: t}.do
	ctx, file := t.Context(), filepath.Join(d.dir, "memento.db")
	b, err := sqlitestore.Open(ctx, file, nil)
	do(err)
	info, err := b.CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{Name: "s"})
	do(err)
	var last memento.VersionID
	for n := range 100 {
		applied, err := b.Apply(ctx, info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: memento.Path(fmt.Sprintf("/%d", n)), Content: "text"}})
		do(err)
		last = applied.Versions[0].ID
	}
	do(b.Close())
	b, err = sqlitestore.Open(ctx, file, nil) // with nothing in its cache but the schema
	do(err)
	for _, err := range b.ListStores(ctx, memento.DefaultWorkspace, memento.StoreListOptions{}) {
		do(err)
	}
	do(d.Cut(NoFlushLog))
	for what, use := range map[string]func(context.Context) error{
		"Get": func(ctx context.Context) error {
			_, err := b.Get(ctx, info.ID, memento.ByPath("/1"))
			return err
		},
		"GetVersion": func(ctx context.Context) error {
			_, err := b.GetVersion(ctx, info.ID, last)
			return err
		},
		"List": func(ctx context.Context) (err error) {
			for _, err = range b.List(ctx, info.ID, memento.ListOptions{Contents: true}) {
			}
			return err
		},
		"ListVersions": func(ctx context.Context) (err error) {
			for _, err = range b.ListVersions(ctx, info.ID, memento.VersionListOptions{}) {
			}
			return err
		},
		"doctor": func(ctx context.Context) error {
			x := doctor.Doctor{Backend: b, Report: func(f doctor.Fault) { t.Errorf("doctor: %s", f.Text) }}
			_, err := x.Store(ctx, info)
			return err
		},
	} {
		if err := use(ctx); !errors.Is(err, memento.ErrUnavailable) || errors.Is(err, memento.ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = b.Apply(ctx, info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/1", Content: "other"}})
	if err == nil || errors.Is(err, memento.ErrFormat) {
		t.Errorf("Apply: %v", err)
	}
	_ = b.Close() // it cannot write to the disk
	do(d.Restart(nil))
	b, err = sqlitestore.Open(ctx, file, nil)
	do(err)
	if m, err := b.Get(ctx, info.ID, memento.ByPath("/1")); m.Content != "text" {
		t.Errorf("%+v, %v", m, err)
	}
	do(b.Close())
}
