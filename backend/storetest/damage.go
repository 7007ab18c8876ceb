package storetest

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"memento"
	"memento/history"
)

// damage tests that a backend returns no contents that differ from those that were
// written, and that undamaged memories stay usable.
func damage(t *testing.T, h Harness) {
	if h.Blobs == nil {
		return // no stored data to damage
	}
	h.run(t, "damaged contents", damagedContents)
	h.run(t, "damaged hash", damagedHash)
	h.run(t, "damaged history", damagedHistory)
	h.run(t, "restored from an equal text", damagedEqual)
	h.run(t, "flipped bits", flippedBits)
}

// damaged checks that an error names the damaged memory and version.
func (e *env) damaged(what string, err error, m memento.MemoryID, v memento.VersionID) *memento.DamageError {
	e.Helper()
	d, ok := errors.AsType[*memento.DamageError](err)
	if !ok || !errors.Is(err, memento.ErrDamaged) {
		e.Errorf("%s: %v, want ErrDamaged", what, err)
		return &memento.DamageError{}
	}
	if d.Memory != m || d.Version != v {
		e.Errorf("%s: %v; want one that names memory %s and version %s", what, err, m, v)
	}
	return d
}

// last returns the error that a listing ends with.
func last[T any](seq func(func(T, error) bool)) (err error) {
	for _, err = range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// harm damages the stored contents of a version: its text, or what it was sealed as.
func (e *env) harm(text string, v memento.Version) {
	e.Helper()
	good := []byte(text)
	if e.h.SealedPrefix != nil {
		good = e.h.SealedPrefix(v)
	}
	e.damage(flipped(good), good)
}

func damagedContents(e *env) {
	first := e.put("/dir/a.md", "the first text of a, end")
	e.put("/other.md", "another text, end of it")
	e.put("/dir/b.md", "next to it")
	second := e.put("/dir/a.md", "the second text of a, finale")
	e.harm("the second text of a, finale", second)

	_, err := e.b.Get(e.Context(), e.store, memento.ByPath("/dir/a.md"))
	e.damaged("Get by path", err, second.Memory, second.ID)
	m, err := e.b.Get(e.Context(), e.store, memento.ByID(second.Memory))
	e.damaged("Get by ID", err, second.Memory, second.ID)
	if m.Content != "" {
		e.Errorf("Get returned %q with its error", m.Content)
	}
	err = last(e.b.List(e.Context(), e.store, memento.ListOptions{Contents: true}))
	e.damaged("List with contents", err, second.Memory, second.ID)
	_, err = e.b.GetVersion(e.Context(), e.store, second.ID)
	e.damaged("GetVersion", err, second.Memory, second.ID)
	for _, oldest := range []bool{false, true} {
		err = last(e.b.ListVersions(e.Context(), e.store, memento.VersionListOptions{Contents: true, OldestFirst: oldest}))
		e.damaged("ListVersions with contents", err, second.Memory, second.ID)
	}
	if s, ok := e.b.(memento.Searcher); ok {
		// Words of the path find it, too.
		found, err := s.Search(e.Context(), e.store, memento.SearchOptions{Query: "dir finale"})
		if err != nil && e.h.SearchScans {
			e.damaged("Search", err, second.Memory, second.ID)
		} else if err != nil || len(found) != 2 {
			e.Errorf("Search: %d matches, %v", len(found), err)
		}
		for _, m := range found {
			if m.Memory.ID == second.Memory && (m.Memory.Content != "" || m.Line != 0 || m.Passage != memento.Passage{} || len(m.Words) > 0) {
				e.Errorf("Search shows damaged contents: %+v", m)
			}
		}
		if found, err := s.Search(e.Context(), e.store, memento.SearchOptions{Query: "another", Dir: "/"}); err != nil && !e.h.SearchScans || err == nil && len(found) != 1 {
			e.Errorf("Search of others: %d matches, %v", len(found), err)
		}
	}

	s := e.docs(e.b)
	_, err = s.Get(e.Context(), memento.ByPath("/dir/a.md"))
	if d := e.damaged("Store.Get", err, second.Memory, second.ID); d.Whole != first.ID {
		e.Errorf("the last undamaged version is %q, want %s", d.Whole, first.ID)
	}
	if m, err := s.Stat(e.Context(), memento.ByPath("/dir/a.md")); err != nil || m.ID != second.Memory || m.Version != second.ID || m.Content != "" {
		e.Errorf("Stat: %+v, %v", m, err)
	}
	_, err = s.Edit(e.Context(), e.by, "/dir/a.md", func(old string) (string, error) { return old + " and more", nil })
	e.damaged("Edit", err, second.Memory, second.ID)
	to, text := memento.Path("/dir/c.md"), "new"
	_, err = s.UpdateMemory(e.Context(), e.by, second.Memory, memento.MemoryUpdate{Path: &to, Content: &text})
	e.damaged("UpdateMemory", err, second.Memory, second.ID)
	_, err = history.RestoreAsOf(e.Context(), s, e.by, second.CreatedAt.Add(-time.Nanosecond), true)
	if err != nil {
		e.Errorf("RestoreAsOf of undamaged contents: %v", err)
	}
	_, _, err = history.RestoreVersion(e.Context(), s, e.by, second.ID)
	e.damaged("RestoreVersion of it", err, second.Memory, second.ID)

	if got := e.get("/other.md").Content; got != "another text, end of it" {
		e.Errorf("another memory has %q", got)
	}
	if got := e.version(first.ID).Content; got != "the first text of a, end" {
		e.Errorf("the version before has %q", got)
	}
	if n := len(e.list(memento.ListOptions{})); n != 3 {
		e.Errorf("%d memories are listed", n)
	}
	if n := len(e.list(memento.ListOptions{Depth: 1, Brief: true})); n != 2 {
		e.Errorf("%d entries are listed", n)
	}
	if n := len(e.versions(memento.VersionListOptions{})); n != 4 {
		e.Errorf("%d versions are listed", n)
	}

	// A rename keeps the damaged contents and the old hash.
	e.apply(memento.Move{From: "/dir", To: "/moved"})
	moved := e.list(memento.ListOptions{Dir: "/moved"})[0].Memory
	_, err = e.b.Get(e.Context(), e.store, memento.ByPath("/moved/a.md"))
	e.damaged("Get after a rename", err, second.Memory, moved.Version)

	if p, _, err := history.RestoreVersion(e.Context(), s, e.by, first.ID); err != nil || p != "/moved/a.md" {
		e.Fatalf("RestoreVersion: %s, %v", p, err)
	}
	if got := e.get("/moved/a.md").Content; got != "the first text of a, end" {
		e.Errorf("restored: %q", got)
	}
	e.forgetDamaged(second.ID, moved.Version)
}

// forgetDamaged redacts versions, after which everything can be read.
func (e *env) forgetDamaged(ids ...memento.VersionID) {
	e.Helper()
	for _, id := range ids {
		if _, err := e.b.Redact(e.Context(), e.store, id, e.by); err != nil {
			e.Fatalf("Redact a damaged version: %v", err)
		}
	}
	if err := last(e.b.ListVersions(e.Context(), e.store, memento.VersionListOptions{Contents: true})); err != nil {
		e.Errorf("after it was redacted: %v", err)
	}
}

func damagedHash(e *env) {
	if e.h.SealedPrefix != nil {
		return // the stored hash is of encrypted contents
	}
	first := e.put("/a.md", "one")
	second := e.put("/a.md", "two")
	e.put("/b.md", "three")
	sum, err := hex.DecodeString(second.SHA256)
	if err != nil {
		e.Fatal(err)
	}
	if e.h.HexHashes {
		e.damage([]byte(flippedHex(second.SHA256)), []byte(second.SHA256))
	} else {
		e.damage(flipped(sum), sum)
	}
	m, err := e.b.Get(e.Context(), e.store, memento.ByPath("/a.md"))
	if errors.Is(err, memento.ErrFormat) && m.Content == "" { // the hash is in data with a checksum of its own
		e.damage([]byte(second.SHA256), []byte(flippedHex(second.SHA256)))
		return
	}
	e.damaged("Get", err, second.Memory, second.ID)
	_, err = e.b.GetVersion(e.Context(), e.store, second.ID)
	e.damaged("GetVersion", err, second.Memory, second.ID)
	if got := e.get("/b.md").Content; got != "three" {
		e.Errorf("another memory has %q", got)
	}
	if _, _, err := history.RestoreVersion(e.Context(), e.docs(e.b), e.by, first.ID); err != nil {
		e.Errorf("RestoreVersion: %v", err)
	}
	e.holds(map[memento.Path]string{"/a.md": "one", "/b.md": "three"})
	e.forgetDamaged(second.ID)
}

func flippedHex(hash string) string {
	digit := byte('0')
	if hash[0] == '0' {
		digit = '1'
	}
	return string(digit) + hash[1:]
}

func damagedHistory(e *env) {
	first := e.put("/a.md", "what there was before")
	at := e.version(first.ID).CreatedAt
	e.put("/a.md", "what there is now")
	e.put("/b.md", "another")
	e.harm("what there was before", first)
	e.holds(map[memento.Path]string{"/a.md": "what there is now", "/b.md": "another"})
	_, err := e.b.GetVersion(e.Context(), e.store, first.ID)
	e.damaged("GetVersion", err, first.Memory, first.ID)
	s := e.docs(e.b)
	_, err = history.RestoreAsOf(e.Context(), s, e.by, at, false)
	e.damaged("RestoreAsOf", err, first.Memory, first.ID)
	var got []memento.VersionID
	err = nil
	for v, failed := range e.b.ListVersions(e.Context(), e.store, memento.VersionListOptions{Contents: true}) {
		if err = failed; failed == nil {
			got = append(got, v.ID)
		}
	}
	e.damaged("ListVersions with contents", err, first.Memory, first.ID)
	if len(got) != 2 || slices.Contains(got, first.ID) {
		e.Errorf("listed before the damaged version: %q", got)
	}
	e.forgetDamaged(first.ID)
}

// harmNewest damages the copy of a text that /a.md has. The stored data has an older
// copy as well, and the order of the two is not known.
func (e *env) harmNewest(text string) {
	for _, n := range []int{0, 1, 0} {
		e.damageNth(n, []byte(text))
		if _, err := e.b.Get(e.Context(), e.store, memento.ByPath("/a.md")); err != nil {
			return
		}
		e.damage([]byte(text), flipped([]byte(text))) // it was the older one
	}
}

// damagedEqual restores a version with the text that the damaged version had. By the rules
// of a write that would change nothing.
func damagedEqual(e *env) {
	const text = "the text, first and last"
	first := e.put("/a.md", text)
	e.put("/a.md", "between")
	third := e.put("/a.md", text)
	if e.h.SealedPrefix != nil {
		e.harm(text, third)
	} else {
		e.harmNewest(text)
	}
	_, err := e.b.Get(e.Context(), e.store, memento.ByPath("/a.md"))
	e.damaged("Get", err, third.Memory, third.ID)
	if _, _, err := history.RestoreVersion(e.Context(), e.docs(e.b), e.by, first.ID); err != nil {
		e.Fatalf("RestoreVersion: %v", err)
	}
	e.holds(map[memento.Path]string{"/a.md": text})
	e.forgetDamaged(third.ID)
	gone := e.put("/gone.md", "the text to damage and delete")
	e.harm("the text to damage and delete", gone)
	if err := e.docs(e.b).DeleteMemory(e.Context(), e.by, gone.Memory, ""); err != nil {
		e.Errorf("DeleteMemory of a damaged memory: %v", err)
	}
	e.missing("/gone.md")
	e.forgetDamaged(gone.ID)
}
