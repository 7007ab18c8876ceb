// Package memories helps tests with stores in main memory: it opens them, writes to them
// and reads back what they hold.
package memories

import (
	"context"
	"regexp"
	"testing"

	"memento"
	"memento/backend/memstore"
)

// New returns an empty store with the options of [Guarded].
func New(limits memento.Limits) *memento.Store {
	return memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default", Limits: limits}, Guarded())
}

// Guarded returns the options of a store whose detector is [Planted].
func Guarded() *memento.StoreOptions { return &memento.StoreOptions{Detector: Planted{}} }

// Planted is a detector whose findings a test can foresee: "sk-test-" and eight digits
// and, as personal data, "person-" and a digit. The tests of package sensitive show what
// the real detector finds.
type Planted struct{}

var plantedText = regexp.MustCompile(`sk-test-\d{8}|(person-\d)`)

// Detect implements [memento.Detector].
func (Planted) Detect(text string, personal bool) (found []memento.Finding) {
	for _, m := range plantedText.FindAllStringSubmatchIndex(text, -1) {
		kind := "test-key"
		if m[2] >= 0 {
			if kind = "test-person"; !personal {
				continue
			}
		}
		found = append(found, memento.Finding{Kind: kind, Start: m[0], End: m[1]})
	}
	return found
}

var plantedOrder = regexp.MustCompile(`order-\d`)

// DetectInstructions implements [memento.InstructionDetector]: "order-" and a digit.
func (Planted) DetectInstructions(text string) (found []memento.Finding) {
	for _, m := range plantedOrder.FindAllStringIndex(text, -1) {
		found = append(found, memento.Finding{Kind: memento.InstructionPrefix + "test", Start: m[0], End: m[1]})
	}
	return found
}

// Put writes a memory, whether or not there is one at p.
func Put(t testing.TB, s *memento.Store, p memento.Path, text string) {
	t.Helper()
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: p, Content: text}); err != nil {
		t.Fatal(err)
	}
}

// Contents returns what a store holds.
func Contents(t testing.TB, s *memento.Store) map[memento.Path]string {
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

// Versions returns the versions that opts select, oldest first.
func Versions(t testing.TB, s *memento.Store, opts memento.VersionListOptions) []memento.Version {
	t.Helper()
	opts.OldestFirst = true
	var versions []memento.Version
	for v, err := range s.Versions(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	return versions
}

// A Meddler is a backend on which another client acts just before the next Apply.
type Meddler struct {
	memento.Backend
	Meddle func() // called once; nil for nothing
}

// Apply implements [memento.Backend].
func (b *Meddler) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if f := b.Meddle; f != nil {
		b.Meddle = nil
		f()
	}
	return b.Backend.Apply(ctx, id, by, changes)
}

// Meddled returns a store through a Meddler, and the same store for the other clients.
func Meddled() (m *Meddler, s, other *memento.Store) {
	b := memstore.New(nil)
	m = &Meddler{Backend: b}
	open := func(b memento.Backend) *memento.Store {
		return memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes"}, Guarded())
	}
	return m, open(m), open(b)
}
