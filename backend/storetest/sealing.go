package storetest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend"
	"memento/backend/memstore"
)

// sealing tests that contents and envelopes sealed by a wrapper are stored unchanged.
func sealing(t *testing.T, h Harness) {
	h.run(t, "copies of stores", copiedStores)
	if !h.AcceptsSealed {
		h.run(t, "refused", sealRefused)
		return
	}
	h.run(t, "kept", sealKept)
	h.run(t, "moves", sealMoves)
	h.run(t, "conditions", sealConditions)
	h.run(t, "limits", sealLimits)
	h.run(t, "clear paths", sealClearPaths)
	h.run(t, "a failing sealer", sealFails)
	h.run(t, "redaction", sealRedaction)
	h.run(t, "importing", sealImport)
	h.run(t, "hands off", sealBesidePlain)
	h.run(t, "search", sealSearch)
	h.run(t, "envelopes", envelopes)
	h.run(t, "other keys", sealOtherKeys)
}

// A toy is a Sealer that does everything except encrypting.
type toy struct{}

func (toy) Seal(memory memento.MemoryID, version memento.VersionID, text string) (string, error) {
	if strings.Contains(text, "unsealable") {
		return "", errUnsealable
	}
	return fmt.Sprintf("sealed %s %s %s", memory, version, hex.EncodeToString([]byte(text))), nil
}

var errUnsealable = errors.New("cannot be sealed")

func (toy) Digest(sha256 string) string {
	digits := []byte(sha256)
	for i, j := 0, len(digits)-1; i < j; i, j = i+1, j-1 {
		digits[i], digits[j] = digits[j], digits[i]
	}
	return string(digits)
}

func (toy) Clear(p memento.Path) (memento.Path, error) { return "/clear" + p, nil }

// seal returns changes with the toy as their Sealer.
func seal(changes ...memento.Change) []memento.Change {
	for i, c := range changes {
		changes[i] = backend.Sealed{Change: c, Sealing: backend.Sealing{By: toy{}}}
	}
	return changes
}

// sealed checks that a memory holds a text sealed for its version, or for the given one.
func (e *env) sealed(p memento.Path, text string, by memento.VersionID) {
	e.Helper()
	m := e.get(p)
	if by == "" {
		by = m.Version
	}
	content, _ := toy{}.Seal(m.ID, by, text)
	want := memento.Memory{
		ID: m.ID, Path: p, Content: content, SHA256: memento.HashContent(content), Digest: toy{}.Digest(memento.HashContent(text)),
		Size: int64(len(text)), Version: m.Version, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, ReadAt: m.ReadAt,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		e.Errorf("Get %s (-want +got):\n%s", p, diff)
	}
	entry := func(contents bool) memento.Memory {
		e.Helper()
		for _, x := range e.list(memento.ListOptions{Dir: p.Parent(), Contents: contents}) {
			if x.Path == p {
				x.Memory.ReadAt = m.ReadAt
				return x.Memory
			}
		}
		e.Fatalf("List has no %s", p)
		return memento.Memory{}
	}
	if diff := cmp.Diff(want, entry(true)); diff != "" {
		e.Errorf("List with contents, %s (-want +got):\n%s", p, diff)
	}
	want.Content = ""
	if diff := cmp.Diff(want, entry(false)); diff != "" {
		e.Errorf("List without contents, %s (-want +got):\n%s", p, diff)
	}
	v := e.version(m.Version)
	if v.Content != content || v.SHA256 != m.SHA256 || v.Digest != m.Digest || v.Size != m.Size {
		e.Errorf("GetVersion of %s: %+v, of the memory %+v", p, v, m)
	}
	for _, contents := range []bool{true, false} {
		listed := e.versions(memento.VersionListOptions{Memory: m.ID, Limit: 1, Contents: contents})[0]
		want := v
		if !contents {
			want.Content = ""
		}
		if diff := cmp.Diff(want, listed); diff != "" {
			e.Errorf("ListVersions of %s (-want +got):\n%s", p, diff)
		}
	}
}

func sealRefused(e *env) {
	e.put("/a", "text")
	before := e.everything()
	if err := e.try(seal(memento.Put{Path: "/b", Content: "text"})...); err == nil {
		e.Error("a sealed change was accepted without AcceptsSealed")
	}
	e.same("store after that", before, e.everything())
}

func sealKept(e *env) {
	texts := map[memento.Path]string{"/empty": "", "/dir/two": "two\nlines\n", "/dir/deep/é": "ä \U0001F600", "/large": strings.Repeat("x", 60_000)}
	var changes []memento.Change
	for _, p := range sortedPaths(texts) {
		changes = append(changes, memento.Put{Path: p, Content: texts[p]})
	}
	made := e.apply(seal(changes...)...)
	for i, v := range made {
		if m := e.get(v.Path); v.Digest != m.Digest || v.Digest == "" || v.SHA256 != m.SHA256 || v.Size != int64(len(texts[v.Path])) {
			e.Errorf("version %d that Apply returns is %+v", i, v)
		}
	}
	for range 2 {
		for p, text := range texts {
			e.sealed(p, text, "")
		}
		e.reopen()
	}
	e.apply(seal(memento.Put{Path: "/empty", Content: "no more"}, memento.Put{Path: "/dir/two", Content: "edited"})...)
	e.sealed("/empty", "no more", "")
	e.sealed("/dir/two", "edited", "")
	e.reopen()
	e.sealed("/dir/two", "edited", "")
	b := e.another()
	if m, err := b.Get(e.Context(), e.store, memento.ByPath("/dir/two")); err != nil || m.Digest != e.get("/dir/two").Digest {
		e.Errorf("another handle has %+v, %v", m, err)
	}
}

func sealMoves(e *env) {
	first := e.apply(seal(memento.Put{Path: "/a", Content: "text"})...)[0]
	e.apply(seal(memento.Move{From: "/a", To: "/dir/b"})...)
	e.sealed("/dir/b", "text", first.ID)
	e.apply(memento.Move{From: "/dir", To: "/other"}) // a move does not open contents
	e.sealed("/other/b", "text", first.ID)
	e.reopen()
	e.sealed("/other/b", "text", first.ID)
	text := "new"
	e.apply(seal(memento.Move{From: "/other/b", To: "/c", Content: &text})...)
	e.sealed("/c", "new", "")
	// The same contents, sealed again by a memory that was just removed.
	e.apply(seal(memento.Remove{Path: "/c"}, memento.Put{Path: "/c", Content: "new"})...)
	e.sealed("/c", "new", "")
}

func sealConditions(e *env) {
	e.apply(seal(memento.Put{Path: "/a", Content: "text"})...)
	if made := e.apply(seal(memento.Put{Path: "/a", Content: "text"})...); len(made) != 0 {
		e.Errorf("writing the same again made %+v", made)
	}
	is, isNot := memento.IfSHA256(memento.HashContent("text")), memento.IfSHA256(memento.HashContent("other"))
	e.refused(memento.ErrConflict, "/a", seal(memento.Put{Path: "/a", Content: "new", If: isNot})...)
	e.refused(memento.ErrConflict, "/a", seal(memento.Remove{Path: "/a", If: isNot})...)
	e.refused(memento.ErrExist, "/a", seal(memento.Put{Path: "/a", Content: "new", If: memento.IfAbsent()})...)
	e.apply(seal(memento.Put{Path: "/a", Content: "new", If: is})...)
	e.sealed("/a", "new", "")
	e.apply(seal(memento.Move{From: "/a", To: "/b", If: memento.IfSHA256(memento.HashContent("new"))})...)
	e.apply(seal(memento.Remove{Path: "/b", If: memento.IfSHA256(memento.HashContent("new"))})...)
}

func sealLimits(e *env) {
	e.setLimits(memento.Limits{MemoryBytes: 10, Bytes: 16})
	e.apply(seal(memento.Put{Path: "/dir/a", Content: "0123456789"}, memento.Put{Path: "/dir/in/b", Content: "01234"})...)
	e.refused(memento.ErrTooLarge, "/dir/a", seal(memento.Put{Path: "/dir/a", Content: "0123456789x"})...)
	e.refused(memento.ErrTooLarge, "/c", seal(memento.Put{Path: "/c", Content: "01"})...)
	e.apply(seal(memento.Put{Path: "/c", Content: "0"})...)
	if got, want := e.info().Usage, (memento.Usage{Memories: 3, Bytes: 16}); got != want {
		e.Errorf("usage is %+v, want %+v", got, want)
	}
	if got, want := e.list(memento.ListOptions{Depth: 1})[1].Usage, (memento.Usage{Memories: 2, Bytes: 15}); got != want {
		e.Errorf("the directory is listed with %+v, want %+v", got, want)
	}
	e.apply(seal(memento.Remove{Path: "/dir"})...)
	e.reopen()
	if got, want := e.info().Usage, (memento.Usage{Memories: 1, Bytes: 1}); got != want {
		e.Errorf("usage is %+v, want %+v", got, want)
	}
	pruned, err := e.b.Prune(e.Context(), e.store, memento.PruneOptions{Before: time.Now().Add(time.Hour), DryRun: true})
	if err != nil || pruned.Bytes != 15 {
		e.Errorf("Prune would remove %+v, %v, want 15 bytes", pruned, err)
	}
}

// sealClearPaths checks that rules about paths apply to the clear paths.
func sealClearPaths(e *env) {
	e.apply(seal(memento.Put{Path: "/a/b", Content: "x"})...)
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/clear/a/**"} })
	e.refused(memento.ErrProtected, "/a/b", seal(memento.Put{Path: "/a/b", Content: "y"})...)
	e.refused(memento.ErrProtected, "/a/b", seal(memento.Remove{Path: "/a"})...)
	e.apply(seal(memento.Put{Path: "/c", Content: "x"})...)
	e.refused(memento.ErrProtected, "/a/c", seal(memento.Move{From: "/c", To: "/a/c"})...)
	e.setLimits(memento.Limits{PathBytes: 9})
	e.apply(seal(memento.Put{Path: "/dd", Content: "x"})...)
	e.refused(memento.ErrTooLarge, "/ddd", seal(memento.Put{Path: "/ddd", Content: "x"})...)
}

func sealFails(e *env) {
	e.apply(seal(memento.Put{Path: "/a", Content: "text"})...)
	text := "unsealable"
	fails := func(at memento.Path, c memento.Change) {
		e.Helper()
		e.refused(errUnsealable, at, seal(memento.Put{Path: "/c", Content: "y"}, c)...)
	}
	fails("/b", memento.Put{Path: "/b", Content: text})
	fails("/a", memento.Put{Path: "/a", Content: text})
	fails("/b", memento.Move{From: "/a", To: "/b", Content: &text})
}

func sealRedaction(e *env) {
	first := e.apply(seal(memento.Put{Path: "/a", Content: "secret"})...)[0]
	e.apply(seal(memento.Put{Path: "/a", Content: "plain"})...)
	if v := e.redact(first.ID); v.Digest != "" || v.SHA256 != "" || v.Size != 0 {
		e.Errorf("redacted, but %+v", v)
	}
	e.reopen()
	if v := e.version(first.ID); v.Digest != "" || v.Content != "" {
		e.Errorf("redacted, but %+v", v)
	}
	gone := e.apply(seal(memento.Remove{Path: "/a"})...)[0]
	if v := e.version(gone.ID); v.Digest != "" {
		e.Errorf("a deletion has the digest %q", v.Digest)
	}
}

func sealImport(e *env) {
	first := e.apply(seal(memento.Put{Path: "/a", Content: "first"}, memento.Put{Path: "/b", Content: "gone"})...)[0]
	e.apply(seal(memento.Put{Path: "/a", Content: "second"}, memento.Remove{Path: "/b"})...)
	e.apply(seal(memento.Move{From: "/a", To: "/dir/a"})...)
	e.apply(seal(memento.Put{Path: "/c", Content: strings.Repeat("c", 1000)})...)
	e.redact(first.ID)
	want := e.info().Usage
	reference := memstore.New(nil)
	defer reference.Close()
	there := e.replay(e.b, reference, e.store)
	e.store = e.replay(reference, e.b, there)
	e.reopen()
	if got := e.info().Usage; got != want {
		e.Errorf("usage %+v, want %+v", got, want)
	}
	e.sealed("/c", strings.Repeat("c", 1000), "")
	e.apply(seal(memento.Put{Path: "/dir/a", Content: "third", If: memento.IfSHA256(memento.HashContent("second"))})...)
	e.sealed("/dir/a", "third", "")
}

// sealBesidePlain mixes plain and sealed contents.
func sealBesidePlain(e *env) {
	e.apply(seal(memento.Put{Path: "/a", Content: "text"})...)
	e.put("/a", "plain")
	if m := e.get("/a"); m.Digest != "" || m.Content != "plain" {
		e.Errorf("written plain, but %+v", m)
	}
	e.put("/b", "text")
	e.apply(seal(memento.Put{Path: "/b", Content: "text"})...)
	e.sealed("/b", "text", "")
	e.reopen()
	e.sealed("/b", "text", "")
}

// sealSearch checks that a search does not find sealed contents by their ciphertext.
func sealSearch(e *env) {
	if !e.h.Searcher {
		return // "powers" checks that it is none
	}
	e.apply(seal(memento.Put{Path: "/notes", Content: "needle"}, memento.Put{Path: "/other", Content: "x"})...)
	e.put("/plain", "sealed needle")
	e.finds("sealed", "/plain")
	e.finds("needle", "/plain")
	e.finds("notes", "/notes")
	e.apply(seal(memento.Put{Path: "/plain", Content: "sealed needle"})...)
	e.finds("needle")
	e.finds("plain", "/plain")
}

func envelopes(e *env) {
	long := strings.Repeat("0123456789abcdef", 4096) // 64 KiB
	e.store = e.newStore(memento.StoreSpec{Name: "with an envelope", Envelope: long})
	has := func(what, want string) memento.StoreInfo {
		e.Helper()
		e.reopen()
		info := e.info()
		if info.Envelope != want {
			e.Errorf("%s: the envelope has %d bytes, want %d", what, len(info.Envelope), len(want))
		}
		for listed, err := range e.b.ListStores(e.Context(), workspace, memento.StoreListOptions{Name: "with an envelope", IncludeArchived: true}) {
			if err != nil || listed.Envelope != want {
				e.Errorf("%s: ListStores has an envelope of %d bytes, %v", what, len(listed.Envelope), err)
			}
		}
		return info
	}
	update := func(u memento.StoreUpdate) (memento.StoreInfo, error) {
		return e.b.UpdateStore(e.Context(), workspace, e.store, u)
	}
	before := has("new", long)
	if _, err := e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "x", Envelope: long + "x"}); !errors.Is(err, memento.ErrInvalid) {
		e.Errorf("an envelope that is too long: %v", err)
	}
	second, tooLong := "second", long+"x"
	_, err := update(memento.StoreUpdate{Envelope: &tooLong})
	wantError(e, "too long", err, memento.ErrInvalid)
	_, err = update(memento.StoreUpdate{Envelope: &second, IfEnvelope: &second})
	wantError(e, "another before", err, memento.ErrConflict)
	has("refused", long)
	info, err := update(memento.StoreUpdate{Envelope: &second, IfEnvelope: &long})
	if err != nil || info.Envelope != second || !info.UpdatedAt.Equal(before.UpdatedAt) {
		e.Errorf("updated at %v, envelope %.20q, %v; before at %v", info.UpdatedAt, info.Envelope, err, before.UpdatedAt)
	}
	if info := has("updated", second); !info.UpdatedAt.Equal(before.UpdatedAt) {
		e.Errorf("updated at %v, before at %v", info.UpdatedAt, before.UpdatedAt)
	}
	name := "with an envelope"
	if _, err := update(memento.StoreUpdate{Name: &name, IfEnvelope: &long}); !errors.Is(err, memento.ErrConflict) {
		e.Errorf("an update that only asks for the envelope: %v", err)
	}
	if _, err := update(memento.StoreUpdate{Archive: true}); err != nil {
		e.Fatal(err)
	}
	archived := has("archived", second)
	third := "third"
	if _, err := update(memento.StoreUpdate{Envelope: &third, IfEnvelope: &second}); err != nil {
		e.Errorf("of an archived store: %v", err)
	}
	if info := has("of an archived store", third); !info.UpdatedAt.Equal(archived.UpdatedAt) || !info.ArchivedAt.Equal(archived.ArchivedAt) {
		e.Errorf("its times changed: %+v, before %+v", info, archived)
	}
	none := ""
	if _, err := update(memento.StoreUpdate{Envelope: &none}); err != nil {
		e.Error(err)
	}
	has("taken away", "")
}

// copiedStores checks that a store can be created as the copy of another.
func copiedStores(e *env) {
	at := time.Date(2001, 2, 3, 4, 5, 6, 7_000, time.UTC)
	spec := memento.StoreSpec{Name: "copy", ID: backend.NewStoreID(at), CreatedAt: at}
	info, err := e.b.CreateStore(e.Context(), workspace, spec)
	if errors.Is(err, memento.ErrUnsupported) && !e.h.AcceptsSealed {
		return
	}
	if err != nil {
		e.Fatal(err)
	}
	if info.ID != spec.ID || !info.CreatedAt.Equal(at) {
		e.Errorf("the copy is %+v, want it as %+v", info, spec)
	}
	e.reopen()
	if got, err := e.b.GetStore(e.Context(), workspace, spec.ID); err != nil || !got.CreatedAt.Equal(at) {
		e.Errorf("GetStore: %+v, %v", got, err)
	}
	for _, ws := range []memento.Workspace{workspace, "another"} {
		_, err := e.b.CreateStore(e.Context(), ws, spec)
		wantError(e, "again, in "+string(ws), err, memento.ErrExist)
	}
	_, err = e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "copy", ID: "memstore_../../up"})
	wantError(e, "an invalid ID", err, memento.ErrInvalid)

	original := e.store
	e.store = spec.ID
	e.fill("/a", "/b/c")
	e.reopen()
	e.audit()
	// It is deleted and copied back, while another handle has the old state in its cache.
	other := e.another()
	if _, err := other.Get(e.Context(), e.store, memento.ByPath("/a")); err != nil {
		e.Error(err)
	}
	if err := e.b.DeleteStore(e.Context(), workspace, e.store); err != nil {
		e.Fatal(err)
	}
	_, err = e.b.CreateStore(e.Context(), workspace, spec)
	if errors.Is(err, memento.ErrExist) { // a backend may refuse IDs of deleted stores
		_, err := e.b.GetStore(e.Context(), workspace, spec.ID)
		wantError(e, "GetStore of the deleted store", err, memento.ErrNoStore)
		e.store = original
		return
	}
	if err != nil {
		e.Fatalf("copied back: %v", err)
	}
	e.fill("/d")
	// A wrapper may take a moment to see that the store has other keys. It must not write
	// with the old ones.
	if _, err := other.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/e", Content: "/e"}}); err != nil {
		e.Errorf("another handle: %v", err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		m, err := other.Get(e.Context(), e.store, memento.ByPath("/d"))
		if err == nil && m.Content == "/d" {
			break
		}
		if time.Now().After(deadline) {
			e.Fatalf("another handle: %+v, %v", m, err)
		}
	}
	e.holds(map[memento.Path]string{"/d": "/d", "/e": "/e"})
	e.audit()
	e.store = original
}

// sealOtherKeys checks that nothing is written with keys that the store no longer has.
func sealOtherKeys(e *env) {
	e.store = e.newStore(memento.StoreSpec{Name: "with an envelope", Envelope: "first"})
	put := func(text, envelope string) memento.Change {
		return backend.Sealed{Change: memento.Put{Path: "/a", Content: text}, Sealing: backend.Sealing{By: toy{}, Envelope: envelope}}
	}
	e.apply(put("one", "first"), put("two", ""))
	second := "second"
	if _, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Envelope: &second}); err != nil {
		e.Fatal(err)
	}
	e.refused(memento.ErrConflict, "", put("three", "first"))
	b := e.another()
	if _, err := b.Apply(e.Context(), e.store, e.by, []memento.Change{put("three", "first")}); !errors.Is(err, memento.ErrConflict) {
		e.Errorf("another handle: %v", err)
	}
	e.apply(put("three", "second"))
	e.sealed("/a", "three", "")
}
