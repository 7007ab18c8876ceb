package cryptstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
)

// A watched backend calls during before it answers.
type watched struct {
	*memstore.Backend
	during func()
}

func (w *watched) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	done, err := w.Backend.Apply(ctx, store, by, changes)
	w.during()
	return done, err
}

func (w *watched) Get(ctx context.Context, store memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	m, err := w.Backend.Get(ctx, store, ref)
	w.during()
	return m, err
}

// A text that was written is cached for the next read. A text is not cached if the cache
// was cleared while it was read or written.
func TestTexts(t *testing.T) {
	inner := &watched{memstore.New(nil), func() {}}
	ring, err := NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	wrapped, err := Wrap(t.Context(), inner, ring, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer wrapped.Close()
	b, _ := Of(wrapped)
	info, err := b.CreateStore(t.Context(), "test", memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	apply := func(changes ...memento.Change) []memento.Version {
		t.Helper()
		done, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes)
		if err != nil {
			t.Fatal(err)
		}
		return done.Versions
	}
	get := func(p memento.Path) memento.Memory {
		t.Helper()
		m, err := b.Get(t.Context(), info.ID, memento.ByPath(p))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	k, err := b.keysForReading(t.Context(), "test", info.ID)
	if err != nil {
		t.Fatal(err)
	}
	holds := func(what string, v memento.Version, text string) {
		t.Helper()
		o, ok := b.texts.Get(cachedTextKey{k, v.Memory})
		if ok != (text != "") || o.text != text || ok && (o.by != v.ID || o.hash != memento.HashContent(text)) {
			t.Errorf("%s: held is %+v", what, o)
		}
	}

	moved, text := "moved and changed", "text"
	made := apply(memento.Put{Path: "/a", Content: "a"}, memento.Put{Path: "/dir/1", Content: "one"}, memento.Put{Path: "/dir/2", Content: "two"},
		memento.Move{From: "/dir", To: "/other"}, memento.Put{Path: "/a", Content: "a"}, memento.Remove{Path: "/other/1"},
		memento.Move{From: "/a", To: "/b", Content: &moved})
	holds("moved", made[6], moved)
	holds("kept", made[2], "two")
	if len(made) != 7 || get("/b").Content != moved || get("/other/2").Content != "two" {
		t.Errorf("made are %+v", made)
	}
	if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{
		memento.Put{Path: "/b", Content: "not to be"}, memento.Put{Path: "/b/below", Content: "x"},
	}); !errors.Is(err, memento.ErrNotDir) {
		t.Errorf("below a memory: %v", err)
	}
	holds("after a failure", made[6], moved)

	inner.during = b.texts.Clear
	large := strings.Repeat("x", maxTextBytes)
	v := apply(memento.Put{Path: "/c", Content: text})[0]
	holds("forgotten while it was written", v, "")
	if get("/c").Content != text {
		t.Error("it is not read")
	}
	holds("forgotten while it was read", v, "")
	inner.during = func() {}
	if get("/c").Content != text {
		t.Error("it is not read")
	}
	holds("read", v, text)
	if v = apply(memento.Put{Path: "/d", Content: large[:100_000]})[0]; get("/d").Content != large[:100_000] {
		t.Error("a long one is not read")
	}
	holds("a long one", v, large[:100_000])

	b.cacheText(cachedTextKey{k, "mem_large"}, cachedText{text: large}, b.texts.Clears())
	if _, ok := b.texts.Get(cachedTextKey{k, "mem_large"}); ok {
		t.Error("a very large one is held")
	}
	for range 1000 { // the same one repeatedly, which must not remove others
		b.cacheText(cachedTextKey{k, "mem_again"}, cachedText{text: large[:100_000]}, b.texts.Clears())
	}
	holds("read before", v, large[:100_000])
}
