package cryptstore_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/cryptstore"
	"memento/backend/memstore"
)

const (
	secretText = "the launch code is 0xCAFE-BABE, do not tell"
	secretName = "launch-code-of-the-rocket"
)

// traces are what a text, or its hash, would look like on disk.
func traces(text string) [][]byte {
	sum := sha256.Sum256([]byte(text))
	return [][]byte{[]byte(text), []byte(text)[:20], sum[:], fmt.Appendf(nil, "%x", sum), fmt.Appendf(nil, "%X", sum)}
}

// No file of the inner backend contains plaintext, neither while it is open nor afterwards.
func TestNothingInClear(t *testing.T) {
	for _, k := range kinds {
		if !k.reopens || k.elsewhere {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			b, err := k.wrapped(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			store := newStore(t, b, workspace)
			work(t, b, store)
			look := func(when string) {
				t.Helper()
				data := everyByte(t, filepath.Join(dir, "data"))
				for _, text := range []string{secretText, secretText + "!", "imported " + secretText} {
					for _, trace := range traces(text) {
						if bytes.Contains(data, trace) {
							t.Errorf("%s: %.30q is in clear", when, trace)
						}
					}
				}
				if bytes.Contains(data, []byte("CAFE")) || bytes.Contains(data, []byte("cafe-babe")) {
					t.Errorf("%s: a word is in clear", when)
				}
				if named := bytes.Contains(data, []byte(secretName)); named == k.names {
					t.Errorf("%s: the name is in clear: %v", when, named)
				}
			}
			look("open")
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			look("closed")
		})
	}
	// The same work leaves all of it in a backend without encryption.
	dir := t.TempDir()
	b, err := openSQLite(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	work(t, b, newStore(t, b, workspace))
	data := everyByte(t, dir)
	for _, trace := range traces(secretText)[:3] {
		if !bytes.Contains(data, trace) {
			t.Errorf("without encryption, %.30q is not found: this test finds nothing", trace)
		}
	}
}

// work does a bit of everything with secrets.
func work(t *testing.T, b memento.Backend, store memento.StoreID) {
	t.Helper()
	p := memento.Path("/dir/" + secretName)
	apply(t, b, store, memento.Put{Path: p, Content: secretText})
	apply(t, b, store, memento.Put{Path: p, Content: secretText + "!", If: memento.IfSHA256(memento.HashContent(secretText))})
	apply(t, b, store, memento.Move{From: "/dir", To: "/other"})
	same := secretText + "!" // nothing is to be rewritten
	apply(t, b, store, memento.Move{From: "/other", To: "/third"}, memento.Move{From: "/third/" + secretName, To: "/fourth", Content: &same})
	apply(t, b, store, memento.Put{Path: p, Content: secretText})
	v := memento.Version{ID: "memver_imported", Memory: "mem_imported", Operation: memento.Created, Path: "/imported",
		Content: "imported " + secretText, SHA256: memento.HashContent("imported " + secretText), CreatedBy: ann,
		CreatedAt: apply(t, b, store, memento.Put{Path: "/x", Content: "x"})[0].CreatedAt}
	if err := b.Import(t.Context(), store, []memento.Version{v}); err != nil {
		t.Fatal(err)
	}
	bad := v
	bad.ID, bad.SHA256 = "memver_bad", memento.HashContent("x")
	if err := b.Import(t.Context(), store, []memento.Version{bad}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("a wrong hash: %v", err)
	}
	if _, err := b.Apply(t.Context(), store, ann, []memento.Change{memento.Put{Path: p, Content: "y" + secretText, If: memento.IfAbsent()}}); !errors.Is(err, memento.ErrExist) {
		t.Errorf("refused: %v", err)
	}
	found, err := b.(memento.Searcher).Search(t.Context(), store, memento.SearchOptions{Query: "launch 0xcafe"})
	if err != nil || len(found) != 3 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// The keys of a store go with it.
func TestKeysAreDestroyed(t *testing.T) {
	for _, k := range kinds {
		if !k.reopens || k.elsewhere {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			b, err := k.wrapped(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			data := filepath.Join(dir, "data")
			inner, err := k.open(t.Context(), data)
			if err != nil {
				t.Fatal(err)
			}
			defer inner.Close()
			store := newStore(t, b, workspace)
			apply(t, b, store, memento.Put{Path: "/a", Content: secretText})
			m, err := inner.Get(t.Context(), store, memento.Ref{Path: onlyPath(t, inner, store)})
			if err != nil {
				t.Fatal(err)
			}
			info, err := inner.GetStore(t.Context(), workspace, store)
			if err != nil {
				t.Fatal(err)
			}
			_, wrapped, _ := strings.Cut(info.Envelope, `"wrapped":"`)
			wrapped, _, _ = strings.Cut(wrapped, `"`)
			for _, what := range []string{wrapped, m.Content} {
				if what == "" || !bytes.Contains(everyByte(t, data), []byte(what)) {
					t.Fatalf("%.20q is not on disk", what)
				}
			}
			if err := b.DeleteStore(t.Context(), workspace, store); err != nil {
				t.Fatal(err)
			}
			for _, what := range []string{wrapped, m.Content} {
				if bytes.Contains(everyByte(t, data), []byte(what)) {
					t.Errorf("%.20q is still on disk", what)
				}
			}
			if _, err := b.Get(t.Context(), store, memento.ByPath("/a")); !errors.Is(err, memento.ErrNoStore) {
				t.Errorf("it is still read: %v", err)
			}
		})
	}
}

func onlyPath(t *testing.T, b memento.Backend, store memento.StoreID) memento.Path {
	t.Helper()
	for e, err := range b.List(t.Context(), store, memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		return e.Path
	}
	t.Fatal("there is no memory")
	return ""
}

func TestSearchIsBounded(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	b := wrap(t, inner, newRing(t), &cryptstore.Options{SearchBytes: 10})
	store := newStore(t, b, workspace)
	apply(t, b, store, memento.Put{Path: "/a", Content: "0123456789"})
	search := func() ([]memento.Match, error) {
		return b.(memento.Searcher).Search(t.Context(), store, memento.SearchOptions{Query: "0123"})
	}
	if found, err := search(); err != nil || len(found) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	apply(t, b, store, memento.Put{Path: "/b", Content: "x"})
	if found, err := search(); !errors.Is(err, memento.ErrUnsupported) || found != nil {
		t.Errorf("found %+v, %v", found, err)
	}
}

// Envelopes are the wrapper's own.
func TestEnvelopeIsHidden(t *testing.T) {
	inner := memstore.New(nil)
	defer inner.Close()
	b := wrap(t, inner, newRing(t), nil)
	id := newStore(t, b, workspace)
	text := "x"
	for what, ask := range map[string]func() (memento.StoreInfo, error){
		"create": func() (memento.StoreInfo, error) {
			return b.CreateStore(t.Context(), workspace, memento.StoreSpec{Name: "x", Envelope: text})
		},
		"update": func() (memento.StoreInfo, error) {
			return b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Envelope: &text})
		},
		"ask": func() (memento.StoreInfo, error) {
			return b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{IfEnvelope: &text})
		},
	} {
		if _, err := ask(); !errors.Is(err, memento.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	info, err := b.GetStore(t.Context(), workspace, id)
	if err != nil || info.Envelope != "" {
		t.Errorf("%+v, %v", info, err)
	}
	for info, err := range b.ListStores(t.Context(), workspace, memento.StoreListOptions{}) {
		if err != nil || info.Envelope != "" {
			t.Errorf("%+v, %v", info, err)
		}
	}
}
