package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/sqlitestore"
	"memento/test/proctest"

	"github.com/google/go-cmp/cmp"
)

// writePair writes two memories of one text in one Apply.
func writePair(ctx context.Context, b memento.Backend, store memento.StoreID, dir memento.Path, i int) ([]memento.Version, error) {
	text := fmt.Sprintf("%s round %d %s", dir, i, strings.Repeat("filler ", i%50))
	at := dir.Join(fmt.Sprint(i % 20))
	done, err := b.Apply(ctx, store, memento.Actor{Kind: memento.ActorSession, ID: string(dir)}, []memento.Change{
		memento.Put{Path: at.Join("a"), Content: text}, memento.Put{Path: at.Join("b"), Content: text},
	})
	return done.Versions, err
}

// makeStore makes a store with some pairs of memories in it.
func makeStore(t testing.TB, b memento.Backend, name string, pairs int) memento.StoreID {
	t.Helper()
	info, err := b.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pairs {
		if _, err := writePair(t.Context(), b, info.ID, "/first", i); err != nil {
			t.Fatal(err)
		}
	}
	return info.ID
}

func backUp(t testing.TB, b backend.BackupWriter, path string) backend.BackupSummary {
	t.Helper()
	sum, err := b.Backup(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func history(t testing.TB, b memento.Backend, store memento.StoreID) (all []memento.Version) {
	t.Helper()
	for v, err := range b.ListVersions(t.Context(), store, memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// present returns the contents of all memories.
func present(t testing.TB, b memento.Backend, store memento.StoreID) map[memento.Path]string {
	t.Helper()
	all := map[memento.Path]string{}
	for e, err := range b.List(t.Context(), store, memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		all[e.Path] = e.Memory.Content
	}
	return all
}

// replay returns the contents that a history leads to.
func replay(versions []memento.Version) map[memento.Path]string {
	paths, contents := map[memento.MemoryID]memento.Path{}, map[memento.Path]string{}
	for _, v := range versions {
		delete(contents, paths[v.Memory])
		if v.Operation != memento.Deleted {
			paths[v.Memory], contents[v.Path] = v.Path, v.Content
		}
	}
	return contents
}

// namesIn returns the names of the files in a directory, except reserves.
func namesIn(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "-reserve") {
			names = append(names, e.Name())
		}
	}
	return names
}

// A backup has what was acknowledged before it began, and is the state of one
// moment, however many write meanwhile, in this process and in another.
func TestBackupUnderWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "memento.db")
	b := open(t, path)
	store := makeStore(t, b, "busy", 200)
	other := makeStore(t, b, "quiet", 3)

	var (
		mu           sync.Mutex
		acknowledged []memento.VersionID
	)
	note := func(ids ...memento.VersionID) {
		mu.Lock()
		defer mu.Unlock()
		acknowledged = append(acknowledged, ids...)
	}
	c := proctest.Start(t, childTask{Kind: "write", Path: path, Store: store})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for c.Lines.Scan() {
			note(memento.VersionID(c.Lines.Text()))
		}
	})
	for g := range 8 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				made, err := writePair(context.WithoutCancel(ctx), b, store, memento.Path(fmt.Sprintf("/writer%d", g)), i)
				if err != nil {
					t.Error(err)
					return
				}
				for _, v := range made {
					note(v.ID)
				}
			}
		})
	}
	type taken struct {
		path   string
		sum    backend.BackupSummary
		before []memento.VersionID
	}
	var all []taken
	written := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	for n := range 3 {
		for start := written(); written() < start+100; { // so that there is something new in it
			time.Sleep(time.Millisecond)
		}
		mu.Lock()
		before := slices.Clone(acknowledged)
		mu.Unlock()
		k := taken{path: filepath.Join(dir, fmt.Sprintf("backup%d.db", n)), before: before}
		k.sum = backUp(t, b, k.path)
		if written() == len(before) {
			t.Error("nobody has written during the backup")
		}
		all = append(all, k)
	}
	stop()
	c.In.Close()
	wg.Wait()
	if err := c.Wait(); err != nil {
		t.Fatalf("child: %v: %s", err, c.Errs.String())
	}

	truth := history(t, b, store)
	for _, k := range all {
		if info, err := os.Stat(k.path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' || info.Size() != k.sum.Size {
			t.Errorf("%v, %v", info, err)
		}
		copied := open(t, k.path)
		got := history(t, copied, store)
		for i, v := range got {
			if i >= len(truth) || v != truth[i] {
				t.Fatalf("the history is not a beginning of the original's: %+v", v)
			}
		}
		have := map[memento.VersionID]bool{}
		for _, v := range got {
			have[v.ID] = true
		}
		for _, id := range k.before {
			if !have[id] {
				t.Errorf("version %s was acknowledged before the backup began, and is not in it", id)
			}
		}
		memories := present(t, copied, store)
		if !maps.Equal(replay(got), memories) {
			t.Errorf("memories are not those of the history")
		}
		for p, text := range memories {
			if p.Base() == "a" && memories[p.Parent().Join("b")] != text {
				t.Errorf("of %s there is a half", p.Parent())
			}
		}
		if diff := cmp.Diff(history(t, b, other), history(t, copied, other)); diff != "" {
			t.Errorf("another store (-want +got):\n%s", diff)
		}
		if k.sum.Stores != 2 || k.sum.Versions != int64(len(got)+6) || k.sum.Memories != int64(len(memories)+6) || !k.sum.NewestAt.Equal(got[len(got)-1].CreatedAt) {
			t.Errorf("told %+v of %d versions and %d memories", k.sum, len(got), len(memories))
		}
	}
}

// A backup that does not come to its end leaves nothing, and never replaces anything.
func TestBackupFails(t *testing.T) {
	dir := t.TempDir()
	b := open(t, filepath.Join(dir, "memento.db"))
	store := makeStore(t, b, "notes", 50)
	ctx, cancel := context.WithCancel(t.Context())
	closed, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "memento.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := namesIn(t, dir)
	for _, tt := range []struct {
		name     string
		b        *sqlitestore.Backend
		ctx      context.Context
		file     string
		progress func(done, total int64)
		want     error
	}{
		{"cancelled", b, ctx, "new", func(done, total int64) { cancel() }, context.Canceled},
		{"taken", b, t.Context(), "there", nil, fs.ErrExist},
		{"taken meanwhile", b, t.Context(), "late", func(done, total int64) {
			if err := os.WriteFile(filepath.Join(dir, "late"), []byte("keep me"), 0o600); err != nil {
				t.Error(err)
			}
		}, fs.ErrExist},
		{"no folder", b, t.Context(), "missing/new", nil, fs.ErrNotExist},
		{"closed", closed, t.Context(), "new", nil, memento.ErrClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.b.Backup(tt.ctx, filepath.Join(dir, tt.file), tt.progress)
			if !errors.Is(err, tt.want) || err != nil && strings.Contains(err.Error(), dir) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
	got := slices.DeleteFunc(namesIn(t, dir), func(name string) bool { return name == "late" })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, name := range []string{"there", "late"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != "keep me" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := writePair(t.Context(), b, store, "/later", 1); err != nil {
		t.Error(err)
	}
}

// Progress goes from little to all.
func TestBackupProgress(t *testing.T) {
	dir := t.TempDir()
	b := open(t, filepath.Join(dir, "memento.db"))
	store := makeStore(t, b, "notes", 0)
	if _, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: strings.Repeat("x", 90_000)}}); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := b.Apply(t.Context(), store, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: strings.Repeat(fmt.Sprint(i), 45_000)}}); err != nil {
			t.Fatal(err)
		}
	}
	var seen []int64
	sum, err := b.Backup(t.Context(), filepath.Join(dir, "backup.db"), func(done, total int64) {
		seen = append(seen, done)
		if done > total {
			t.Errorf("%d of %d", done, total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSorted(seen) || len(seen) < 3 || seen[len(seen)-1] != sum.Size {
		t.Errorf("progress %v to %d", seen, sum.Size)
	}
}

// BenchmarkBackup backs up 100 MB of memories, at rest and while 8 callers write, and
// reports how long their writes take.
func BenchmarkBackup(b *testing.B) {
	dir := b.TempDir()
	back, err := sqlitestore.Open(b.Context(), filepath.Join(dir, "memento.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer back.Close()
	spec := memento.StoreSpec{Name: "large", Limits: memento.Limits{Memories: 1 << 20, Bytes: 1 << 30}}
	info, err := back.CreateStore(b.Context(), workspace, spec)
	if err != nil {
		b.Fatal(err)
	}
	for i := range 200 {
		var changes []memento.Change
		for j := range 100 {
			text := strings.Repeat(fmt.Sprintf("memory %d of folder %d\n", j, i), 200)
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: text})
		}
		if _, err := back.Apply(b.Context(), info.ID, memento.Actor{}, changes); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := back.Search(b.Context(), info.ID, memento.SearchOptions{Query: "folder"}); err != nil { // indexes it
		b.Fatal(err)
	}
	backup := func(b *testing.B) {
		for b.Loop() {
			path := filepath.Join(b.TempDir(), "backup.db")
			sum, err := back.Backup(b.Context(), path, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(sum.Size)
		}
	}
	b.Run("at rest", backup)
	for _, name := range []string{"alone", "backup"} {
		b.Run("writers/"+name, func(b *testing.B) {
			ctx, stop := context.WithCancel(b.Context())
			took := make([][]time.Duration, 8)
			var wg sync.WaitGroup
			for g := range took {
				wg.Go(func() {
					for i := 0; ctx.Err() == nil; i++ {
						start := time.Now()
						if _, err := writePair(b.Context(), back, info.ID, memento.Path(fmt.Sprintf("/writer%d", g)), i); err != nil {
							b.Error(err)
							return
						}
						took[g] = append(took[g], time.Since(start))
					}
				})
			}
			if name == "backup" {
				backup(b)
			} else {
				for b.Loop() {
					time.Sleep(time.Second)
				}
			}
			stop()
			wg.Wait()
			all := slices.Sorted(slices.Values(slices.Concat(took...)))
			ms := func(at int) float64 { return float64(all[at].Microseconds()) / 1000 }
			b.ReportMetric(ms(len(all)/2), "ms-p50")
			b.ReportMetric(ms(len(all)*99/100), "ms-p99")
			b.ReportMetric(ms(len(all)-1), "ms-max")
			b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
