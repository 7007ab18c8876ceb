package cryptstore_test

import (
	"strings"
	"testing"

	"memento"
	"memento/backend/s3store"
)

// An edit on object storage is one PUT, encrypted too, and loses nothing of what
// another process has written meanwhile.
func TestRecall(t *testing.T) {
	dir, ring := t.TempDir(), newRing(t)
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	open := func() (*s3store.Backend, *memento.Store) {
		inner, err := openS3(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		b := wrap(t, inner, ring, nil)
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		return inner.(*s3store.Backend), memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes", Settings: &settings}, nil)
	}
	inner, store := open()
	if _, err := store.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: "one two three"}); err != nil {
		t.Fatal(err)
	}
	replace := func(s *memento.Store, old, new string) {
		t.Helper()
		_, err := s.Edit(t.Context(), memento.Actor{}, "/a", func(text string) (string, error) {
			return strings.Replace(text, old, new, 1), nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	replace(store, "one", "ONE")
	before := inner.Stats()
	replace(store, "two", "TWO")
	after := inner.Stats()
	if puts, all := after.Puts-before.Puts, after.Requests()-before.Requests(); puts != 1 || all != 1 {
		t.Errorf("an edit made %d requests, of which %d PUTs", all, puts)
	}
	_, other := open()
	replace(other, "three", "THREE")
	replace(store, "ONE", "1")
	replace(other, "TWO", "2")
	for _, s := range []*memento.Store{store, other} {
		if m, err := s.Get(t.Context(), memento.ByPath("/a")); err != nil || m.Content != "1 2 THREE" {
			t.Errorf("%q, %v", m.Content, err)
		}
	}
}
