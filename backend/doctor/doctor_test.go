package doctor_test

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/cryptstore"
	"memento/backend/doctor"
	"memento/backend/memstore"
	"memento/backend/sqlitestore"
	"memento/backend/storetest"
)

var someone = memento.Actor{Kind: memento.ActorUser, ID: "test"}

// fill makes a store with a history.
func fill(t *testing.T, b memento.Backend) memento.StoreInfo {
	t.Helper()
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "notes", Settings: &settings})
	if err != nil {
		t.Fatal(err)
	}
	for _, changes := range [][]memento.Change{
		{memento.Put{Path: "/a.md", Content: "one"}, memento.Put{Path: "/dir/b.md", Content: "two"}, memento.Put{Path: "/empty"}},
		{memento.Put{Path: "/a.md", Content: "three"}},
		{memento.Move{From: "/dir", To: "/other"}, memento.Remove{Path: "/empty"}},
	} {
		if _, err := b.Apply(t.Context(), info.ID, someone, changes); err != nil {
			t.Fatal(err)
		}
	}
	for v, err := range b.ListVersions(t.Context(), info.ID, memento.VersionListOptions{OldestFirst: true, Limit: 1}) {
		if err == nil {
			_, err = b.Redact(t.Context(), info.ID, v.ID, someone)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return info
}

// look returns what a doctor says of a store.
func look(t *testing.T, b memento.Backend, info memento.StoreInfo) (seen doctor.Counts, faults []doctor.Fault) {
	t.Helper()
	d := doctor.Doctor{Backend: b, Report: func(f doctor.Fault) { faults = append(faults, f) }}
	seen, err := d.Store(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	return seen, faults
}

func openSQLite(t *testing.T) memento.Backend {
	b, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "m.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// Sound backends have no faults, and nothing of the trial is left.
func TestSound(t *testing.T) {
	keys, err := cryptstore.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	encrypted, err := cryptstore.Wrap(t.Context(), openSQLite(t), keys, &cryptstore.Options{EncryptNames: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]memento.Backend{"mem": memstore.New(nil), "sqlite": openSQLite(t), "encrypted": encrypted} {
		t.Run(name, func(t *testing.T) {
			info := fill(t, b)
			storetest.NewKey(t, b.(apikey.Keeper), info.Workspace, apikey.RoleRead, time.Now())
			seen, faults := look(t, b, info)
			if want := (doctor.Counts{Stores: 1, Memories: 2, Versions: 6, Bytes: 8}); seen != want || len(faults) > 0 {
				t.Errorf("%+v, %+v", seen, faults)
			}
			d := doctor.Doctor{Backend: b, Report: func(f doctor.Fault) { t.Errorf("%+v", f) }}
			if n, err := d.TryWrites(t.Context(), info.Workspace); n != 0 || err != nil {
				t.Errorf("promises: %d, %v", n, err)
			}
			if n, err := d.VerifyBackend(t.Context()); n != 0 || err != nil {
				t.Errorf("inside: %d, %v", n, err)
			}
			if keys, n, err := d.Keys(t.Context()); keys != 1 || n != 0 || err != nil {
				t.Errorf("keys: %d, %d, %v", keys, n, err)
			}
			for s, err := range b.ListStores(t.Context(), info.Workspace, memento.StoreListOptions{IncludeArchived: true}) {
				if err != nil || s.ID != info.ID {
					t.Errorf("there is %+v, %v", s, err)
				}
			}
		})
	}
}

// altered shows another history, memories and descriptions than the backend has.
type altered struct {
	memento.Backend
	versions func([]memento.Version) []memento.Version
	entries  func([]memento.Entry) []memento.Entry
	usage    memento.Usage
}

func collect[T any](seq iter.Seq2[T, error]) (all []T) {
	for v, err := range seq {
		if err != nil {
			return nil
		}
		all = append(all, v)
	}
	return all
}

func show[T any](all []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (a altered) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	all := collect(a.Backend.ListVersions(ctx, id, opts))
	if a.versions != nil && opts.Limit == 0 {
		all = a.versions(all)
	}
	return show(all)
}

func (a altered) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	all := collect(a.Backend.List(ctx, id, opts))
	if a.entries != nil && opts.Depth == 0 {
		all = a.entries(all)
	}
	return show(all)
}

func (a altered) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	info, err := a.Backend.GetStore(ctx, ws, id)
	info.Usage.Memories += a.usage.Memories
	return info, err
}

// Each kind of damage is found, and named.
func TestFaults(t *testing.T) {
	last := func(all []memento.Version) *memento.Version { return &all[len(all)-1] }
	for says, tc := range map[string]altered{
		"it counts 3 memories with 8 bytes, but has 2 with 8": {usage: memento.Usage{Memories: 1}},
		"exists, but not according to the history": {versions: func(all []memento.Version) []memento.Version {
			first := all[0].Memory
			return slices.DeleteFunc(all, func(v memento.Version) bool { return v.Memory == first })
		}},
		"differs from its newest version": {versions: func(all []memento.Version) []memento.Version {
			return slices.Delete(all, 4, 5)
		}},
		"according to the history, memory": {entries: func(all []memento.Entry) []memento.Entry { return all[1:] }},
		"is out of order in the listing, or listed twice": {entries: func(all []memento.Entry) []memento.Entry {
			slices.Reverse(all)
			return all
		}},
		"a path is both a memory and a directory": {entries: func(all []memento.Entry) []memento.Entry {
			all[0].Path, all[0].Memory.Path = "/other", "/other"
			return all
		}},
		"has contents that do not match its hash or its size": {entries: func(all []memento.Entry) []memento.Entry {
			all[0].Memory.Content = "damaged"
			return all
		}},
		"of memory": {versions: func(all []memento.Version) []memento.Version { // version … of memory … does not have
			all[3].Content = "damaged"
			return all
		}},
		"exists twice": {versions: func(all []memento.Version) []memento.Version { return append(all, *last(all)) }},
		"is out of order: its number is 0": {versions: func(all []memento.Version) []memento.Version {
			last(all).Seq = 0
			return all
		}},
		"should be empty, but is not": {versions: func(all []memento.Version) []memento.Version {
			last(all).Content = "left over"
			return all
		}},
		"has a path that is not valid": {versions: func(all []memento.Version) []memento.Version {
			last(all).Path = "/a//b"
			return all
		}},
		"is redacted and has a path, or neither": {versions: func(all []memento.Version) []memento.Version {
			all[0].Path = "/a.md"
			return all
		}},
		"has the unknown operation": {versions: func(all []memento.Version) []memento.Version {
			last(all).Operation = "renamed"
			return all
		}},
		"1 versions have times in the future": {versions: func(all []memento.Version) []memento.Version {
			last(all).CreatedAt = time.Now().Add(time.Hour)
			return all
		}},
		"cannot be read by its": {entries: func(all []memento.Entry) []memento.Entry {
			all[0].Memory.ID = "mem_other"
			return all
		}},
	} {
		t.Run(says, func(t *testing.T) {
			b := memstore.New(nil)
			info := fill(t, b)
			tc.Backend = b
			seen, faults := look(t, tc, info)
			if int64(len(faults)) != seen.Faults || !slices.ContainsFunc(faults, func(f doctor.Fault) bool { return strings.Contains(f.Text, says) }) {
				t.Errorf("%+v, %+v", seen, faults)
			}
			for _, f := range faults {
				if f.Store != info.ID || f.Repair == "" || strings.Contains(f.Text, ".md") || strings.Contains(f.Text, "damaged") {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// careless is a backend that minds no conditions.
type careless struct{ memento.Backend }

func (c careless) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	for i, change := range changes {
		if put, ok := change.(memento.Put); ok {
			put.If = memento.Condition{}
			changes[i] = put
		}
	}
	return c.Backend.Apply(ctx, id, by, changes)
}

func TestBrokenPromises(t *testing.T) {
	var said []string
	d := doctor.Doctor{
		Backend: careless{memstore.New(nil)},
		Report:  func(f doctor.Fault) { said = append(said, f.Text) },
		Now:     func() time.Time { return time.Now().Add(time.Hour) },
	}
	n, err := d.TryWrites(t.Context(), memento.DefaultWorkspace)
	if err != nil || int(n) != len(said) {
		t.Errorf("%d, %v, %q", n, err, said)
	}
	for _, want := range []string{"1h0m0s apart", "that requires that the memory does not exist", "on condition of a version that is no longer the newest", "of 8 concurrent writes over the same version, 8 succeeded"} {
		if !strings.Contains(strings.Join(said, "\n"), want) {
			t.Errorf("it does not say %q: %q", want, said)
		}
	}
}

// A backend that cannot be asked is no fault of what it keeps.
func TestUnavailable(t *testing.T) {
	b := memstore.New(nil)
	info := fill(t, b)
	b.Close()
	d := doctor.Doctor{Backend: b, Report: func(f doctor.Fault) { t.Errorf("%+v", f) }}
	if _, err := d.Store(t.Context(), info); !errors.Is(err, memento.ErrClosed) {
		t.Errorf("%v", err)
	}
	if _, err := d.TryWrites(t.Context(), info.Workspace); !errors.Is(err, memento.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// A busy backend is written to whenever its memories are listed.
type busy struct{ altered }

func (b busy) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	if opts.Depth == 0 {
		if _, err := b.Apply(ctx, id, someone, []memento.Change{memento.Put{Path: memento.Path("/new/" + rand.Text())}}); err != nil {
			return func(yield func(memento.Entry, error) bool) { yield(memento.Entry{}, err) }
		}
	}
	return b.altered.List(ctx, id, opts)
}

// What comes while a store is looked at is no fault of it, and does not hide one.
func TestBusy(t *testing.T) {
	b := memstore.New(nil)
	info := fill(t, b)
	if seen, faults := look(t, busy{altered{Backend: b}}, info); seen.Faults != 0 || seen.Busy != 1 || seen.Stores != 1 || len(faults) > 0 {
		t.Errorf("%+v, %+v", seen, faults)
	}
	damage := func(all []memento.Version) []memento.Version {
		all[3].Content = "damaged"
		return all
	}
	seen, faults := look(t, busy{altered{Backend: b, versions: damage}}, info)
	if seen.Faults != 1 || len(faults) != 1 || !strings.Contains(faults[0].Text, "has contents that do not match") {
		t.Errorf("%+v, %+v", seen, faults)
	}
}

// verified is a backend that knows of faults of its own, or could not look for them.
type verified struct {
	memento.Backend
	faults []string
	err    error
}

func (v verified) Verify(context.Context) ([]string, error) { return v.faults, v.err }

func TestInside(t *testing.T) {
	var said []doctor.Fault
	d := doctor.Doctor{Backend: verified{faults: []string{"memstore_1 has 1 row too many"}}, Report: func(f doctor.Fault) { said = append(said, f) }}
	if n, err := d.VerifyBackend(t.Context()); n != 1 || err != nil || len(said) != 1 || said[0].Text != "memstore_1 has 1 row too many" || said[0].Repair == "" {
		t.Errorf("%d, %v, %+v", n, err, said)
	}
	d.Backend = verified{err: memento.ErrUnavailable}
	if n, err := d.VerifyBackend(t.Context()); n != 0 || !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("%d, %v", n, err)
	}
}
