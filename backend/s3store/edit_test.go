package s3store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"memento"
	"memento/backend/s3store"
)

// An edit in a store without other writers makes no request before its PUT. An edit that was
// planned on an outdated memory loses nothing.
func TestEdit(t *testing.T) {
	dir := t.TempDir()
	b := openWith(t, dir, nil)
	id := newStore(t, b).ID
	put(t, b, id, "/a", "one two")
	replace := func(b *s3store.Backend, old, new string) func(context.Context) error {
		store, err := memento.OpenStore(t.Context(), b, workspace, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context) error {
			_, err := store.Edit(ctx, tester, "/a", func(text string) (string, error) {
				if !strings.Contains(text, old) {
					return "", errors.New("no " + old + " in " + text)
				}
				return strings.Replace(text, old, new, 1), nil
			})
			return err
		}
	}
	asks(t, b, "an edit", s3store.Stats{Puts: 1}, replace(b, "one", "three"))
	asks(t, b, "an edit that changes nothing", s3store.Stats{GetsNotFound: 1}, replace(b, "two", "two"))
	if err := replace(b, "four", "five")(t.Context()); err == nil || err.Error() != "no four in three two" {
		t.Errorf("an edit of what is not there: %v", err)
	}

	other := openWith(t, dir, nil)
	edit := replace(b, "four", "five")
	if err := replace(other, "two", "four")(t.Context()); err != nil {
		t.Fatal(err)
	}
	asks(t, b, "an edit of what another process wrote", s3store.Stats{Gets: 1, GetsNotFound: 2, Puts: 1}, edit)
	asks(t, b, "an edit shortly afterwards", s3store.Stats{GetsNotFound: 1, Puts: 1}, replace(b, "three", "six"))

	third := openWith(t, dir, nil)
	edit = replace(third, "five", "seven")
	if _, err := third.Get(t.Context(), id, memento.ByPath("/a")); err != nil {
		t.Fatal(err)
	}
	if err := replace(b, "six", "eight")(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The write is refused, what took its place is read, and so is the memory.
	asks(t, third, "an edit beside that of another process", s3store.Stats{PutsRefused: 1, Gets: 2, GetsNotFound: 4, Puts: 1}, edit)
	for _, b := range []*s3store.Backend{b, other, third} {
		if m, err := b.Get(t.Context(), id, memento.ByPath("/a")); err != nil || m.Content != "eight seven" {
			t.Errorf("%q, %v", m.Content, err)
		}
	}
}
