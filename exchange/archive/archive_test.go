package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/exchange/archive"
	"memento/sensitive"

	"github.com/google/go-cmp/cmp"
)

var ana = memento.Actor{Kind: memento.ActorUser, ID: "ana"}

// newStore returns an empty store, with limits that let large contents in.
func newStore(t testing.TB) *memento.Store {
	t.Helper()
	b := memstore.New(nil)
	t.Cleanup(func() { b.Close() })
	return memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{
		Name: "source", Description: "a test", Metadata: map[string]string{"k": "v"},
		Limits: memento.Limits{MemoryBytes: 64 << 20},
	}, &memento.StoreOptions{Detector: sensitive.Default()})
}

func apply(t testing.TB, s *memento.Store, changes ...memento.Change) []memento.Version {
	t.Helper()
	r, err := s.Apply(t.Context(), memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"}, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return r.Versions
}

// lived returns a store with everything that a history can have.
func lived(t testing.TB) *memento.Store {
	t.Helper()
	s := newStore(t)
	first := apply(t, s, memento.Put{Path: "/notes/a.md", Content: "one\r\n\u2028<&>\x00 no end"})
	apply(t, s, memento.Put{Path: "/notes/a.md", Content: "two\n"})
	apply(t, s, memento.Put{Path: "/empty", Content: ""}, memento.Put{Path: "/same", Content: "two\n"})
	apply(t, s, memento.Put{Path: "/gone.md", Content: "secret"})
	apply(t, s, memento.Remove{Path: "/gone.md"})
	apply(t, s, memento.Put{Path: "/gone.md", Content: "again"})
	apply(t, s, memento.Put{Path: "/dir/x/1", Content: "1"}, memento.Put{Path: "/dir/x/2", Content: "2"})
	apply(t, s, memento.Move{From: "/dir/x", To: "/ünï côde/y"})
	apply(t, s, memento.Put{Path: memento.Path("/" + strings.Repeat("long/", 60) + strings.Repeat("n", 240)), Content: "deep"})
	if _, err := s.Redact(t.Context(), first[0].ID, ana); err != nil {
		t.Fatal(err)
	}
	return s
}

// state is all that a store has to show.
type state struct {
	Memories []memento.Memory
	Versions []memento.Version
}

func stateOf(t testing.TB, s *memento.Store) state {
	t.Helper()
	var st state
	for e, err := range s.List(t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		m := e.Memory
		m.ReadAt = time.Time{}
		st.Memories = append(st.Memories, m)
	}
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		v.Seq = 0 // assigned again
		st.Versions = append(st.Versions, v)
	}
	return st
}

// contentsOf maps paths to contents.
func contentsOf(t testing.TB, s *memento.Store) map[memento.Path]string {
	t.Helper()
	contents := map[memento.Path]string{}
	for _, m := range stateOf(t, s).Memories {
		contents[m.Path] = m.Content
	}
	return contents
}

func export(t testing.TB, s *memento.Store, opts *archive.WriteOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := archive.Write(t.Context(), &b, s, opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	source, copied := lived(t), newStore(t)
	data := export(t, source, nil)
	sum, err := archive.Read(t.Context(), bytes.NewReader(data), copied, ana, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := stateOf(t, source)
	if diff := cmp.Diff(want, stateOf(t, copied)); diff != "" {
		t.Errorf("the copy differs (-source +copy):\n%s", diff)
	}
	if sum.Memories != len(want.Memories) || sum.Versions != len(want.Versions) {
		t.Errorf("summary %+v; want %d memories, %d versions", sum, len(want.Memories), len(want.Versions))
	}
	// A copy lives on, and can be copied.
	apply(t, copied, memento.Put{Path: "/more", Content: "more"})
	again := newStore(t)
	if _, err := archive.Read(t.Context(), bytes.NewReader(export(t, copied, nil)), again, ana, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stateOf(t, copied), stateOf(t, again)); diff != "" {
		t.Errorf("the copy of the copy differs:\n%s", diff)
	}
}

func TestSpec(t *testing.T) {
	source := lived(t)
	a, err := archive.Load(t.Context(), bytes.NewReader(export(t, source, nil)), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := memento.StoreSpec{Name: "source", Description: "a test", Metadata: map[string]string{"k": "v"},
		Limits: memento.Limits{MemoryBytes: 64 << 20}.WithDefaults(), Settings: new(memento.DefaultSettings())}
	if diff := cmp.Diff(want, a.Spec()); diff != "" {
		t.Errorf("the description differs:\n%s", diff)
	}
}

// The larger part of an archive goes through a file, in parts of all sizes.
func TestRoundTripOfMuch(t *testing.T) {
	for _, contentsOnly := range []bool{false, true} {
		source, copied := newStore(t), newStore(t)
		for i := range 30 {
			text := strings.Repeat(fmt.Sprintf("line %d\n", i), (i%7)*40_000)
			apply(t, source, memento.Put{Path: memento.Path(fmt.Sprintf("/m%d", i)), Content: text})
		}
		dir := t.TempDir()
		data := export(t, source, &archive.WriteOptions{ContentsOnly: contentsOnly, TempDir: dir})
		if _, err := archive.Read(t.Context(), bytes.NewReader(data), copied, ana, &archive.ReadOptions{ContentsOnly: contentsOnly}); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(contentsOf(t, source), contentsOf(t, copied)) {
			t.Errorf("contents only %t: the copy differs", contentsOnly)
		}
		if left := names(t, dir); len(left) > 0 {
			t.Errorf("contents only %t: left behind %v", contentsOnly, left)
		}
	}
}

func TestContentsOnly(t *testing.T) {
	source := lived(t)
	want := contentsOf(t, source)
	for name, data := range map[string][]byte{
		"with history":    export(t, source, nil),
		"without history": export(t, source, &archive.WriteOptions{ContentsOnly: true}),
	} {
		t.Run(name, func(t *testing.T) {
			target := newStore(t)
			apply(t, target, memento.Put{Path: "/mine", Content: "mine"}, memento.Put{Path: "/same", Content: "mine"})
			before := stateOf(t, target)
			read := func(o archive.ReadOptions) error {
				o.ContentsOnly = true
				_, err := archive.Read(t.Context(), bytes.NewReader(data), target, ana, &o)
				return err
			}
			if err := read(archive.ReadOptions{}); !errors.Is(err, memento.ErrExist) || !strings.Contains(err.Error(), "/same") {
				t.Errorf("reading over /same: %v; want ErrExist that names it", err)
			}
			if diff := cmp.Diff(before, stateOf(t, target)); diff != "" {
				t.Fatalf("a refused import changed the store:\n%s", diff)
			}
			if err := read(archive.ReadOptions{Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			got := contentsOf(t, target)
			if got["/mine"] != "mine" {
				t.Error("the import removed /mine")
			}
			delete(got, "/mine")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("contents differ:\n%s", diff)
			}
			after := stateOf(t, target).Versions
			if by := after[len(after)-1].CreatedBy; by != ana {
				t.Errorf("imported by %v; want %v", by, ana)
			}
		})
	}
}

func TestHistoryNeedsAnEmptyStore(t *testing.T) {
	data := export(t, lived(t), nil)
	target := newStore(t)
	apply(t, target, memento.Put{Path: "/x", Content: "x"})
	apply(t, target, memento.Remove{Path: "/x"}) // no memory, but a history
	before := stateOf(t, target)
	if _, err := archive.Read(t.Context(), bytes.NewReader(data), target, ana, nil); !errors.Is(err, archive.ErrNotEmpty) {
		t.Errorf("Read into a store with history: %v; want ErrNotEmpty", err)
	}
	if diff := cmp.Diff(before, stateOf(t, target)); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
}

func TestWithoutHistory(t *testing.T) {
	data := export(t, lived(t), &archive.WriteOptions{ContentsOnly: true})
	if _, err := archive.Read(t.Context(), bytes.NewReader(data), newStore(t), ana, nil); !errors.Is(err, archive.ErrNoHistory) {
		t.Errorf("Read: %v; want ErrNoHistory", err)
	}
}

func TestEmptyStore(t *testing.T) {
	s := newStore(t)
	if _, err := archive.Write(t.Context(), io.Discard, s, nil); !errors.Is(err, memento.ErrNoStore) {
		t.Errorf("Write of no store: %v; want ErrNoStore", err)
	}
	if _, err := s.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	copied := newStore(t)
	if _, err := archive.Read(t.Context(), bytes.NewReader(export(t, s, nil)), copied, ana, nil); err != nil {
		t.Fatal(err)
	}
	if st := stateOf(t, copied); len(st.Memories)+len(st.Versions) > 0 {
		t.Errorf("an empty store came back as %+v", st)
	}
}

// Limits are those of the store that is written to.
func TestLimit(t *testing.T) {
	data := export(t, lived(t), nil)
	b := memstore.New(nil)
	defer b.Close()
	s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "small", Limits: memento.Limits{Memories: 2}}, &memento.StoreOptions{Detector: sensitive.Default()})
	for _, contentsOnly := range []bool{false, true} {
		_, err := archive.Read(t.Context(), bytes.NewReader(data), s, ana, &archive.ReadOptions{ContentsOnly: contentsOnly})
		if !errors.Is(err, memento.ErrTooLarge) {
			t.Errorf("contents only %t: %v; want ErrTooLarge", contentsOnly, err)
		}
		if st := stateOf(t, s); len(st.Memories)+len(st.Versions) > 0 {
			t.Errorf("contents only %t: a refused import left %+v", contentsOnly, st)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := contextOf(t)
	data := export(t, lived(t), nil)
	s := newStore(t)
	cancel()
	if _, err := archive.Read(ctx, bytes.NewReader(data), s, ana, nil); !errors.Is(err, ctx.Err()) {
		t.Errorf("Read: %v; want %v", err, ctx.Err())
	}
	if _, err := archive.Write(ctx, io.Discard, lived(t), nil); !errors.Is(err, ctx.Err()) {
		t.Errorf("Write: %v; want %v", err, ctx.Err())
	}
}

// An archive is a plain tar.gz: another program reads its memories.
func TestPlainTar(t *testing.T) {
	source := lived(t)
	found := map[memento.Path]string{}
	var order []string
	for _, e := range unpack(t, export(t, source, nil)) {
		order = append(order, e.name)
		if p, ok := strings.CutPrefix(e.name, "memories/"); ok {
			found["/"+memento.Path(p)] = e.data
		}
	}
	if diff := cmp.Diff(contentsOf(t, source), found); diff != "" {
		t.Errorf("memories differ:\n%s", diff)
	}
	if order[0] != "memento.json" || order[len(order)-1] != "history.jsonl" {
		t.Errorf("entries come as %q", order)
	}
}

// Keys of actors come back, in an archive whose version says that there are some.
// Others stay readable by programs that only know version 1.
func TestActorKeys(t *testing.T) {
	source, copied := lived(t), newStore(t)
	version := func(data []byte) string {
		t.Helper()
		_, rest, _ := strings.Cut(unpack(t, data)[0].data, `"version":`)
		return rest[:1]
	}
	if got := version(export(t, source, nil)); got != "1" {
		t.Errorf("without keys the archive has version %s, want 1", got)
	}
	by := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1", Key: "apikey_1"}
	r, err := source.Apply(t.Context(), by, memento.Put{Path: "/key", Content: "1"})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, source, memento.Remove{Path: "/key"})
	if _, err := source.Redact(t.Context(), r.Versions[0].ID, memento.Actor{Key: "apikey_2"}); err != nil {
		t.Fatal(err)
	}
	data := export(t, source, nil)
	if got := version(data); got != "2" {
		t.Errorf("with keys the archive has version %s, want 2", got)
	}
	if _, err := archive.Read(t.Context(), bytes.NewReader(data), copied, ana, nil); err != nil {
		t.Fatal(err)
	}
	want := stateOf(t, source)
	if last := want.Versions[len(want.Versions)-2]; last.CreatedBy != by || last.RedactedBy.Key != "apikey_2" {
		t.Fatalf("the source has %+v", last)
	}
	if diff := cmp.Diff(want.Versions, stateOf(t, copied).Versions); diff != "" {
		t.Error("history (-want +got):\n" + diff)
	}
}
