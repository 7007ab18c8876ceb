package pgstore_test

import (
	"errors"
	"testing"

	"memento"
)

// If a row has become another memory's, no text is shown, even if the text itself is
// undamaged.
func TestRowOfAnother(t *testing.T) {
	dir := t.TempDir()
	h := harness()
	b, err := h.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := b.CreateStore(t.Context(), "tests", memento.StoreSpec{Name: "test"})
	if err == nil {
		_, err = b.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/a.md", Content: "of a"}})
	}
	if err := errors.Join(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	rows, err := h.Blobs(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, m := range rows {
		if m.Name != "memories.path" && m.Name != "memories.id" && m.Name != "memories.version" && m.Name != "memories.content" {
			continue
		}
		changed++
		data := append([]byte{}, m.Data...)
		data[len(data)-1] ^= 2
		if m.Name == "memories.path" {
			data = []byte("/c.md")
		}
		if err := m.Write(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		b, err := h.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		refused := 0
		for _, p := range []memento.Path{"/a.md", "/c.md"} {
			switch got, err := b.Get(t.Context(), info.ID, memento.ByPath(p)); {
			case errors.Is(err, memento.ErrDamaged):
				refused++
			case !errors.Is(err, memento.ErrNotExist):
				t.Errorf("%s: Get %s: %+v, %v", m.Name, p, got, err)
			}
		}
		for e, err := range b.List(t.Context(), info.ID, memento.ListOptions{Contents: true}) {
			if !errors.Is(err, memento.ErrDamaged) {
				t.Errorf("%s: List: %+v, %v", m.Name, e, err)
			}
			refused++
		}
		if refused != 2 {
			t.Errorf("%s: %d reads are refused, want Get and List", m.Name, refused)
		}
		if err := errors.Join(b.Close(), m.Write(t.Context(), m.Data)); err != nil {
			t.Fatal(err)
		}
	}
	if changed != 4 {
		t.Errorf("%d columns were changed", changed)
	}
}
