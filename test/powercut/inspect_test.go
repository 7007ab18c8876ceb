//go:build linux

package powercut

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"memento"
	"memento/backend/doctor"
)

// inspect returns the contents of a backend. The order of calls is random, because a backend may
// notice a change in one call and not in another.
func (t task) inspect(ctx context.Context, b memento.Backend) (*found, error) {
	f := &found{Stores: map[string]memento.StoreID{}, Files: files{}}
	problem := func(format string, args ...any) { f.Problems = append(f.Problems, fmt.Sprintf(format, args...)) }
	d := doctor.Doctor{Backend: b, Report: func(x doctor.Fault) { problem("doctor: %s: %s", x.Store, x.Text) }}
	all, err := d.Stores(ctx, memento.DefaultWorkspace)
	if err != nil {
		return nil, err
	}
	for _, info := range all {
		if f.Stores[info.Name] != "" {
			problem("two stores are named %s", info.Name)
		}
		f.Stores[info.Name] = info.ID
		if t.Seed%3 == 1 {
			if _, err := d.Store(ctx, info); err != nil {
				return nil, err
			}
		}
		if t.Seed%3 == 2 {
			if _, err := b.Get(ctx, info.ID, memento.ByPath(sharedLog)); err != nil && !errors.Is(err, memento.ErrNotExist) {
				return nil, err
			}
		}
		for e, err := range b.List(ctx, info.ID, memento.ListOptions{Contents: true}) {
			if err != nil {
				return nil, err
			}
			f.Files[info.Name+":"+string(e.Path)] = e.Memory.Content
		}
		for v, err := range b.ListVersions(ctx, info.ID, memento.VersionListOptions{OldestFirst: true, After: t.After[info.ID]}) {
			if err != nil {
				return nil, err
			}
			f.Versions = append(f.Versions, version{info.ID, v.Seq, v.Operation, string(v.Path), v.SHA256, v.CreatedBy.ID})
		}
		if _, err := d.Store(ctx, info); err != nil {
			return nil, err
		}
	}
	if _, err := d.VerifyBackend(ctx); err != nil {
		return nil, err
	}
	if t.Engine == "dir" {
		err = t.compareFiles(f, problem)
	}
	return f, err
}

// compareFiles compares the files on the disk with the memories.
func (t task) compareFiles(f *found, problem func(string, ...any)) error {
	top := filepath.Join(t.Dir, "folder")
	places := map[string]string{} // names of stores, by folder
	for name, id := range f.Stores {
		place, err := os.ReadFile(filepath.Join(top, ".memento", "stores", string(id)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			place = []byte("memories")
		case err != nil:
			return err
		}
		if other := places[string(place)]; other != "" {
			problem("%s and %s have one folder", name, other)
		}
		places[string(place)] = name
	}
	others, err := os.ReadDir(filepath.Join(top, "stores"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, o := range others {
		place := "stores/" + o.Name() + "/memories"
		if places[place] == "" { // an empty folder of a store may remain, but no file
			places[place] = "no store"
		}
	}
	onDisk := files{}
	for place, store := range places {
		place = filepath.Join(top, place)
		err := filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				if errors.Is(err, fs.ErrNotExist) && path == place {
					return nil
				}
				return err
			}
			text, err := os.ReadFile(path)
			onDisk[store+":"+strings.TrimPrefix(path, place)] = string(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	for key, text := range f.Files {
		if got, there := onDisk[key]; !there {
			problem("memory %s has no file", key)
		} else if got != text {
			problem("the file of %s has %q, the memory %q", key, got, text)
		}
	}
	for key := range onDisk {
		if _, there := f.Files[key]; !there {
			problem("file %s is no memory", key)
		}
	}
	return nil
}
