package memento_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/memstore"
	"memento/maintenance"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

func TestSettingsEncode(t *testing.T) {
	for name, s := range map[string]memento.Settings{
		"defaults": memento.DefaultSettings(),
		"zero":     {Sensitive: memento.Sensitive{Mode: memento.Off}},
		"all": {
			Sensitive: memento.Sensitive{Mode: memento.Reject, Personal: true, Allow: []string{"a\"b"}, AllowPatterns: []string{"x+"}, AllowPaths: []memento.Pattern{"/a"}},
			Expiry:    memento.Expiry{After: 36 * time.Hour, Keep: []memento.Pattern{"/k", "*.md"}},
			Retention: memento.Retention{Age: memento.Forever, Versions: 7},
			ReadOnly:  []memento.Pattern{"/"},
		},
	} {
		got, err := backend.DecodeSettings(backend.EncodeSettings(s))
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := backend.DecodeSettings("{}"); err != nil || !cmp.Equal(got, memento.DefaultSettings()) {
		t.Errorf("no settings are %+v, %v; want the defaults", got, err)
	}
	for _, bad := range []string{"", "[]", `{"expiry":{"after":"soon"}}`, `{"retention":3}`, `{"sensitive":{"mode":"hide"}}`} {
		if _, err := backend.DecodeSettings(bad); !errors.Is(err, memento.ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", bad, err)
		}
	}
}

// Settings and archives of earlier versions say "redact" for Mask.
func TestSettingsOfEarlierVersions(t *testing.T) {
	got, err := backend.DecodeSettings(`{"sensitive":{"mode":"redact","personal":true}}`)
	if err != nil || got.Sensitive.Mode != memento.Mask || !strings.Contains(backend.EncodeSettings(got), `"mode":"mask"`) {
		t.Errorf("got %+v, %v", got.Sensitive, err)
	}
}

// What may hold a secret, an allowed text, is not repeated by an error.
func TestSettingsErrorsRepeatNoSecret(t *testing.T) {
	s := memento.DefaultSettings()
	s.Sensitive.AllowPatterns = []string{"sk-canary("}
	_, err := memento.StoreSpec{Name: "n", Settings: &s}.NewInfo("ws", time.Now())
	if !errors.Is(err, memento.ErrInvalid) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

// The revision differs exactly if the settings for sensitive information do.
func TestSettingsRevision(t *testing.T) {
	revision := func(change func(*memento.Settings)) memento.SettingsRevision {
		info := memento.StoreInfo{Settings: memento.DefaultSettings()}
		change(&info.Settings)
		return info.SettingsRevision()
	}
	type settings = memento.Settings
	seen := map[memento.SettingsRevision]string{}
	for name, change := range map[string]func(*settings){
		"default":            func(*settings) {},
		"off":                func(s *settings) { s.Sensitive.Mode = memento.Off },
		"reject":             func(s *settings) { s.Sensitive.Mode = memento.Reject },
		"personal":           func(s *settings) { s.Sensitive.Personal = true },
		"mark":               func(s *settings) { s.Sensitive.Instructions = memento.MarkInstructions },
		"allow ab":           func(s *settings) { s.Sensitive.Allow = []string{"ab"} },
		"allow a, b":         func(s *settings) { s.Sensitive.Allow = []string{"a", "b"} },
		"allow b, a":         func(s *settings) { s.Sensitive.Allow = []string{"b", "a"} },
		"allow a, pattern b": func(s *settings) { s.Sensitive.Allow, s.Sensitive.AllowPatterns = []string{"a"}, []string{"b"} },
		"patterns a, b":      func(s *settings) { s.Sensitive.AllowPatterns = []string{"a", "b"} },
		"path /a":            func(s *settings) { s.Sensitive.AllowPaths = []memento.Pattern{"/a"} },
		"pattern /a":         func(s *settings) { s.Sensitive.AllowPatterns = []string{"/a"} },
		"allow /a":           func(s *settings) { s.Sensitive.Allow = []string{"/a"} },
	} {
		r := revision(change)
		if other, twice := seen[r]; twice || r == "" {
			t.Errorf("%s has the revision %q of %q", name, r, other)
		}
		seen[r] = name
		if again := revision(change); again != r {
			t.Errorf("%s: %q, then %q", name, r, again)
		}
	}
	same := revision(func(s *settings) {
		s.Expiry.After, s.Retention.Versions, s.ReadOnly = time.Hour, 3, []memento.Pattern{"/x"}
		s.Sensitive.Allow, s.Sensitive.AllowPaths = []string{}, []memento.Pattern{}
	})
	if seen[same] != "default" {
		t.Errorf("other settings count as well: %q is that of %q", same, seen[same])
	}
}

func TestPatternMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern memento.Pattern
		yes, no []memento.Path
	}{
		{"/", []memento.Path{"/a", "/a/b", "/.hidden"}, nil},
		{"/**", []memento.Path{"/a", "/a/b"}, nil},
		{"/a", []memento.Path{"/a", "/a/b", "/a/b/c"}, []memento.Path{"/ab", "/b/a", "/A"}},
		{"/a/", []memento.Path{"/a", "/a/b"}, []memento.Path{"/ab"}},
		{"/a/*", []memento.Path{"/a/b", "/a/b/c", "/a/.b"}, []memento.Path{"/a", "/b/a"}},
		{"/a/*/c", []memento.Path{"/a/b/c", "/a/b/c/d"}, []memento.Path{"/a/c", "/a/b/d", "/a/b/b/c"}},
		{"/a/**/c", []memento.Path{"/a/c", "/a/b/c", "/a/b/b/c/d"}, []memento.Path{"/c", "/a/b", "/b/a/c"}},
		{"/**/c", []memento.Path{"/c", "/a/c", "/a/b/c/d"}, []memento.Path{"/a", "/cc"}},
		{"/a/**/b/**/c", []memento.Path{"/a/b/c", "/a/x/b/y/c", "/a/b/b/c"}, []memento.Path{"/a/c", "/a/c/b"}},
		{"*.key", []memento.Path{"/x.key", "/a/b/x.key", "/x.key/in"}, []memento.Path{"/x.keys", "/key"}},
		{"secret", []memento.Path{"/secret", "/a/secret", "/secret/a"}, []memento.Path{"/secrets"}},
		{"/note?.md", []memento.Path{"/note1.md", "/noteä.md"}, []memento.Path{"/note.md", "/note12.md"}},
		{"/[a-c]/*.md", []memento.Path{"/a/x.md", "/c/.md"}, []memento.Path{"/d/x.md", "/a/x.txt"}},
		{"/名/*", []memento.Path{"/名/a"}, []memento.Path{"/名"}},
		{"/a[", nil, []memento.Path{"/a", "/a["}}, // not valid
	} {
		for _, p := range tt.yes {
			if !tt.pattern.Match(p) {
				t.Errorf("%q does not match %q", tt.pattern, p)
			}
		}
		for _, p := range tt.no {
			if tt.pattern.Match(p) {
				t.Errorf("%q matches %q", tt.pattern, p)
			}
		}
	}
}

func TestPatternsThatMatchNothingAreRefused(t *testing.T) {
	for _, g := range []memento.Pattern{"", "a/b", "/a[", "/x[a/b]", `/a\/b`, "/a//b", "/./a", "/a/..", "/e\u0301", "/a\x00", `/a\`, "/\xff"} {
		s := memento.DefaultSettings()
		s.ReadOnly = []memento.Pattern{g}
		if _, err := (memento.StoreSpec{Name: "n", Settings: &s}).NewInfo("ws", time.Now()); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", g, err)
		}
	}
	for _, g := range []memento.Pattern{"/", "/a", "/a/", "*", "*.md", "/**", "/a/**/b", `/a\*`, "/[a-z]?", "/é"} {
		s := memento.DefaultSettings()
		s.ReadOnly = []memento.Pattern{g}
		if _, err := (memento.StoreSpec{Name: "n", Settings: &s}).NewInfo("ws", time.Now()); err != nil {
			t.Errorf("%q: %v", g, err)
		}
	}
}

// A pattern can come from a user, and is matched with every path.
func TestPatternMatchIsNotExponential(t *testing.T) {
	pattern := memento.Pattern(strings.Repeat("/**/a", 100) + "/b")
	path := memento.Path(strings.Repeat("/a", 500))
	start := time.Now()
	if pattern.Match(path) {
		t.Error("it matches")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}

// TestRulesChangedByOthers refuses and allows by the limits and settings that hold,
// whatever a Store has seen of them before.
func TestRulesChangedByOthers(t *testing.T) {
	b := memstore.New(nil)
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Limits: memento.Limits{MemoryBytes: 10}}, memories.Guarded())
	memories.Put(t, s, "/a", "0123456789")
	id, err := s.ID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set := func(u memento.StoreUpdate) {
		t.Helper()
		if _, err := b.UpdateStore(t.Context(), workspace, id, u); err != nil {
			t.Fatal(err)
		}
	}
	sensitive := func(mode memento.SensitiveMode, allow ...string) {
		settings := memento.DefaultSettings()
		settings.Sensitive = memento.Sensitive{Mode: mode, Allow: allow}
		set(memento.StoreUpdate{Settings: &settings})
	}
	put := func(p memento.Path, text string) (memento.Receipt, error) {
		return s.Apply(t.Context(), nobody, memento.Put{Path: p, Content: text})
	}
	limited := func(want memento.LimitError, err error) {
		t.Helper()
		if got, ok := errors.AsType[*memento.LimitError](err); !ok || *got != want {
			t.Errorf("%v, want %v", err, &want)
		}
	}

	_, err = put("/b", "0123456789a")
	limited(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 10, Want: 11}, err)
	set(memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 20}})
	if _, err = put("/b", "0123456789a"); err != nil {
		t.Errorf("after the limit was raised: %v", err)
	}
	set(memento.StoreUpdate{Limits: &memento.Limits{MemoryBytes: 5}})
	_, err = put("/c", "0123456")
	limited(memento.LimitError{Limit: memento.LimitMemoryBytes, Max: 5, Want: 7}, err)
	if _, err = put("/a", "9876543210"); err != nil {
		t.Errorf("no larger than it was: %v", err)
	}
	set(memento.StoreUpdate{Limits: &memento.Limits{}})

	key := testKey
	sensitive(memento.Reject)
	if _, err = put("/k", key); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("rejecting: %v", err)
	}
	sensitive(memento.Reject, key)
	if _, err = put("/k", key); err != nil {
		t.Errorf("allowed by now: %v", err)
	}
	if _, err = put(memento.Path("/"+key), "x"); err != nil {
		t.Errorf("a path allowed by now: %v", err)
	}
	sensitive(memento.Mask)
	r, err := put("/k", "a "+key)
	if err != nil || len(r.Masked) != 1 || memories.Contents(t, s)["/k"] != "a "+testKeyMark {
		t.Errorf("masking: %+v, %v", r.Masked, err)
	}
	sensitive(memento.Off)
	if _, err = memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, nil).Apply(t.Context(), nobody, memento.Put{Path: "/k", Content: key}); err != nil {
		t.Errorf("looking for nothing: %v", err)
	}
}

// TestTooLargeIsJudgedByTheBackend: of several things that are wrong, the first is
// told, as with contents of any size, and nothing happens.
func TestTooLargeIsJudgedByTheBackend(t *testing.T) {
	large := strings.Repeat("x", 41)
	put := func(p memento.Path, c memento.Condition) memento.Put {
		return memento.Put{Path: p, Content: large, If: c}
	}
	for i, tt := range []struct {
		want    error
		at      memento.Path
		changes []memento.Change
	}{
		{memento.ErrTooLarge, "/c", []memento.Change{put("/c", memento.Condition{})}},
		{memento.ErrTooLarge, "/a", []memento.Change{put("/a", memento.IfSHA256(memento.HashContent("one")))}},
		{memento.ErrConflict, "/a", []memento.Change{put("/a", memento.IfSHA256(memento.HashContent("two")))}},
		{memento.ErrExist, "/a", []memento.Change{put("/a", memento.IfAbsent())}},
		{memento.ErrIsDir, "/dir", []memento.Change{put("/dir", memento.Condition{})}},
		{memento.ErrNotDir, "/a", []memento.Change{put("/a/b", memento.Condition{})}},
		{memento.ErrInvalidPath, "/a//b", []memento.Change{put("/a//b", memento.Condition{})}},
		{memento.ErrNotExist, "/none", []memento.Change{memento.Remove{Path: "/none"}, put("/c", memento.Condition{})}},
		{memento.ErrTooLarge, "/c", []memento.Change{memento.Remove{Path: "/a"}, put("/c", memento.Condition{}), memento.Remove{Path: "/none"}}},
		{memento.ErrTooLarge, "/c", []memento.Change{memento.Move{From: "/a", To: "/c", Content: &large}}},
		{memento.ErrNotExist, "/none", []memento.Change{memento.Move{From: "/none", To: "/c", Content: &large}}},
		{memento.ErrIsDir, "/dir", []memento.Change{memento.Move{From: "/dir", To: "/c", Content: &large}}},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := memento.OpenNamed(memstore.New(nil), workspace, memento.StoreSpec{Name: "notes", Limits: memento.Limits{MemoryBytes: 40}}, memories.Guarded())
			memories.Put(t, s, "/a", "one")
			memories.Put(t, s, "/dir/b", "two")
			_, err := s.Apply(t.Context(), nobody, tt.changes...)
			isAbout(t, err, tt.want, tt.at)
			if held := memories.Contents(t, s); len(held) != 2 || held["/a"] != "one" {
				t.Errorf("it left %v", held)
			}
		})
	}
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pairs returns n metadata pairs.
func pairs(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = "v"
	}
	return m
}

func TestNewInfo(t *testing.T) {
	tests := []struct {
		name string
		spec memento.StoreSpec
		ok   bool
	}{
		{"a name", memento.StoreSpec{Name: "n"}, true},
		{"the longest name", memento.StoreSpec{Name: strings.Repeat("é", 255)}, true},
		{"no name", memento.StoreSpec{}, false},
		{"too long a name", memento.StoreSpec{Name: strings.Repeat("n", 256)}, false},
		{"a name with a newline", memento.StoreSpec{Name: "a\nb"}, false},
		{"a name that is no text", memento.StoreSpec{Name: "\xff"}, false},
		{"the longest description", memento.StoreSpec{Name: "n", Description: strings.Repeat("é", 1024)}, true},
		{"too long a description", memento.StoreSpec{Name: "n", Description: strings.Repeat("d", 1025)}, false},
		{"most metadata", memento.StoreSpec{Name: "n", Metadata: pairs(16)}, true},
		{"too much metadata", memento.StoreSpec{Name: "n", Metadata: pairs(17)}, false},
		{"the longest metadata", memento.StoreSpec{Name: "n", Metadata: map[string]string{strings.Repeat("k", 64): strings.Repeat("v", 512)}}, true},
		{"an empty key", memento.StoreSpec{Name: "n", Metadata: map[string]string{"": "v"}}, false},
		{"too long a key", memento.StoreSpec{Name: "n", Metadata: map[string]string{strings.Repeat("k", 65): "v"}}, false},
		{"too long a value", memento.StoreSpec{Name: "n", Metadata: map[string]string{"k": strings.Repeat("v", 513)}}, false},
		{"a negative limit", memento.StoreSpec{Name: "n", Limits: memento.Limits{Bytes: -1}}, false},
		{"the highest path limit", memento.StoreSpec{Name: "n", Limits: memento.Limits{PathBytes: 1024}}, true},
		{"too high a path limit", memento.StoreSpec{Name: "n", Limits: memento.Limits{PathBytes: 1025}}, false},
	}
	for _, tt := range tests {
		info, err := tt.spec.NewInfo("ws", noon)
		if !tt.ok {
			if !errors.Is(err, memento.ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", tt.name, err)
			}
			continue
		}
		want := memento.StoreInfo{
			ID: info.ID, Workspace: "ws", Name: tt.spec.Name, Description: tt.spec.Description, Metadata: tt.spec.Metadata,
			Limits: tt.spec.Limits.WithDefaults(), Settings: memento.DefaultSettings(), CreatedAt: noon, UpdatedAt: noon,
		}
		if want.Metadata == nil {
			want.Metadata = map[string]string{}
		}
		if diff := cmp.Diff(want, info); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestLimitsWithDefaults(t *testing.T) {
	got := memento.Limits{Memories: 7}.WithDefaults()
	want := memento.Limits{MemoryBytes: 102_400, Memories: 7, Bytes: 104_857_600, PathBytes: 1024, PathDepth: 512}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (memento.Limits{}).WithDefaults(); got != memento.DefaultLimits() {
		t.Errorf("the defaults are %+v, and %+v", got, memento.DefaultLimits())
	}
}

func TestStoreInfoUpdated(t *testing.T) {
	info, err := memento.StoreSpec{Name: "n", Description: "d", Metadata: map[string]string{"a": "1", "b": "2"}}.NewInfo("ws", noon)
	if err != nil {
		t.Fatal(err)
	}
	later := noon.Add(time.Hour)
	tests := []struct {
		name   string
		update memento.StoreUpdate
		want   func(s *memento.StoreInfo) // what changes; nil for nothing
	}{
		{"nothing", memento.StoreUpdate{}, nil},
		{"to what it is", memento.StoreUpdate{Name: new("n"), Description: new("d"), Metadata: map[string]*string{"a": new("1"), "none": nil}, Limits: &memento.Limits{}}, nil},
		{"the name", memento.StoreUpdate{Name: new("m")}, func(s *memento.StoreInfo) { s.Name = "m" }},
		{"no description", memento.StoreUpdate{Description: new("")}, func(s *memento.StoreInfo) { s.Description = "" }},
		{"metadata, as a patch", memento.StoreUpdate{Metadata: map[string]*string{"a": nil, "c": new("3")}}, func(s *memento.StoreInfo) {
			s.Metadata = map[string]string{"b": "2", "c": "3"}
		}},
		{"limits, all of them", memento.StoreUpdate{Limits: &memento.Limits{Memories: 7}}, func(s *memento.StoreInfo) { s.Limits.Memories = 7 }},
		{"archived", memento.StoreUpdate{Archive: true}, func(s *memento.StoreInfo) { s.ArchivedAt = later }},
	}
	for _, tt := range tests {
		want := info
		if tt.want != nil {
			want.UpdatedAt = later
			tt.want(&want)
		}
		got, err := info.Updated(tt.update, later)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, info.Metadata); diff != "" {
		t.Error("an update changed the description it came from:\n" + diff)
	}

	for _, update := range []memento.StoreUpdate{{Name: new("")}, {Description: new(strings.Repeat("d", 1025))}, {Metadata: map[string]*string{"": new("v")}}, {Limits: &memento.Limits{Bytes: -1}}} {
		if _, err := info.Updated(update, later); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", update, err)
		}
	}

	archived, err := info.Updated(memento.StoreUpdate{Archive: true}, later)
	if err != nil {
		t.Fatal(err)
	}
	again, err := archived.Updated(memento.StoreUpdate{Archive: true}, later.Add(time.Hour))
	if diff := cmp.Diff(archived, again); err != nil || diff != "" {
		t.Errorf("archiving twice: %v\n%s", err, diff)
	}
	if _, err := archived.Updated(memento.StoreUpdate{Name: new("m")}, later); !errors.Is(err, memento.ErrArchived) {
		t.Errorf("renaming an archived store: %v", err)
	}
}

// A store that keeps no history has none as soon as a write returns.
func TestNoHistory(t *testing.T) {
	s, _ := screened(t, func(s *memento.Settings) { s.Retention = memento.Retention{} })
	count := func() (n int) {
		for _, err := range s.Versions(t.Context(), memento.VersionListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	memories.Put(t, s, "/a", "1")
	memories.Put(t, s, "/a", "2")
	if n := count(); n != 1 {
		t.Errorf("%d versions after an overwrite, want 1", n)
	}
	var changes []memento.Change
	for _, p := range []memento.Path{"/d/1", "/d/2", "/d/3"} {
		changes = append(changes, memento.Put{Path: p, Content: string(p)})
	}
	if _, err := s.Apply(t.Context(), memento.Actor{}, changes...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Move{From: "/d", To: "/e"}, memento.Remove{Path: "/a"}); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 3 {
		t.Errorf("%d versions, want those of the 3 living memories", n)
	}
}

func TestCollectHistory(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := memstore.New(&memstore.Options{Now: func() time.Time { return now }})
	settings := memento.DefaultSettings()
	settings.Retention = memento.Retention{Age: 48 * time.Hour, Versions: 2}
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes", Settings: &settings}, memories.Guarded())
	for _, text := range []string{"1", "2", "3", "4"} {
		memories.Put(t, s, "/a", text)
		now = now.Add(24 * time.Hour)
	}
	// The first ceased to be the present three days ago, the second two, and
	// the last two are kept by number.
	dry, err := maintenance.PruneHistory(t.Context(), s, now, true)
	if err != nil || dry.Versions != 1 {
		t.Errorf("dry run: %+v, %v", dry, err)
	}
	sum, err := maintenance.PruneHistory(t.Context(), s, now, false)
	if err != nil || sum != dry {
		t.Errorf("%+v, %v, want %+v", sum, err, dry)
	}
	sum, err = maintenance.PruneHistory(t.Context(), s, now.Add(1000*time.Hour), false)
	if err != nil || sum.Versions != 1 {
		t.Errorf("much later: %+v, %v", sum, err)
	}
	if got := memories.Contents(t, s); got["/a"] != "4" {
		t.Errorf("memories %q", got)
	}
	settings.Retention.Age = memento.Forever
	forever := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "forever", Settings: &settings}, memories.Guarded())
	for _, text := range []string{"1", "2", "3"} {
		memories.Put(t, forever, "/a", text)
	}
	if sum, err := maintenance.PruneHistory(t.Context(), forever, now.Add(1e6*time.Hour), false); err != nil || sum.Versions != 0 {
		t.Errorf("for ever: %+v, %v", sum, err)
	}
	missing := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "missing"}, nil)
	if sum, err := maintenance.PruneHistory(t.Context(), missing, now, false); err != nil || sum != (memento.Pruned{}) {
		t.Errorf("of a store that does not exist: %+v, %v", sum, err)
	}
}

// An import into a store without history leaves none, and one that was damaged
// is not repaired by masking it.
func TestImportIntoNoHistory(t *testing.T) {
	s, _ := screened(t, func(s *memento.Settings) { s.Retention = memento.Retention{} })
	version := func(n string, text string) memento.Version {
		return memento.Version{ID: memento.VersionID("memver_" + n), Memory: "mem_1", Operation: memento.Modified, Path: "/a", Content: text, SHA256: memento.HashContent(text)}
	}
	if _, err := s.Import(t.Context(), []memento.Version{version("1", "one"), version("2", "two")}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for range s.Versions(t.Context(), memento.VersionListOptions{}) {
		n++
	}
	if n != 1 {
		t.Errorf("%d versions, want the newest only", n)
	}
	damaged := version("3", testKey)
	damaged.SHA256 = memento.HashContent("other")
	if _, err := s.Import(t.Context(), []memento.Version{damaged}); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("damaged: %v, want ErrInvalid", err)
	}
}

// Stricter settings hold for the very next write, whoever has made them.
func TestSettingsHoldAtOnce(t *testing.T) {
	s, b := screened(t, mode(memento.Off))
	memories.Put(t, s, "/a", testKey)
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set := func(m memento.SensitiveMode) {
		t.Helper()
		info.Settings.Sensitive.Mode = m
		if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
			t.Fatal(err)
		}
	}
	set(memento.Mask)
	memories.Put(t, s, "/b", testKey)
	set(memento.Off)
	memories.Put(t, s, "/c", testKey)
	set(memento.Reject)
	if _, err := s.Edit(t.Context(), memento.Actor{}, "/b", func(string) (string, error) { return testKey, nil }); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("an edit: %v, want ErrSensitive", err)
	}
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Move{From: "/a", To: testKeyPath}); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("a move: %v, want ErrSensitive", err)
	}
	v := memento.Version{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/d", Content: testKey, SHA256: memento.HashContent(testKey)}
	if _, err := s.Import(t.Context(), []memento.Version{v}); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("an import: %v, want ErrSensitive", err)
	}
	want := map[memento.Path]string{"/a": testKey, "/b": testKeyMark, "/c": testKey}
	if diff := cmp.Diff(want, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
}

// What a caller does with the settings it was given changes no store.
func TestSettingsAreTheCallersOwn(t *testing.T) {
	s, b := screened(t, func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/rules"} })
	r, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: "x"})
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Settings.ReadOnly[0], info.Settings.ReadOnly[0] = "/other", "/other"
	for listed := range b.ListStores(t.Context(), workspace, memento.StoreListOptions{}) {
		listed.Settings.ReadOnly[0] = "/other"
	}
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/rules", Content: "x"}); !errors.Is(err, memento.ErrProtected) {
		t.Errorf("%v, want ErrProtected", err)
	}
}
