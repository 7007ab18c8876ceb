package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func versionHistory(t *testing.T, h Harness) {
	h.run(t, "what happened", whatHappened)
	h.run(t, "filters", versionFilters)
	h.run(t, "path filter", versionPathFilter)
	h.run(t, "pages", versionPages)
	h.run(t, "actors", actors)
	h.run(t, "one instant", versionsOfOneInstant)
	h.run(t, "outlives memories", historyOutlivesMemories)
	h.run(t, "unknown versions", unknownVersions)
}

func whatHappened(e *env) {
	e.put("/a", "1")
	e.put("/a", "22")
	e.apply(memento.Move{From: "/a", To: "/b"})
	e.apply(memento.Remove{Path: "/b"})
	e.put("/a", "333")
	e.reopen()
	type event struct {
		Operation memento.Operation
		Path      memento.Path
		Content   string
	}
	want := []event{
		{memento.Created, "/a", "333"},
		{memento.Deleted, "/b", ""},
		{memento.Modified, "/b", "22"},
		{memento.Modified, "/a", "22"},
		{memento.Created, "/a", "1"},
	}
	var got []event
	for _, v := range e.versions(memento.VersionListOptions{Contents: true}) {
		got = append(got, event{v.Operation, v.Path, v.Content})
		if diff := cmp.Diff(v, e.version(v.ID)); diff != "" {
			e.Errorf("GetVersion (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("history (-want +got):\n%s", diff)
	}
	for _, v := range e.versions(memento.VersionListOptions{}) {
		if v.Content != "" {
			e.Errorf("version %d came with contents", v.Seq)
		}
	}
}

// write creates a history of several memories, paths and actors, and returns it oldest
// first.
func (e *env) write() []memento.Version {
	e.Helper()
	by := []memento.Actor{
		{Kind: memento.ActorSession, ID: "sesn_1"},
		{Kind: memento.ActorSession, ID: "sesn_2"},
		{Kind: memento.ActorAPIKey, ID: "sesn_1"},
		{},
		{Kind: memento.ActorSession, ID: "sesn_1", Key: "apikey_1"},
		{Kind: memento.ActorAPIKey, ID: "apikey_1"},
		{Kind: memento.ActorUser, ID: "sesn_1", Key: "apikey_2"},
	}
	apply := func(n int, changes ...memento.Change) {
		e.Helper()
		if _, err := e.b.Apply(e.Context(), e.store, by[n%len(by)], changes); err != nil {
			e.Fatal(err)
		}
	}
	for i := range 4 {
		for j, p := range []memento.Path{"/a", "/dir/b", "/dir/sub/c", "/dir.md"} {
			apply(i+j, memento.Put{Path: p, Content: fmt.Sprint(i, p)})
		}
		apply(i, memento.Move{From: "/dir", To: "/moved"})
		apply(i+1, memento.Remove{Path: "/moved/b"}, memento.Move{From: "/moved/sub", To: "/dir/sub"})
		time.Sleep(2 * time.Millisecond)
	}
	return e.versions(memento.VersionListOptions{OldestFirst: true, Contents: true})
}

func versionFilters(e *env) {
	whole := e.write()
	early, late := whole[len(whole)/3].CreatedAt, whole[len(whole)/2].CreatedAt
	var (
		memories   = []memento.MemoryID{"", whole[2].Memory, "mem_unknown"}
		paths      = []memento.Path{"", "/dir", "/dir/sub/c", "/"}
		operations = []memento.Operation{"", memento.Modified, memento.Deleted}
		actors     = []memento.Actor{{}, {Kind: memento.ActorSession}, {ID: "sesn_1"}, {Kind: memento.ActorAPIKey, ID: "sesn_1"}, {Key: "apikey_1"}, {Kind: memento.ActorSession, Key: "apikey_1"}}
		times      = [][2]time.Time{{}, {early, {}}, {{}, late.In(time.FixedZone("", -7200))}, {early, late}}
	)
	for _, m := range memories {
		for _, p := range paths {
			for _, op := range operations {
				for _, by := range actors {
					for _, t := range times {
						opts := memento.VersionListOptions{
							Memory: m, Path: p, Operation: op, CreatedBy: by,
							CreatedFrom: t[0], CreatedTo: t[1], OldestFirst: true, Contents: true,
						}
						e.checkVersions(whole, opts)
					}
				}
			}
		}
	}
}

// checkVersions compares a listing with a filter of all versions in the test.
func (e *env) checkVersions(whole []memento.Version, opts memento.VersionListOptions) {
	e.Helper()
	var want []memento.Version
	for _, v := range whole {
		below := opts.Path == "/" || string(v.Path) == string(opts.Path) || strings.HasPrefix(string(v.Path), string(opts.Path)+"/")
		if opts.Memory != "" && v.Memory != opts.Memory ||
			opts.Path != "" && !below ||
			opts.Operation != "" && v.Operation != opts.Operation ||
			opts.CreatedBy.Kind != "" && v.CreatedBy.Kind != opts.CreatedBy.Kind ||
			opts.CreatedBy.ID != "" && v.CreatedBy.ID != opts.CreatedBy.ID ||
			opts.CreatedBy.Key != "" && v.CreatedBy.Key != opts.CreatedBy.Key &&
				(v.CreatedBy.Kind != memento.ActorAPIKey || v.CreatedBy.ID != string(opts.CreatedBy.Key)) ||
			!opts.CreatedFrom.IsZero() && v.CreatedAt.Before(opts.CreatedFrom) ||
			!opts.CreatedTo.IsZero() && v.CreatedAt.After(opts.CreatedTo) {
			continue
		}
		want = append(want, v)
	}
	if diff := cmp.Diff(want, e.versions(opts)); diff != "" {
		e.Errorf("%+v (-want +got):\n%s", opts, diff)
	}
}

func versionPathFilter(e *env) {
	e.fill("/dir/a", "/dir.md", "/dir0/a", "/DIR/a", "/d_r/a")
	e.apply(memento.Move{From: "/dir/a", To: "/new/a"})
	e.apply(memento.Remove{Path: "/new/a"})
	for p, want := range map[memento.Path]int{"/dir": 1, "/dir/a": 1, "/new": 2, "/new/a": 2, "/d_r": 1, "/DIR": 1, "/di": 0, "/": 7} {
		if got := e.versions(memento.VersionListOptions{Path: p}); len(got) != want {
			e.Errorf("%s has %d versions, want %d", p, len(got), want)
		}
	}
}

func versionPages(e *env) {
	e.write()
	for _, opts := range []memento.VersionListOptions{
		{}, {OldestFirst: true}, {Path: "/dir"}, {Path: "/dir", OldestFirst: true},
		{CreatedBy: memento.Actor{Kind: memento.ActorSession}, Operation: memento.Modified},
	} {
		want := e.versions(opts)
		for _, limit := range []int{1, 3, 1000} {
			opts := opts
			opts.Limit = limit
			var got []memento.Version
			for {
				page := e.versions(opts)
				got = append(got, page...)
				if len(page) < limit {
					break
				}
				opts.After = page[limit-1].Seq
			}
			if diff := cmp.Diff(want, got); diff != "" {
				e.Errorf("pages of %+v (-want +got):\n%s", opts, diff)
			}
		}
	}
	newest := e.versions(memento.VersionListOptions{Limit: 1})[0]
	if got := e.versions(memento.VersionListOptions{OldestFirst: true, After: newest.Seq}); len(got) > 0 {
		e.Errorf("listed after the first page: %+v", got)
	}
	e.put("/late", "x")
	if got := e.versions(memento.VersionListOptions{OldestFirst: true, After: newest.Seq}); len(got) != 1 || got[0].Path != "/late" {
		e.Errorf("listed after a redacted version: %+v", got)
	}
}

func actors(e *env) {
	for i, by := range []memento.Actor{
		{},
		{Key: "apikey_alone"},
		{Kind: memento.ActorSession, ID: "sesn_01"},
		{Kind: memento.ActorSession, ID: "sesn_01", Key: "apikey_01"},
		{Kind: memento.ActorUser, ID: "x", Key: "Schlüssel \"'\x00"},
		{Kind: memento.ActorUser, ID: "Zoë O'Neil\n\"\x00;--"},
		{Kind: memento.ActorSystem},
		{Kind: "of a later day", ID: "名"},
		{ID: "without a kind"},
	} {
		p := memento.Path(fmt.Sprintf("/%d", i))
		made, err := e.b.Apply(e.Context(), e.store, by, []memento.Change{memento.Put{Path: p, Content: "x"}})
		if e.h.Remote && !by.Kind.Known() && (by.Kind != "" || by.ID != "") {
			wantError(e, fmt.Sprintf("a change by %+v", by), err, memento.ErrInvalid)
			continue
		}
		if err != nil {
			e.Fatal(err)
		}
		if e.h.Remote && by.Key == "" {
			if by.Key = made.Versions[0].CreatedBy.Key; by.Key == "" {
				e.Errorf("no key was recorded for %+v", by)
			}
		}
		old := made.Versions[0].ID
		more, err := e.b.Apply(e.Context(), e.store, by, []memento.Change{memento.Move{From: p, To: p + ".moved"}, memento.Remove{Path: p + ".moved"}})
		if err != nil {
			e.Fatal(err)
		}
		for _, v := range append(made.Versions, more.Versions...) {
			if v.CreatedBy != by || e.version(v.ID).CreatedBy != by {
				e.Errorf("made by %+v, want %+v", v.CreatedBy, by)
			}
		}
		if v, err := e.b.Redact(e.Context(), e.store, old, by); err != nil || v.RedactedBy != by || e.version(old).RedactedBy != by {
			e.Errorf("redacted by %+v, %v; want %+v", v.RedactedBy, err, by)
		}
	}
}

func versionsOfOneInstant(e *env) {
	for i := range 100 {
		e.put("/a", fmt.Sprint(i))
	}
	for _, oldestFirst := range []bool{false, true} {
		before := len(e.versions(memento.VersionListOptions{}))
		n := 0
		for _, err := range e.b.ListVersions(e.Context(), e.store, memento.VersionListOptions{OldestFirst: oldestFirst}) {
			if err != nil {
				e.Fatal(err)
			}
			if n++; n%10 == 1 {
				e.put("/a", fmt.Sprint("meanwhile ", n, oldestFirst))
			}
		}
		if n != before {
			e.Errorf("%d versions, want %d as before", n, before)
		}
	}
}

func historyOutlivesMemories(e *env) {
	first := e.put("/dir/a", "1")
	second := e.put("/dir/a", "2")
	e.apply(memento.Remove{Path: "/dir"})
	e.put("/dir", "another")
	e.reopen()
	if got := e.version(first.ID); got.Content != "1" || got.Path != "/dir/a" {
		e.Errorf("first version: %+v", got)
	}
	got := e.versions(memento.VersionListOptions{Memory: first.Memory, Contents: true})
	if len(got) != 3 || got[0].Operation != memento.Deleted || got[1].ID != second.ID || got[1].Content != "2" {
		e.Errorf("history of a removed memory: %+v", got)
	}
}

func unknownVersions(e *env) {
	v := e.put("/a", "x")
	for _, id := range []memento.VersionID{"", "memver_unknown", memento.VersionID(v.Memory), v.ID + "x", v.ID[:len(v.ID)-1]} {
		_, err := e.b.GetVersion(e.Context(), e.store, id)
		wantError(e, fmt.Sprintf("GetVersion %q", id), err, memento.ErrNotExist)
		_, err = e.b.Redact(e.Context(), e.store, id, e.by)
		wantError(e, fmt.Sprintf("Redact %q", id), err, memento.ErrNotExist)
	}
}
