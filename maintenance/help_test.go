package maintenance_test

import (
	"context"
	"testing"

	"memento"
)

const workspace = memento.DefaultWorkspace

// guarded opens stores with a detector that finds nothing.
func guarded() *memento.StoreOptions { return &memento.StoreOptions{Detector: nothing{}} }

type nothing struct{}

func (nothing) Detect(string, bool) []memento.Finding { return nil }

func mustPut(t testing.TB, s *memento.Store, p memento.Path, text string) {
	t.Helper()
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: p, Content: text}); err != nil {
		t.Fatal(err)
	}
}
func contents(t testing.TB, s *memento.Store) map[memento.Path]string {
	t.Helper()
	held := map[memento.Path]string{}
	for e, err := range s.List(t.Context(), memento.ListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		held[e.Path] = e.Memory.Content
	}
	return held
}

// meddler is a backend on which others act just before the next Apply.
type meddler struct {
	memento.Backend
	meddle func()
}

func (b *meddler) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if f := b.meddle; f != nil {
		b.meddle = nil
		f()
	}
	return b.Backend.Apply(ctx, id, by, changes)
}
