package cryptstore_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/memstore"
)

// A crime is two stores in which something is where it should not be.
type crime struct {
	*testing.T
	raw    *memstore.Backend
	inner  *attacked
	ring   cryptstore.KeyRing
	b      memento.Backend
	store  memento.StoreID
	other  memento.StoreID
	writes []memento.Version // of /a: first, second
}

func newCrime(t *testing.T) *crime {
	c := &crime{T: t, raw: memstore.New(nil), ring: newRing(t)}
	c.inner = newAttacked(c.raw)
	c.b = wrap(t, c.inner, c.ring, nil)
	t.Cleanup(func() { c.b.Close() })
	c.store, c.other = newStore(t, c.b, workspace), newStore(t, c.b, workspace)
	c.writes = append(c.writes, apply(t, c.b, c.store, memento.Put{Path: "/a", Content: "the first text"})...)
	c.writes = append(c.writes, apply(t, c.b, c.store, memento.Put{Path: "/a", Content: "a second text."})...)
	apply(t, c.b, c.store, memento.Put{Path: "/b", Content: "another memory"})
	apply(t, c.b, c.other, memento.Put{Path: "/a", Content: "another store."})
	return c
}

func (c *crime) kept(store memento.StoreID, p memento.Path) memento.Memory {
	c.Helper()
	m, err := c.raw.Get(c.Context(), store, memento.ByPath(p))
	if err != nil {
		c.Fatal(err)
	}
	return m
}

func (c *crime) keptVersion(i int) memento.Version {
	c.Helper()
	v, err := c.raw.GetVersion(c.Context(), c.store, c.writes[i].ID)
	if err != nil {
		c.Fatal(err)
	}
	return v
}

// noticed checks that no way to read gets anything but ErrDecrypt.
func (c *crime) noticed(what string) {
	c.Helper()
	is := func(how string, err error, contents string) {
		c.Helper()
		if !errors.Is(err, memento.ErrDecrypt) || contents != "" {
			c.Errorf("%s: %s gives %q, %v", what, how, contents, err)
		}
	}
	m, err := c.b.Get(c.Context(), c.store, memento.ByPath("/a"))
	is("Get", err, m.Content)
	for e, err := range c.b.List(c.Context(), c.store, memento.ListOptions{Contents: true, Limit: 1}) {
		is("List", err, e.Memory.Content)
	}
	_, err = c.b.(memento.Searcher).Search(c.Context(), c.store, memento.SearchOptions{Query: "text"})
	is("Search", err, "")
}

// put makes the content of /a, and what else is given, that of another memory.
func (c *crime) put(content string, more ...func(*memento.Memory)) {
	c.inner.memory = func(m *memento.Memory) {
		if m.Path != "/a" {
			return
		}
		m.Content, m.SHA256 = content, memento.HashContent(content)
		for _, f := range more {
			f(m)
		}
	}
}

func TestTampering(t *testing.T) {
	c := newCrime(t)
	holds(t, c.b, c.store, "/a", "a second text.")
	honest := c.kept(c.store, "/a")
	as := func(digest string, size int64) func(*memento.Memory) {
		return func(m *memento.Memory) { m.Digest, m.Size = digest, size }
	}
	for what, other := range map[string]memento.Memory{"another memory's": c.kept(c.store, "/b"), "another store's": c.kept(c.other, "/a")} {
		c.put(other.Content)
		c.noticed(what)
		c.put(other.Content, as(other.Digest, other.Size))
		c.noticed(what + ", with its digest")
		c.put(other.Content, as(other.Digest, other.Size), func(m *memento.Memory) { m.Version = other.Version })
		c.noticed(what + ", with its version")
	}
	first := c.keptVersion(0)
	c.put(first.Content)
	c.noticed("an older version's")
	c.put(first.Content, as(first.Digest, first.Size))
	c.noticed("an older version's, with its digest")
	c.put(strings.Replace(first.Content, string(first.ID), string(honest.Version), 1), as(first.Digest, first.Size))
	c.noticed("an older version's, under the new one's name")
	c.put("plain text", as("", 10))
	c.noticed("plain text")
	c.put("plain text", as(honest.Digest, 10))
	c.noticed("plain text with a digest")
	c.put(honest.Content, as(first.Digest, honest.Size))
	c.noticed("another digest")
	c.put(honest.Content, as(strings.Repeat("x", 64), honest.Size))
	c.noticed("no digest")
	c.put(honest.Content, as(honest.Digest, honest.Size+1))
	c.noticed("another size")
	c.put(strings.Replace(honest.Content, "sealed:1:", "sealed:2:", 1))
	c.noticed("another format")
	for i := range len(honest.Content) {
		c.put(honest.Content[:i])
		c.noticed("cut off")
		changed := []byte(honest.Content)
		changed[i] ^= 1
		c.put(string(changed))
		c.noticed("a bit of it")
	}
	c.inner.memory = nil
	holds(t, c.b, c.store, "/a", "a second text.")
	if t.Failed() {
		t.Logf("the honest one is %+v", honest)
	}
}

func TestTamperedHistory(t *testing.T) {
	c := newCrime(t)
	moved := apply(t, c.b, c.store, memento.Move{From: "/a", To: "/moved"})[0]
	first, second := c.keptVersion(0), c.keptVersion(1)
	for _, attack := range []struct {
		what  string
		id    memento.VersionID
		other memento.Version
	}{
		{"a later text in an older version", first.ID, second},
		{"an older text in a later version", second.ID, first},
		{"an older text in a move", moved.ID, first},
	} {
		c.inner.version = func(v *memento.Version) {
			if v.ID == attack.id {
				v.Content, v.SHA256 = attack.other.Content, attack.other.SHA256
			}
		}
		if v, err := c.b.GetVersion(t.Context(), c.store, attack.id); !errors.Is(err, memento.ErrDecrypt) || v.Content != "" {
			t.Errorf("%s: %+v, %v", attack.what, v, err)
		}
		failed := false
		for v, err := range c.b.ListVersions(t.Context(), c.store, memento.VersionListOptions{Contents: true}) {
			failed = failed || err != nil
			if err != nil && !errors.Is(err, memento.ErrDecrypt) || v.ID == attack.id {
				t.Errorf("%s: ListVersions yields %+v, %v", attack.what, v, err)
			}
		}
		if !failed {
			t.Errorf("%s: ListVersions does not notice", attack.what)
		}
	}
	// The text of an edit that came later, as if the version before had been a move of it.
	c.inner.version = func(v *memento.Version) {
		if v.ID == first.ID {
			v.Content, v.SHA256, v.Digest, v.Size, v.Operation = second.Content, second.SHA256, second.Digest, second.Size, memento.Modified
		}
	}
	if v, err := c.b.GetVersion(t.Context(), c.store, first.ID); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("a later text, with its digest: %+v, %v", v, err)
	}
	c.inner.version = func(v *memento.Version) {
		if v.Operation == memento.Deleted {
			v.Content = first.Content
		}
	}
	gone := apply(t, c.b, c.store, memento.Remove{Path: "/moved"})[0]
	if v, err := c.b.GetVersion(t.Context(), c.store, gone.ID); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("contents of a deletion: %+v, %v", v, err)
	}
	c.inner.version = nil
	if v, err := c.b.GetVersion(t.Context(), c.store, moved.ID); err != nil || v.Content != "a second text." {
		t.Errorf("the move: %+v, %v", v, err)
	}
}

// A memory that was moved reads as before whatever becomes of the version that wrote it.
func TestMoved(t *testing.T) {
	c := newCrime(t)
	apply(t, c.b, c.store, memento.Move{From: "/a", To: "/dir/a"})
	apply(t, c.b, c.store, memento.Move{From: "/dir", To: "/other"})
	holds(t, c.b, c.store, "/other/a", "a second text.")
	if _, err := c.b.Redact(t.Context(), c.store, c.writes[1].ID, ann); err != nil {
		t.Fatal(err)
	}
	// Another handle has not looked yet.
	b := wrap(t, c.inner, c.ring, nil)
	holds(t, b, c.store, "/other/a", "a second text.")
}

// Envelopes are bound to their stores.
func TestTamperedEnvelope(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	ring := newRing(t)
	b := wrap(t, inner, ring, nil)
	one, two := newStore(t, b, workspace), newStore(t, b, workspace)
	apply(t, b, one, memento.Put{Path: "/a", Content: "text"})
	info, err := inner.GetStore(t.Context(), workspace, one)
	if err != nil {
		t.Fatal(err)
	}
	other, err := inner.GetStore(t.Context(), workspace, two)
	if err != nil {
		t.Fatal(err)
	}
	for what, envelope := range map[string]string{
		"another store's": other.Envelope, "none": "", "no JSON": "x", "another thing": `{"format":"x"}`,
		"cut off":     info.Envelope[:len(info.Envelope)-10] + `"}`,
		"a bit":       strings.Replace(info.Envelope, `"wrapped":"A`, `"wrapped":"B`, 1),
		"another key": strings.Replace(info.Envelope, `"key":"`, `"key":"9`, 1),
	} {
		if envelope == info.Envelope {
			t.Fatalf("%s: it is the same", what)
		}
		if _, err := inner.UpdateStore(t.Context(), workspace, one, memento.StoreUpdate{Envelope: &envelope}); err != nil {
			t.Fatal(err)
		}
		// Another handle, since this one has the keys.
		_, err := cryptstore.Wrap(t.Context(), onlyStore{inner, one}, ring, nil)
		if !errors.Is(err, memento.ErrDecrypt) {
			t.Errorf("%s: opening gives %v", what, err)
		}
		fresh, err := cryptstore.Wrap(t.Context(), onlyStore{inner, two}, ring, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if m, err := fresh.Get(t.Context(), one, memento.ByPath("/a")); !errors.Is(err, memento.ErrDecrypt) || m.Content != "" {
			t.Errorf("%s: %+v, %v", what, m, err)
		}
		if _, err := fresh.Apply(t.Context(), one, ann, []memento.Change{memento.Put{Path: "/b", Content: "new"}}); !errors.Is(err, memento.ErrDecrypt) {
			t.Errorf("%s: written all the same, %v", what, err)
		}
	}
	newer := strings.Replace(info.Envelope, `"version":1`, `"version":2`, 1)
	if _, err := inner.UpdateStore(t.Context(), workspace, one, memento.StoreUpdate{Envelope: &newer}); err != nil {
		t.Fatal(err)
	}
	if _, err := cryptstore.Wrap(t.Context(), onlyStore{inner, one}, ring, nil); !errors.Is(err, memento.ErrFormat) {
		t.Errorf("a newer envelope: %v", err)
	}
}

// The same with the bytes of a database: two texts change places.
func TestTamperedFile(t *testing.T) {
	dir := t.TempDir()
	k := kindNamed("sqlitestore")
	b, err := k.wrapped(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	store := newStore(t, b, workspace)
	apply(t, b, store, memento.Put{Path: "/a", Content: "the first text"}, memento.Put{Path: "/b", Content: "another memory"})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	inner, err := k.open(t.Context(), filepath.Join(dir, "data"))
	if err != nil {
		t.Fatal(err)
	}
	var kept, hashes [2][]byte
	for i, p := range []memento.Path{"/a", "/b"} {
		m, err := inner.Get(t.Context(), store, memento.ByPath(p))
		if err != nil {
			t.Fatal(err)
		}
		kept[i] = []byte(m.Content)
		if hashes[i], err = hex.DecodeString(m.SHA256); err != nil {
			t.Fatal(err)
		}
	}
	if err := inner.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "data", "memento.db")
	data, err := os.ReadFile(file)
	if err != nil || bytes.Count(data, kept[0]) != 1 || bytes.Count(data, kept[1]) != 1 || len(kept[0]) != len(kept[1]) {
		t.Fatalf("the file does not have both texts once (%v)", err)
	}
	x, y := bytes.Index(data, kept[0]), bytes.Index(data, kept[1])
	copy(data[x:], kept[1])
	copy(data[y:], kept[0])
	// With the hashes that are not secret the database notices; with those exchanged as
	// well, the encryption does.
	placeholder := bytes.Repeat([]byte{0xff}, len(hashes[0]))
	consistent := bytes.ReplaceAll(data, hashes[0], placeholder)
	consistent = bytes.ReplaceAll(consistent, hashes[1], hashes[0])
	consistent = bytes.ReplaceAll(consistent, placeholder, hashes[1])
	for want, data := range map[error][]byte{memento.ErrDamaged: data, memento.ErrDecrypt: consistent} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err = k.wrapped(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		for _, p := range []memento.Path{"/a", "/b"} {
			if m, err := b.Get(t.Context(), store, memento.ByPath(p)); !errors.Is(err, want) || m.Content != "" {
				t.Errorf("%s: %+v, %v", p, m, err)
			}
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A store that answers in the place of another is not taken for it.
func TestExchangedStores(t *testing.T) {
	c := newCrime(t)
	c.inner.placed = func(ws memento.Workspace, id memento.StoreID) (memento.Workspace, memento.StoreID) {
		if id == c.store {
			id = c.other
		}
		return ws, id
	}
	b := wrap(t, c.inner, c.ring, nil)
	_, err := b.Apply(t.Context(), c.store, ann, []memento.Change{memento.Put{Path: "/new", Content: "for the one"}})
	if !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("Apply: %v", err)
	}
	if m, err := c.b.Get(t.Context(), c.other, memento.ByPath("/new")); !errors.Is(err, memento.ErrNotExist) {
		t.Errorf("the other has %+v, %v", m, err)
	}
	if m, err := b.Get(t.Context(), c.store, memento.ByPath("/a")); !errors.Is(err, memento.ErrDecrypt) {
		t.Errorf("Get: %+v, %v", m, err)
	}
}

// A store that was put into another workspace is not read there, not even by a process
// that has just had its keys.
func TestStoreInAnotherWorkspace(t *testing.T) {
	const thief memento.Workspace = "thief"
	c := newCrime(t)
	newStore(t, c.b, thief)
	holds(t, c.b, c.store, "/a", "a second text.")
	c.inner.placed = func(ws memento.Workspace, id memento.StoreID) (memento.Workspace, memento.StoreID) {
		switch {
		case id != c.store:
			return ws, id
		case ws == thief:
			return workspace, id
		}
		return ws, "memstore_none"
	}
	if _, err := c.b.GetStore(t.Context(), thief, c.store); err != nil {
		t.Fatal(err)
	}
	c.noticed("in another workspace")
}
