package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"memento"
	"memento/backend/memstore"
)

func importing(t *testing.T, h Harness) {
	h.run(t, "copy", importCopy)
	h.run(t, "copy with redacted versions", importRedacted)
	h.run(t, "to and from the reference", importAcross)
	h.run(t, "refused", importRefused)
	h.run(t, "conflicts", importConflicts)
	h.run(t, "limits", importLimits)
	h.run(t, "onto what is there", importOnto)
}

// replay imports the history of a store of src into a new store of dst, which must be equal
// then.
func (e *env) replay(src, dst memento.Backend, from memento.StoreID) memento.StoreID {
	e.Helper()
	versions := all(e, "ListVersions", src.ListVersions(e.Context(), from, memento.VersionListOptions{OldestFirst: true, Contents: true}))
	info, err := dst.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "copy"})
	if err != nil {
		e.Fatal(err)
	}
	if err := dst.Import(e.Context(), info.ID, versions); err != nil {
		e.Fatalf("Import: %v", err)
	}
	copied := all(e, "ListVersions", dst.ListVersions(e.Context(), info.ID, memento.VersionListOptions{OldestFirst: true, Contents: true}))
	if diff := cmp.Diff(versions, copied, cmpopts.IgnoreFields(memento.Version{}, "Seq")); diff != "" {
		e.Errorf("copied versions (-want +got):\n%s", diff)
	}
	want := all(e, "List", src.List(e.Context(), from, memento.ListOptions{Contents: true}))
	got := all(e, "List", dst.List(e.Context(), info.ID, memento.ListOptions{Contents: true}))
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memento.Memory{}, "ReadAt")); diff != "" {
		e.Errorf("copied memories (-want +got):\n%s", diff)
	}
	return info.ID
}

func importCopy(e *env) {
	e.write()
	for p, text := range awkward() {
		e.put("/awkward"+p, text)
	}
	e.apply(memento.Move{From: "/awkward", To: "/odd"}, memento.Remove{Path: "/odd/emoji"})
	// A path that several memories had, one after the other.
	e.put("/odd/emoji", "another")
	e.apply(memento.Move{From: "/odd/empty", To: "/empty"}, memento.Move{From: "/odd/crlf", To: "/odd/empty"})
	want := e.info().Usage

	e.store = e.replay(e.b, e.b, e.store)
	if got := e.info().Usage; got != want {
		e.Errorf("usage %+v, want %+v", got, want)
	}
	e.reopen()
	e.audit()
	// The copy can be written.
	e.put("/odd/empty", "edited")
	e.apply(memento.Remove{Path: "/odd"})
	e.put("/odd", "now a memory")
}

func importRedacted(e *env) {
	created := e.put("/a", "1")
	e.put("/a", "2")
	middle := e.put("/a", "3")
	e.apply(memento.Move{From: "/a", To: "/b"})
	gone := e.put("/gone", "x")
	deletion := e.apply(memento.Remove{Path: "/gone"})[0]
	e.put("/c", "1")
	reused := e.put("/c", "2")
	e.put("/c", "3")
	time.Sleep(2 * time.Millisecond)
	for _, id := range []memento.VersionID{created.ID, middle.ID, gone.ID, deletion.ID, reused.ID} {
		e.redact(id)
	}
	e.store = e.replay(e.b, e.b, e.store)
	e.reopen()
	e.holds(map[memento.Path]string{"/b": "3", "/c": "3"})
}

func importAcross(e *env) {
	e.write()
	reference := memstore.New(nil)
	defer reference.Close()
	there := e.replay(e.b, reference, e.store)
	e.store = e.replay(reference, e.b, there)
}

func importRefused(e *env) {
	e.put("/a", "x")
	good := func(n int) memento.Version {
		v := sampleVersion()
		v.ID = memento.VersionID(fmt.Sprint("memver_good", n))
		v.Memory = memento.MemoryID(fmt.Sprint("mem_good", n))
		v.Path = memento.Path(fmt.Sprint("/good", n))
		return v
	}
	with := func(change func(v *memento.Version)) memento.Version {
		v := sampleVersion()
		change(&v)
		return v
	}
	known := e.versions(memento.VersionListOptions{Contents: true})[0]
	tests := map[string]struct {
		version memento.Version
		want    error
	}{
		"known":           {known, memento.ErrExist},
		"twice":           {with(func(v *memento.Version) { v.ID = "memver_good1" }), memento.ErrExist},
		"known, redacted": {memento.Version{ID: known.ID, Memory: "mem_x", Operation: memento.Created, RedactedAt: time.Now()}, memento.ErrExist},
		"no ID":           {with(func(v *memento.Version) { v.ID = "" }), memento.ErrInvalid},
		"no memory":       {with(func(v *memento.Version) { v.Memory = "" }), memento.ErrInvalid},
		"no operation":    {with(func(v *memento.Version) { v.Operation = "" }), memento.ErrInvalid},
		"odd operation":   {with(func(v *memento.Version) { v.Operation = "viewed" }), memento.ErrInvalid},
		"wrong hash":      {with(func(v *memento.Version) { v.SHA256 = memento.HashContent("other") }), memento.ErrInvalid},
		"no hash":         {with(func(v *memento.Version) { v.SHA256 = "" }), memento.ErrInvalid},
		"no contents":     {with(func(v *memento.Version) { v.Content = "" }), memento.ErrInvalid},
		"not UTF-8": {with(func(v *memento.Version) {
			v.Content, v.SHA256 = "\xff", memento.HashContent("\xff")
		}), memento.ErrInvalid},
		"no path":      {with(func(v *memento.Version) { v.Path = "" }), memento.ErrInvalidPath},
		"hostile path": {with(func(v *memento.Version) { v.Path = "/../a" }), memento.ErrInvalidPath},
		"path taken":   {with(func(v *memento.Version) { v.Path = "/a" }), memento.ErrExist},
	}
	before := e.everything()
	for name, test := range tests {
		err := e.b.Import(e.Context(), e.store, []memento.Version{good(1), good(2), test.version})
		wantError(e, name, err, test.want)
		e.same("after refusing "+name, before, e.everything())
	}
	if err := e.b.Import(e.Context(), e.store, nil); err != nil {
		e.Errorf("importing nothing: %v", err)
	}
	e.anyTimes = true
	if err := e.b.Import(e.Context(), e.store, []memento.Version{good(1), good(2)}); err != nil {
		e.Errorf("after the refused imports: %v", err)
	}
	before = e.everything()
	wantError(e, "again", e.b.Import(e.Context(), e.store, []memento.Version{good(1)}), memento.ErrExist)
	e.same("after importing again", before, e.everything())
}

func importConflicts(e *env) {
	e.anyTimes = true
	e.fill("/file", "/dir/file")
	v := sampleVersion()
	v.Path = "/file/x"
	wantError(e, "below a memory", e.b.Import(e.Context(), e.store, []memento.Version{v}), memento.ErrNotDir)
	v.Path = "/dir"
	wantError(e, "a directory", e.b.Import(e.Context(), e.store, []memento.Version{v}), memento.ErrIsDir)
	e.holds(map[memento.Path]string{"/file": "/file", "/dir/file": "/dir/file"})
}

func importLimits(e *env) {
	e.anyTimes = true
	e.fill("/a", "/b")
	e.setLimits(memento.Limits{Memories: 3, Bytes: 10, PathBytes: 40})
	versions := func(sizes ...int) []memento.Version {
		var vs []memento.Version
		for i, n := range sizes {
			v := sampleVersion()
			v.ID, v.Memory = memento.VersionID(fmt.Sprint("memver_", i)), memento.MemoryID(fmt.Sprint("mem_", i))
			v.Path = memento.Path(fmt.Sprint("/new", i))
			v.Content = strings.Repeat("x", n)
			v.SHA256 = memento.HashContent(v.Content)
			vs = append(vs, v)
		}
		return vs
	}
	before := e.everything()
	wantError(e, "too many", e.b.Import(e.Context(), e.store, versions(1, 1)), memento.ErrTooLarge)
	wantError(e, "too large", e.b.Import(e.Context(), e.store, versions(7)), memento.ErrTooLarge)
	long := versions(1)
	long[0].Path = memento.Path("/" + strings.Repeat("0", 40))
	wantError(e, "path too long", e.b.Import(e.Context(), e.store, long), memento.ErrTooLarge)
	e.same("after refusals", before, e.everything())
	if err := e.b.Import(e.Context(), e.store, versions(6)); err != nil {
		e.Errorf("within the limits: %v", err)
	}
	e.refused(memento.ErrTooLarge, "/c", memento.Put{Path: "/c"})
}

// importOnto imports in two steps, which must have the same result.
func importOnto(e *env) {
	e.anyTimes = true
	whole := e.write()
	wantUsage, want := e.info().Usage, e.list(memento.ListOptions{Contents: true})
	e.store = e.newStore(memento.StoreSpec{Name: "in two steps"})
	for part := range slices.Chunk(whole, len(whole)/2+1) {
		if err := e.b.Import(e.Context(), e.store, part); err != nil {
			e.Fatal(err)
		}
		e.audit()
	}
	// An import may count as a read.
	if diff := cmp.Diff(want, e.list(memento.ListOptions{Contents: true}), cmpopts.IgnoreFields(memento.Memory{}, "ReadAt")); diff != "" || e.info().Usage != wantUsage {
		e.Errorf("usage %+v, memories (-want +got):\n%s", e.info().Usage, diff)
	}
	// Times do not go back before those of imported versions, if the clocks differ little.
	late := sampleVersion()
	late.CreatedAt = time.Now().UTC().Truncate(time.Microsecond).Add(50 * time.Second)
	if err := e.b.Import(e.Context(), e.store, []memento.Version{late}); err != nil {
		e.Fatal(err)
	}
	e.reopen()
	if v := e.put("/now", "x"); v.CreatedAt.Before(late.CreatedAt) {
		e.Errorf("a version of %v came after one of %v", v.CreatedAt, late.CreatedAt)
	}
}
