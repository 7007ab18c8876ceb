package memento_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/test/memories"
)

const (
	testKey     = "sk-test-12345678"
	testKeyMark = "[REDACTED:test-key]"
)

// screened returns a store with settings, and its backend.
func screened(t *testing.T, change func(*memento.Settings)) (*memento.Store, memento.Backend) {
	t.Helper()
	settings := memento.DefaultSettings()
	if change != nil {
		change(&settings)
	}
	b := memstore.New(nil)
	t.Cleanup(func() { b.Close() })
	return memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: &settings}, memories.Guarded()), b
}

func mode(m memento.SensitiveMode) func(*memento.Settings) {
	return func(s *memento.Settings) { s.Sensitive.Mode = m }
}

func TestApplyMasks(t *testing.T) {
	s, _ := screened(t, nil)
	changes := []memento.Change{
		memento.Put{Path: "/plain", Content: "nothing"},
		memento.Put{Path: "/a", Content: "one\n" + testKey + " and\n\nkey=" + testKey},
		memento.Move{From: "/plain", To: "/moved"},
	}
	r, err := s.Apply(t.Context(), memento.Actor{}, changes...)
	if err != nil {
		t.Fatal(err)
	}
	want := []memento.FindingLocation{{Path: "/a", Kind: "test-key", Line: 2}, {Path: "/a", Kind: "test-key", Line: 4}}
	if diff := cmp.Diff(want, r.Masked); diff != "" {
		t.Errorf("masked (-want +got):\n%s", diff)
	}
	held := map[memento.Path]string{"/moved": "nothing", "/a": "one\n" + testKeyMark + " and\n\nkey=" + testKeyMark}
	if diff := cmp.Diff(held, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
	if c := changes[1].(memento.Put); !strings.Contains(c.Content, testKey) {
		t.Error("the caller's change was altered")
	}
	nowhere(t, s, testKey)
}

// nowhere checks that nothing the store keeps holds a text.
func nowhere(t *testing.T, s *memento.Store, text string) {
	t.Helper()
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(v.Content, text) || strings.Contains(string(v.Path), text) {
			t.Errorf("version %s holds it", v.ID)
		}
	}
}

func TestApplyRejects(t *testing.T) {
	s, _ := screened(t, mode(memento.Reject))
	_, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/ok", Content: "x"},
		memento.Put{Path: "/a", Content: "one\ntwo " + testKey})
	found, ok := errors.AsType[*memento.SensitiveError](err)
	if !errors.Is(err, memento.ErrSensitive) || !ok {
		t.Fatalf("%v, want ErrSensitive", err)
	}
	if diff := cmp.Diff([]memento.FindingLocation{{Path: "/a", Kind: "test-key", Line: 2}}, found.Found); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), testKey) {
		t.Errorf("the error repeats it: %v", err)
	}
	if held := memories.Contents(t, s); len(held) > 0 {
		t.Errorf("something was written: %q", held)
	}
}

// A path cannot be masked, so both modes refuse it, without repeating it.
func TestPathsAreChecked(t *testing.T) {
	for _, m := range []memento.SensitiveMode{memento.Mask, memento.Reject, memento.Off} {
		s, _ := screened(t, mode(m))
		memories.Put(t, s, "/a", "x")
		for _, c := range []memento.Change{
			memento.Put{Path: "/keys/" + testKey, Content: "x"},
			memento.Move{From: "/a", To: testKeyPath},
		} {
			_, err := s.Apply(t.Context(), memento.Actor{}, c)
			switch {
			case m == memento.Off && err != nil:
				t.Errorf("%s: %T: %v", m, c, err)
			case m != memento.Off && (!errors.Is(err, memento.ErrSensitive) || strings.Contains(err.Error(), "12345678")):
				t.Errorf("%s: %T: %v, want ErrSensitive that does not repeat it", m, c, err)
			}
		}
	}
}

const testKeyPath memento.Path = "/" + testKey + ".md"

func TestWhatIsAllowed(t *testing.T) {
	for name, allow := range map[string]func(*memento.Sensitive){
		"off":     func(s *memento.Sensitive) { s.Mode = memento.Off },
		"text":    func(s *memento.Sensitive) { s.Allow = []string{"other", testKey} },
		"pattern": func(s *memento.Sensitive) { s.AllowPatterns = []string{`sk-test-1\d+`} },
		"path":    func(s *memento.Sensitive) { s.AllowPaths = []memento.Pattern{"/docs/*"} },
	} {
		s, _ := screened(t, func(s *memento.Settings) { allow(&s.Sensitive) })
		memories.Put(t, s, "/docs/a", testKey)
		if held := memories.Contents(t, s)["/docs/a"]; held != testKey {
			t.Errorf("%s: it holds %q", name, held)
		}
	}
	// Part of a text, or of a match, allows nothing.
	s, _ := screened(t, func(s *memento.Settings) {
		s.Sensitive.Allow, s.Sensitive.AllowPatterns = []string{"sk-test"}, []string{"sk-test", "5678"}
		s.Sensitive.AllowPaths = []memento.Pattern{"/doc"}
	})
	memories.Put(t, s, "/docs/a", testKey)
	if held := memories.Contents(t, s)["/docs/a"]; held != testKeyMark {
		t.Errorf("it holds %q", held)
	}
}

func TestPersonalDataIsOptIn(t *testing.T) {
	s, b := screened(t, nil)
	memories.Put(t, s, "/a", "person-1")
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info.Settings.Sensitive.Personal = true
	if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/b", "x") // with which this handle learns of it
	memories.Put(t, s, "/c", "person-2 "+testKey)
	want := map[memento.Path]string{"/a": "person-1", "/b": "x", "/c": "[REDACTED:test-person] " + testKeyMark}
	if diff := cmp.Diff(want, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
}

func TestNoDetector(t *testing.T) {
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, nil)
	_, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: "x"})
	if !errors.Is(err, memento.ErrNoDetector) {
		t.Errorf("a write: %v, want ErrNoDetector", err)
	}
	_, err = s.Import(t.Context(), []memento.Version{{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/a", SHA256: memento.HashContent("")}})
	if !errors.Is(err, memento.ErrNoDetector) {
		t.Errorf("an import: %v, want ErrNoDetector", err)
	}
	// To remove and to read, none is needed.
	memories.Put(t, memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded()), "/a", "x")
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Remove{Path: "/a"}); err != nil {
		t.Error(err)
	}
}

func TestEditMasks(t *testing.T) {
	s, _ := screened(t, nil)
	memories.Put(t, s, "/a", "the key is KEY.\n")
	r, err := s.Edit(t.Context(), memento.Actor{}, "/a", func(old string) (string, error) {
		return strings.Replace(old, "KEY", testKey, 1), nil
	})
	want := "the key is " + testKeyMark + ".\n"
	if err != nil || r.Memory.Content != want || r.Memory.SHA256 != memento.HashContent(want) || r.Memory.Size != int64(len(want)) || len(r.Masked) != 1 {
		t.Errorf("Edit returned %+v, %v", r, err)
	}
	if held := memories.Contents(t, s)["/a"]; held != want {
		t.Errorf("it holds %q", held)
	}
	nowhere(t, s, testKey)
}

func TestImportMasks(t *testing.T) {
	from, _ := screened(t, mode(memento.Off))
	memories.Put(t, from, "/a", "old "+testKey)
	memories.Put(t, from, "/a", "new")
	var versions []memento.Version
	for v, err := range from.Versions(t.Context(), memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	to, _ := screened(t, nil)
	replaced, err := to.Import(t.Context(), versions)
	if diff := cmp.Diff([]memento.FindingLocation{{Path: "/a", Kind: "test-key", Line: 1}}, replaced); diff != "" || err != nil {
		t.Errorf("replaced: %v (-want +got):\n%s", err, diff)
	}
	nowhere(t, to, testKey)
	v, err := to.Version(t.Context(), versions[0].ID)
	if err != nil || v.Content != "old "+testKeyMark || v.SHA256 != memento.HashContent(v.Content) {
		t.Errorf("the old version is %+v, %v", v, err)
	}

	strict, _ := screened(t, mode(memento.Reject))
	if _, err := strict.Import(t.Context(), versions); !errors.Is(err, memento.ErrSensitive) || !strings.Contains(err.Error(), string(versions[0].ID)) {
		t.Errorf("%v, want ErrSensitive that names the version", err)
	}
}

// A screen counts the bytes that were searched.
type screen struct {
	memento.Detector
	bytes int
}

func (d *screen) Detect(text string, personal bool) []memento.Finding {
	d.bytes += len(text)
	return d.Detector.Detect(text, personal)
}

// To search for secrets takes much longer than to compare sizes, so what exceeds the
// limits of the store in any case is refused before its contents are searched.
func TestLimitsBeforeMasking(t *testing.T) {
	const size = 100_000
	text := strings.Repeat("x", size)
	version := func(i int, path memento.Path, text string) memento.Version {
		return memento.Version{
			ID: memento.VersionID(fmt.Sprintf("memver_%d", i)), Memory: memento.MemoryID(fmt.Sprintf("mem_%d", i)),
			Operation: memento.Created, Path: path, Content: text, SHA256: memento.HashContent(text), CreatedAt: time.Now(),
		}
	}
	for _, tt := range []struct {
		name   string
		limits memento.Limits
		sizes  []int
		limit  memento.Limit
	}{
		{"sum", memento.Limits{Bytes: 5 * size}, []int{size, size, size, size, size, size, size, size, size}, memento.LimitBytes},
		{"number", memento.Limits{Memories: 2}, []int{size, size, size}, memento.LimitMemories},
		{"a memory after others", memento.Limits{}, []int{size, size, 6 * size}, memento.LimitMemoryBytes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &screen{Detector: memories.Guarded().Detector}
			b := memstore.New(nil)
			defer b.Close()
			s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Limits: tt.limits}, &memento.StoreOptions{Detector: d})
			var versions []memento.Version
			var changes []memento.Change
			for i, n := range tt.sizes {
				p := memento.Path(fmt.Sprintf("/%d", i))
				versions = append(versions, version(i, p, strings.Repeat(text, n/size)))
				changes = append(changes, memento.Put{Path: p, Content: strings.Repeat(text, n/size)})
			}
			_, err := s.Import(t.Context(), versions)
			if e, ok := errors.AsType[*memento.LimitError](err); !ok || e.Limit != tt.limit {
				t.Errorf("Import: %v", err)
			}
			if tt.limit != memento.LimitMemoryBytes {
				_, err = s.Apply(t.Context(), memento.Actor{}, changes...)
				if e, ok := errors.AsType[*memento.LimitError](err); !ok || e.Limit != tt.limit {
					t.Errorf("Apply: %v", err)
				}
			}
			if d.bytes > 1000 { // paths
				t.Errorf("%d bytes were searched", d.bytes)
			}
			// What replaces or removes its own memories does not exceed the limits.
			var same []memento.Version
			for i, at := range tt.sizes {
				v := version(i, "/same", text)
				v.Memory = "mem_same"
				if at > 0 && i > 0 {
					v.Operation = memento.Modified
				}
				same = append(same, v)
			}
			if _, err := s.Import(t.Context(), same); err != nil {
				t.Errorf("versions of one memory: %v", err)
			}
			if d.bytes < size {
				t.Error("what was imported was not searched")
			}
		})
	}
}

// The ID of a session is shown on a line with other texts.
func TestSessionIDs(t *testing.T) {
	s, _ := screened(t, nil)
	for id, valid := range map[string]bool{
		"": true, "sesn_01": true, "Sitzung 3, 会话 👩‍💻": true, strings.Repeat("x", memento.MaxSessionIDBytes): true,
		strings.Repeat("x", memento.MaxSessionIDBytes+1): false,
		"a\nsesn_b": false, "a\rb": false, "a\u0085b": false, "a\u2028b": false, "a\u2029b": false, "a\x1b[1m": false,
		"a\u202eb": false, "a\u2066b": false, "a\u200fb": false, "a\u061cb": false, "a\xffb": false,
	} {
		_, err := s.Apply(t.Context(), memento.Actor{Kind: memento.ActorSession, ID: id}, memento.Put{Path: "/a", Content: fmt.Sprintf("%q", id)})
		if valid != (err == nil) || err != nil && !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("a change by session %q: %v", id, err)
		}
		if valid := valid && id != ""; valid != (memento.CheckSessionID(id) == nil) {
			t.Errorf("CheckSessionID(%q) = %v", id, memento.CheckSessionID(id))
		}
	}
}

// Restoring is a write like others: what was kept while the mode was off does
// not come back.
func TestRestoreMasks(t *testing.T) {
	s, b := screened(t, mode(memento.Off))
	made, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: testKey})
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info.Settings.Sensitive.Mode = memento.Mask
	if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/a", "changed")
	if _, _, err := history.RestoreVersion(t.Context(), s, memento.Actor{}, made.Versions[0].ID); err != nil {
		t.Fatal(err)
	}
	if held := memories.Contents(t, s)["/a"]; held != testKeyMark {
		t.Errorf("it holds %q", held)
	}
}

// What is refused makes no store.
func TestRefusedWritesMakeNoStore(t *testing.T) {
	s, b := screened(t, mode(memento.Reject))
	_, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: testKey})
	_, importErr := s.Import(t.Context(), []memento.Version{{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/a", Content: testKey, SHA256: memento.HashContent(testKey)}})
	if !errors.Is(err, memento.ErrSensitive) || !errors.Is(importErr, memento.ErrSensitive) {
		t.Errorf("%v and %v, want ErrSensitive", err, importErr)
	}
	for info := range b.ListStores(t.Context(), workspace, memento.StoreListOptions{}) {
		t.Errorf("there is a store: %+v", info)
	}
}

// What is allowed in one place cannot be moved to another.
func TestMoveOutOfAnAllowedPath(t *testing.T) {
	s, _ := screened(t, func(s *memento.Settings) { s.Sensitive.AllowPaths = []memento.Pattern{"/fixtures", "/other"} })
	memories.Put(t, s, "/fixtures/a", testKey)
	memories.Put(t, s, "/fixtures/plain", "x")
	for _, c := range []memento.Move{{From: "/fixtures/a", To: "/a"}, {From: "/fixtures", To: "/f"}} {
		if _, err := s.Apply(t.Context(), memento.Actor{}, c); !errors.Is(err, memento.ErrSensitive) {
			t.Errorf("%v: %v, want ErrSensitive", c, err)
		}
	}
	for _, c := range []memento.Move{{From: "/fixtures/plain", To: "/plain"}, {From: "/fixtures", To: "/other/f"}} {
		if _, err := s.Apply(t.Context(), memento.Actor{}, c); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// counting finds nothing, and adds up what it was given.
type counting struct{ bytes *int }

func (c counting) Detect(text string, _ bool) []memento.Finding {
	*c.bytes += len(text)
	return nil
}

// Contents far over the limit are refused before they are masked, by the present limit,
// and unless they shrink.
func TestHugeTextIsNotMasked(t *testing.T) {
	masked := 0
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: counting{&masked}})
	memories.Put(t, s, "/a", "x")
	masked = 0
	huge := strings.Repeat("x", 1<<20)
	for _, c := range []memento.Change{memento.Put{Path: "/a", Content: huge}, memento.Put{Path: "/b", Content: huge}, memento.Move{From: "/a", To: "/b", Content: &huge}} {
		_, err := s.Apply(t.Context(), memento.Actor{}, c)
		if found, ok := errors.AsType[*memento.LimitError](err); !ok || found.Want != 1<<20 || found.Max != 102_400 {
			t.Errorf("%T: %v", c, err)
		}
	}
	if masked > len(huge)/2 {
		t.Errorf("%d bytes were masked", masked)
	}
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limit := func(bytes int64) {
		if _, err := b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: bytes}}); err != nil {
			t.Fatal(err)
		}
	}
	limit(2 << 20) // which s does not know yet
	memories.Put(t, s, "/a", huge)
	limit(100)
	memories.Put(t, s, "/a", huge[1:])
}
