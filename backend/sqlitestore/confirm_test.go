package sqlitestore_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"memento"
	"memento/backend/sqlitestore"
)

// A medium is a database whose file changes below SQLite, as if the medium returned wrong
// data for a while.
type medium struct {
	*testing.T
	file  *os.File // kept open: closing it would drop SQLite's locks
	path  string
	b     *sqlitestore.Backend
	store memento.StoreID
	last  memento.VersionID // of /b
	right []byte
}

// newMedium returns a database with the memories /a and /b.
func newMedium(t *testing.T) *medium {
	m := &medium{T: t, path: filepath.Join(t.TempDir(), "m.db")}
	m.open()
	info, err := m.b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "s"})
	m.do(err)
	m.store = info.ID
	for _, p := range []memento.Path{"/a", "/b"} {
		applied, err := m.b.Apply(t.Context(), m.store, memento.Actor{}, []memento.Change{memento.Put{Path: p, Content: "word of " + string(p)}})
		m.do(err)
		m.last = applied.Versions[0].ID
	}
	_, err = m.b.Search(t.Context(), m.store, memento.SearchOptions{Query: "word"}) // the index has nothing left to write
	m.do(err)
	m.do(m.b.Close())
	m.right, err = os.ReadFile(m.path)
	m.do(err)
	m.file, err = os.OpenFile(m.path, os.O_WRONLY, 0)
	m.do(err)
	t.Cleanup(func() { m.file.Close() })
	m.open()
	return m
}

func (m *medium) do(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *medium) open() {
	m.Helper()
	var err error
	m.b, err = sqlitestore.Open(m.Context(), m.path, nil)
	m.do(err)
}

// A misreading changes the contents of a file.
type misreading func(data []byte)

// hashOf changes the hash of a memory's text.
func hashOf(path string) misreading {
	hash, err := hex.DecodeString(memento.HashContent("word of " + path))
	if err != nil {
		panic(err)
	}
	return func(data []byte) {
		for at := bytes.Index(data, hash); at >= 0; at = bytes.Index(data, hash) {
			data[at] ^= 1
		}
	}
}

var misreadings = map[string]misreading{
	"hash": func(data []byte) {
		hashOf("/a")(data)
		hashOf("/b")(data)
	},
	"pages": func(data []byte) { // the type of every page except the first
		for at := 4096; at < len(data); at += 4096 {
			data[at] ^= 0xff
		}
	},
}

// misread has all reads of the file return wrong data, until heal.
func (m *medium) misread(how misreading) {
	m.Helper()
	wrong := bytes.Clone(m.right)
	if how(wrong); bytes.Equal(wrong, m.right) {
		m.Fatal("nothing is changed")
	}
	_, err := m.file.WriteAt(wrong, 0)
	m.do(err)
}

func (m *medium) heal() {
	m.Helper()
	_, err := m.file.WriteAt(m.right, 0)
	m.do(err)
}

// check reads all contents.
func (m *medium) check() {
	m.Helper()
	for _, p := range []memento.Path{"/a", "/b"} {
		if got, err := m.b.Get(m.Context(), m.store, memento.ByPath(p)); err != nil || got.Content == "" {
			m.Errorf("Get %s: %q, %v", p, got.Content, err)
		}
	}
	for v, err := range m.b.ListVersions(m.Context(), m.store, memento.VersionListOptions{Contents: true}) {
		if err != nil || v.Content == "" {
			m.Errorf("version %d: %q, %v", v.Seq, v.Content, err)
		}
	}
}

// list returns the number of entries, and the error after them.
func (m *medium) list() (n int, failed error) {
	for _, err := range m.b.List(m.Context(), m.store, memento.ListOptions{Contents: true}) {
		if err != nil {
			failed = err
			continue
		}
		n++
	}
	return n, failed
}

// Damage is reported while it is there, and not any more when the medium can be read, though
// connections have the wrong pages in their caches.
func TestDamageIsConfirmed(t *testing.T) {
	for _, op := range []struct {
		name   string
		do     func(context.Context, *medium) error
		hidden string // the misreading that it does not notice
		second bool   // whether it has yielded something before: then the first attempt fails
	}{
		{name: "Get", do: func(ctx context.Context, m *medium) error {
			_, err := m.b.Get(ctx, m.store, memento.ByPath("/a"))
			return err
		}},
		{name: "GetVersion", do: func(ctx context.Context, m *medium) error {
			_, err := m.b.GetVersion(ctx, m.store, m.last)
			return err
		}},
		{name: "GetStore", hidden: "hash", do: func(ctx context.Context, m *medium) error {
			_, err := m.b.GetStore(ctx, memento.DefaultWorkspace, m.store)
			return err
		}},
		{name: "List", do: func(ctx context.Context, m *medium) (err error) {
			for _, err = range m.b.List(ctx, m.store, memento.ListOptions{Contents: true}) {
			}
			return err
		}},
		{name: "ListVersions", do: func(ctx context.Context, m *medium) (err error) {
			for _, err = range m.b.ListVersions(ctx, m.store, memento.VersionListOptions{Contents: true}) {
			}
			return err
		}},
		{name: "Backup", do: func(ctx context.Context, m *medium) error {
			to := filepath.Join(m.TempDir(), "backup")
			if _, err := m.b.Backup(ctx, to, nil); err != nil {
				return err
			}
			_, err := sqlitestore.Verify(ctx, to, nil)
			return err
		}},
	} {
		for how := range misreadings {
			if how == op.hidden {
				continue
			}
			t.Run(op.name+"/"+how, func(t *testing.T) {
				m := newMedium(t)
				m.misread(misreadings[how])
				for range 2 {
					if err := op.do(t.Context(), m); !errors.Is(err, memento.ErrDamaged) && !errors.Is(err, memento.ErrFormat) {
						t.Errorf("with damage: %v", err)
					}
				}
				m.heal()
				if err := op.do(t.Context(), m); err != nil {
					t.Errorf("without damage: %v", err)
				}
				m.check()
				m.do(m.b.Close())
			})
		}
	}
}

// If rows were yielded before a wrong one, the iteration ends with an error that is not
// damage, and can be repeated.
func TestDamageAmongRows(t *testing.T) {
	m := newMedium(t)
	m.misread(hashOf("/b"))
	if n, err := m.list(); n != 1 || !errors.Is(err, memento.ErrDamaged) {
		t.Errorf("with damage: %d, %v", n, err)
	}
	m.heal()
	if n, err := m.list(); n != 1 || !errors.Is(err, memento.ErrUnavailable) {
		t.Errorf("the first time without damage: %d, %v", n, err)
	}
	if n, err := m.list(); n != 2 || err != nil {
		t.Errorf("without damage: %d, %v", n, err)
	}
	m.do(m.b.Close())
}

// A write does not fail because of pages that were read wrongly before, and does not write
// them to the file.
func TestWrongPageIsNotWritten(t *testing.T) {
	for how := range misreadings {
		for _, first := range []string{"read", "write"} {
			t.Run(fmt.Sprintf("%s/%s", how, first), func(t *testing.T) {
				m := newMedium(t)
				put := func() error {
					_, err := m.b.Apply(t.Context(), m.store, memento.Actor{}, []memento.Change{memento.Put{Path: "/c", Content: "c"}})
					return err
				}
				m.misread(misreadings[how])
				if first == "read" {
					if _, err := m.b.Get(t.Context(), m.store, memento.ByPath("/a")); err == nil {
						t.Error("damage is not noticed")
					}
				} else if err := put(); how == "pages" && !errors.Is(err, memento.ErrFormat) {
					t.Errorf("a write with damage: %v", err)
				} else if err == nil {
					m.do(m.b.Close())
					return // it did not read what is wrong
				}
				m.heal()
				m.do(put())
				m.check()
				m.do(m.b.Close())
				if _, err := sqlitestore.Verify(t.Context(), m.path, nil); err != nil {
					t.Error(err)
				}
				m.open()
				m.check()
				m.do(m.b.Close())
			})
		}
	}
}

// The connection that writes has read a wrong page without noticing it, and another has
// noticed.
func TestWrongPageOfWriter(t *testing.T) {
	m := newMedium(t)
	m.misread(hashOf("/a"))
	if _, err := m.b.Get(t.Context(), m.store, memento.ByPath("/b")); err != nil { // by the connection that writes, which reads both rows
		t.Error(err)
	}
	if _, err := m.list(); !errors.Is(err, memento.ErrDamaged) {
		t.Errorf("with damage: %v", err)
	}
	m.heal()
	if n, err := m.list(); n != 2 || err != nil {
		t.Errorf("without damage: %d, %v", n, err)
	}
	_, err := m.b.Apply(t.Context(), m.store, memento.Actor{}, []memento.Change{memento.Put{Path: "/c", Content: "c"}})
	m.do(err)
	m.check()
	m.do(m.b.Close())
}
