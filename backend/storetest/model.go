package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"memento"
	"memento/backend/memstore"
)

// model makes random calls on the backend and on package memstore, and compares all
// results. As both may share the rules of [backend.Planner], documents are also compared
// with a naive model, which does not.
func model(t *testing.T, h Harness) {
	h.run(t, "random calls", func(e *env) {
		reference := memstore.New(nil)
		e.Cleanup(func() { reference.Close() })
		rapid.Check(e.TB, func(t *rapid.T) {
			m := newTwins(t, e, reference)
			t.Repeat(map[string]func(*rapid.T){
				"apply":    m.apply,
				"change":   m.change,
				"get":      m.get,
				"list":     m.list,
				"versions": m.versions,
				"redact":   m.redact,
				"search":   m.search,
				"limits":   m.limits,
				"protect":  m.protect,
				"prune":    m.prune,
				"":         m.documents,
			})
			m.whole(t)
		})
	})
}

// twins are two stores that get the same calls, and the documents they should have.
type twins struct {
	e          *env
	sides      [2]side // the backend under test, the reference
	docs       naive
	versionsNo int // how many versions there are
}

// A side is one store. Its IDs are replaced by names that are the same on both sides.
type side struct {
	b        memento.Backend
	store    memento.StoreID
	versions []memento.VersionID // by number
	numbers  map[memento.VersionID]int
	memories map[memento.MemoryID]string
}

func newTwins(t *rapid.T, e *env, reference memento.Backend) *twins {
	m := &twins{e: e, docs: naive{}}
	for i, b := range []memento.Backend{e.b, reference} {
		info, err := b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "model"})
		if err != nil {
			t.Fatal(err)
		}
		m.sides[i] = side{b: b, store: info.ID, numbers: map[memento.VersionID]int{}, memories: map[memento.MemoryID]string{}}
	}
	return m
}

// learn numbers the IDs of new versions.
func (s *side) learn(versions []memento.Version) {
	for _, v := range versions {
		s.numbers[v.ID] = len(s.versions)
		s.versions = append(s.versions, v.ID)
		if s.memories[v.Memory] == "" {
			s.memories[v.Memory] = fmt.Sprint("memory ", len(s.memories))
		}
	}
}

// id returns the ID of the version with that number, or an unknown one.
func (s *side) id(number int) memento.VersionID {
	if number < 0 || number >= len(s.versions) {
		return "memver_unknown"
	}
	return s.versions[number]
}

// version returns v with shared names, and without the fields that always differ.
func (s *side) version(v memento.Version) memento.Version {
	n := s.numbers[v.ID]
	v.ID, v.Seq = memento.VersionID(fmt.Sprint("version ", n)), int64(n)
	v.Memory = memento.MemoryID(s.memories[v.Memory])
	v.CreatedAt = time.Time{}
	if v.Redacted() {
		v.RedactedAt = time.Unix(0, 0)
	}
	return v
}

func (s *side) memory(m memento.Memory) memento.Memory {
	if m.ID == "" {
		return m
	}
	m.ID = memento.MemoryID(s.memories[m.ID])
	m.Version = memento.VersionID(fmt.Sprint("version ", s.numbers[m.Version]))
	m.CreatedAt, m.UpdatedAt, m.ReadAt = time.Time{}, time.Time{}, time.Time{}
	return m
}

func (s *side) entry(x memento.Entry) memento.Entry {
	x.Memory, x.UpdatedAt = s.memory(x.Memory), time.Time{}
	return x
}

// both makes a call on both sides, whose results must be equal, and returns them.
func both[T any](t *rapid.T, m *twins, what string, ask func(s *side) (T, error)) (T, error) {
	got, err := ask(&m.sides[0])
	want, wantErr := ask(&m.sides[1])
	if a, b := sentinel(err), sentinel(wantErr); a != b || pathOf(err) != pathOf(wantErr) {
		t.Fatalf("%s: %v, want %v", what, err, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
	return got, err
}

// sentinel returns which of the errors in the contract err is.
func sentinel(err error) error {
	for _, s := range []error{
		memento.ErrNotExist, memento.ErrExist, memento.ErrIsDir, memento.ErrNotDir, memento.ErrInvalidPath, memento.ErrInvalid,
		memento.ErrConflict, memento.ErrTooLarge, memento.ErrNoStore, memento.ErrArchived, memento.ErrHead, memento.ErrProtected,
	} {
		if errors.Is(err, s) {
			return s
		}
	}
	return err
}

// A draft is a change whose condition names a version by its number.
type draft struct {
	kind     string // put, remove or move
	path, to memento.Path
	content  string // of a put, and of a move that rewrites
	rewrites bool
	cond     string // any, absent, hash or version
	hash     string // of this text
	version  int
}

// change returns the draft as a change of one side.
func (d draft) change(s *side) memento.Change {
	var cond memento.Condition
	switch d.cond {
	case "absent":
		cond = memento.IfAbsent()
	case "hash":
		cond = memento.IfSHA256(memento.HashContent(d.hash))
	case "version":
		cond = memento.IfVersion(s.id(d.version))
	}
	switch d.kind {
	case "put":
		return memento.Put{Path: d.path, Content: d.content, If: cond}
	case "remove":
		return memento.Remove{Path: d.path, If: cond}
	}
	move := memento.Move{From: d.path, To: d.to, If: cond}
	if d.rewrites {
		move.Content = &d.content
	}
	return move
}

func drawPath(t *rapid.T, label string) memento.Path {
	return rapid.SampledFrom([]memento.Path{
		"/a", "/a", "/a/b", "/a/b/c", "/a/b/d", "/a/c", "/ab", "/a.b", "/b", "/b", "/b/c", "/b/c/d/e", "/é", "/é/名", "/c", "/a//b", "/",
	}).Draw(t, label)
}

func drawText(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "x", "needle", "two\nlines\n", "a needle\r\nin two lines", "long " + strings.Repeat("ä", 20)}).Draw(t, label)
}

func (m *twins) draw(t *rapid.T) draft {
	d := draft{
		kind: rapid.SampledFrom([]string{"put", "put", "put", "remove", "move", "move"}).Draw(t, "kind"),
		path: drawPath(t, "path"),
		cond: rapid.SampledFrom([]string{"any", "any", "any", "absent", "hash", "version"}).Draw(t, "condition"),
	}
	switch d.kind {
	case "put":
		d.content = drawText(t, "content")
	case "move":
		d.to = drawPath(t, "to")
		if d.rewrites = rapid.Bool().Draw(t, "rewrites"); d.rewrites {
			d.content = drawText(t, "content")
		}
	}
	switch d.cond {
	case "hash":
		d.hash = drawText(t, "hash of")
	case "version":
		if f, ok := m.docs[d.path]; ok && rapid.Bool().Draw(t, "newest") {
			d.version = f.version
		} else {
			d.version = rapid.IntRange(-1, m.versionsNo-1).Draw(t, "version") // those to come have no ID yet
		}
	}
	return d
}

// change applies one change, and compares it with the naive model.
func (m *twins) change(t *rapid.T) { m.applyAll(t, []draft{m.draw(t)}) }

// apply applies several.
func (m *twins) apply(t *rapid.T) {
	drafts := make([]draft, rapid.IntRange(0, 4).Draw(t, "changes"))
	for i := range drafts {
		drafts[i] = m.draw(t)
	}
	m.applyAll(t, drafts)
}

func (m *twins) applyAll(t *rapid.T, drafts []draft) {
	by := memento.Actor{Kind: memento.ActorUser, ID: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "by"), Key: memento.KeyID(rapid.SampledFrom([]string{"apikey_1", "apikey_2"}).Draw(t, "key"))}
	_, err := both(t, m, fmt.Sprintf("Apply %+v", drafts), func(s *side) ([]memento.Version, error) {
		changes := make([]memento.Change, len(drafts))
		for i, d := range drafts {
			changes[i] = d.change(s)
		}
		done, err := s.b.Apply(m.e.Context(), s.store, by, changes)
		made := done.Versions
		s.learn(made)
		for i := range made {
			made[i] = s.version(made[i])
		}
		return made, err
	})
	if errors.Is(err, memento.ErrTooLarge) || errors.Is(err, memento.ErrProtected) {
		return // the naive model has no limits and settings
	}
	next := m.docs.clone()
	number := m.versionsNo
	var want error
	for _, d := range drafts {
		if want = next.apply(d, &number); want != nil {
			break
		}
	}
	if sentinel(err) != want {
		t.Fatalf("Apply %+v: %v; the naive model has %v", drafts, err, want)
	}
	if want == nil {
		m.docs, m.versionsNo = next, number
	}
	if got := len(m.sides[0].versions); got != m.versionsNo {
		t.Fatalf("Apply %+v: %d versions; the naive model has %d", drafts, got, m.versionsNo)
	}
}

func (m *twins) get(t *rapid.T) {
	p := drawPath(t, "path")
	both(t, m, fmt.Sprintf("Get %s", p), func(s *side) (memento.Memory, error) {
		got, err := s.b.Get(m.e.Context(), s.store, memento.ByPath(p))
		return s.memory(got), err
	})
}

func (m *twins) list(t *rapid.T) {
	opts := memento.ListOptions{
		Dir:      rapid.SampledFrom([]memento.Path{"", "/", "/a", "/b", "/a/b", "/é", "/x"}).Draw(t, "dir"),
		Depth:    rapid.IntRange(0, 3).Draw(t, "depth"),
		Limit:    rapid.IntRange(0, 4).Draw(t, "limit"),
		Contents: rapid.Bool().Draw(t, "contents"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "pages") {
		page, _ := both(t, m, fmt.Sprintf("List %+v", opts), func(s *side) ([]memento.Entry, error) {
			var entries []memento.Entry
			for x, err := range s.b.List(m.e.Context(), s.store, opts) {
				if err != nil {
					return nil, err
				}
				entries = append(entries, s.entry(x))
			}
			return entries, nil
		})
		if len(page) == 0 {
			return
		}
		opts.After = page[len(page)-1].Cursor()
	}
}

func (m *twins) versions(t *rapid.T) {
	opts := memento.VersionListOptions{
		Path:        rapid.SampledFrom([]memento.Path{"", "/", "/a", "/b", "/a/b", "/é/名"}).Draw(t, "path"),
		Operation:   rapid.SampledFrom([]memento.Operation{"", "", memento.Created, memento.Modified, memento.Deleted}).Draw(t, "operation"),
		CreatedBy:   memento.Actor{ID: rapid.SampledFrom([]string{"", "", "ann"}).Draw(t, "by"), Key: memento.KeyID(rapid.SampledFrom([]string{"", "", "apikey_1"}).Draw(t, "key"))},
		OldestFirst: rapid.Bool().Draw(t, "oldest first"),
		Limit:       rapid.IntRange(0, 5).Draw(t, "limit"),
		Contents:    rapid.Bool().Draw(t, "contents"),
	}
	memory, after := -1, -1
	if m.versionsNo > 0 {
		memory = rapid.IntRange(-1, m.versionsNo-1).Draw(t, "memory of version")
		after = rapid.IntRange(-1, m.versionsNo-1).Draw(t, "after version")
	}
	both(t, m, fmt.Sprintf("ListVersions %+v", opts), func(s *side) ([]memento.Version, error) {
		opts := opts
		for number, set := range map[int]func(memento.Version){
			memory: func(v memento.Version) { opts.Memory = v.Memory },
			after:  func(v memento.Version) { opts.After = v.Seq },
		} {
			if number < 0 {
				continue
			}
			v, err := s.b.GetVersion(m.e.Context(), s.store, s.id(number))
			if err != nil {
				return nil, err
			}
			set(v)
		}
		return s.history(m.e, opts)
	})
}

func (s *side) history(e *env, opts memento.VersionListOptions) ([]memento.Version, error) {
	var versions []memento.Version
	for v, err := range s.b.ListVersions(e.Context(), s.store, opts) {
		if err != nil {
			return nil, err
		}
		versions = append(versions, s.version(v))
	}
	return versions, nil
}

func (m *twins) redact(t *rapid.T) {
	number := rapid.IntRange(-1, m.versionsNo).Draw(t, "version")
	both(t, m, fmt.Sprintf("Redact %d", number), func(s *side) (memento.Version, error) {
		v, err := s.b.Redact(m.e.Context(), s.store, s.id(number), m.e.by)
		if err != nil {
			return memento.Version{}, err
		}
		return s.version(v), nil
	})
}

func (m *twins) search(t *rapid.T) {
	if !m.e.h.Searcher {
		return
	}
	opts := memento.SearchOptions{
		Query: rapid.SampledFrom([]string{"needle", "lines", `"two lines"`, "a", "a needle", "名", "x b", "nothing"}).Draw(t, "query"),
		Dir:   rapid.SampledFrom([]memento.Path{"", "/a", "/b"}).Draw(t, "dir"),
		Limit: 100,
	}
	both(t, m, fmt.Sprintf("Search %+v", opts), func(s *side) ([]memento.Match, error) {
		matches, err := s.b.(memento.Searcher).Search(m.e.Context(), s.store, opts)
		for i := range matches {
			matches[i].Memory = s.memory(matches[i].Memory)
		}
		slices.SortFunc(matches, func(a, b memento.Match) int { return strings.Compare(string(a.Memory.Path), string(b.Memory.Path)) })
		return matches, err
	})
}

func (m *twins) limits(t *rapid.T) {
	l := memento.Limits{
		MemoryBytes: rapid.SampledFrom([]int64{0, 0, 10}).Draw(t, "memory bytes"),
		Memories:    rapid.SampledFrom([]int64{0, 0, 3, 5}).Draw(t, "memories"),
		Bytes:       rapid.SampledFrom([]int64{0, 0, 60}).Draw(t, "bytes"),
		PathDepth:   rapid.SampledFrom([]int64{0, 0, 2}).Draw(t, "depth"),
	}
	both(t, m, fmt.Sprintf("UpdateStore %+v", l), func(s *side) (memento.Limits, error) {
		info, err := s.b.UpdateStore(m.e.Context(), workspace, s.store, memento.StoreUpdate{Limits: &l})
		return info.Limits, err
	})
}

func (m *twins) protect(t *rapid.T) {
	patterns := rapid.SampledFrom([][]memento.Pattern{nil, nil, {"/a"}, {"/b/**/e", "/c"}, {"名"}, {"/"}}).Draw(t, "read-only")
	both(t, m, fmt.Sprintf("UpdateStore %q", patterns), func(s *side) (memento.Settings, error) {
		settings := *unmasked()
		settings.ReadOnly = patterns
		info, err := s.b.UpdateStore(m.e.Context(), workspace, s.store, memento.StoreUpdate{Settings: &settings})
		return info.Settings, err
	})
}

func (m *twins) prune(t *rapid.T) {
	opts := memento.PruneOptions{
		Before: memento.EndOfTime,
		Keep:   rapid.IntRange(0, 3).Draw(t, "keep"),
		DryRun: rapid.Bool().Draw(t, "dry run"),
	}
	memory := rapid.IntRange(-1, m.versionsNo-1).Draw(t, "memory of version")
	both(t, m, fmt.Sprintf("Prune %+v", opts), func(s *side) (memento.Pruned, error) {
		opts := opts
		if memory >= 0 {
			v, err := s.b.GetVersion(m.e.Context(), s.store, s.id(memory))
			if err != nil {
				return memento.Pruned{}, err
			}
			opts.Memory = v.Memory
		}
		return s.b.Prune(m.e.Context(), s.store, opts)
	})
}

// documents compares all documents with the naive model, after every step.
func (m *twins) documents(t *rapid.T) {
	got := map[memento.Path]string{}
	for x, err := range m.sides[0].b.List(m.e.Context(), m.sides[0].store, memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		got[x.Path] = x.Memory.Content
	}
	want := map[memento.Path]string{}
	for p, f := range m.docs {
		want[p] = f.content
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("documents (-naive +got):\n%s", diff)
	}
}

// whole compares everything, at the end, and audits the store.
func (m *twins) whole(t *rapid.T) {
	both(t, m, "usage", func(s *side) (memento.Usage, error) {
		info, err := s.b.GetStore(m.e.Context(), workspace, s.store)
		return info.Usage, err
	})
	both(t, m, "history", func(s *side) ([]memento.Version, error) {
		return s.history(m.e, memento.VersionListOptions{Contents: true})
	})
	own := *m.e
	own.store = m.sides[0].store
	own.audit()
}
