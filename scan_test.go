package memento_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/sensitive"
	"memento/test/memories"
)

// exposures scans, and returns how often a version of each path, "" for a path
// that looks sensitive, holds something.
func exposures(t *testing.T, s *memento.Store, personal bool) (all []memento.Exposure) {
	t.Helper()
	for x, err := range s.Scan(t.Context(), &memento.ScanOptions{Personal: personal}) {
		if err != nil {
			t.Fatal(err)
		}
		if x.Version.Content != "" {
			t.Errorf("an exposure has contents: %+v", x)
		}
		all = append(all, x)
	}
	return all
}

// leaky has a secret in the present, in the history, in a deleted memory and in
// a path.
func leaky(t *testing.T) *memento.Store {
	t.Helper()
	s, _ := screened(t, mode(memento.Off))
	memories.Put(t, s, "/clean", "nothing")
	memories.Put(t, s, "/now", "a\n"+testKey)
	memories.Put(t, s, "/past", testKey)
	memories.Put(t, s, "/past", "cleaned")
	memories.Put(t, s, "/gone", testKey+" person-1")
	for _, c := range []memento.Change{memento.Remove{Path: "/gone"}, memento.Put{Path: testKeyPath, Content: "x"}} {
		if _, err := s.Apply(t.Context(), memento.Actor{}, c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestScan(t *testing.T) {
	s := leaky(t)
	type found struct {
		Path    memento.Path
		Current bool
		Found   []memento.FindingLocation
	}
	var got []found
	for _, x := range exposures(t, s, false) {
		got = append(got, found{x.Version.Path, x.Current, x.Found})
	}
	want := []found{
		{testKeyPath, true, []memento.FindingLocation{{Kind: "test-key"}}},
		{"/gone", false, []memento.FindingLocation{{Path: "/gone", Kind: "test-key", Line: 1}}},
		{"/past", false, []memento.FindingLocation{{Path: "/past", Kind: "test-key", Line: 1}}},
		{"/now", true, []memento.FindingLocation{{Path: "/now", Kind: "test-key", Line: 2}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exposures (-want +got):\n%s", diff)
	}
	if all := exposures(t, s, true); len(all) != 4 || len(all[1].Found) != 2 {
		t.Errorf("with personal data: %+v", all)
	}
}

func TestFix(t *testing.T) {
	s := leaky(t)
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}
	for _, x := range exposures(t, s, true) {
		err := s.Fix(t.Context(), by, x, true)
		if x.InPath() {
			if !errors.Is(err, memento.ErrHead) {
				t.Errorf("a path: %v, want ErrHead", err)
			}
			if _, err := s.Apply(t.Context(), by, memento.Move{From: x.Version.Path, To: "/renamed"}); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", x.Version.Path, err)
		}
	}
	// What the move left in the history.
	for _, x := range exposures(t, s, true) {
		if x.Current {
			t.Errorf("still there: %+v", x)
		}
		if err := s.Fix(t.Context(), by, x, true); err != nil {
			t.Error(err)
		}
	}
	nowhere(t, s, testKey)
	nowhere(t, s, "person-1")
	want := map[memento.Path]string{"/clean": "nothing", "/now": "a\n" + testKeyMark, "/past": "cleaned", "/renamed": "x"}
	if diff := cmp.Diff(want, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
}

func TestInspect(t *testing.T) {
	v := memento.Version{Path: testKeyPath, Content: "a\n" + testKey}
	s, _ := screened(t, nil)
	found, err := s.Inspect(t.Context(), v)
	want := []memento.FindingLocation{{Kind: "test-key"}, {Path: testKeyPath, Kind: "test-key", Line: 2}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	off, _ := screened(t, mode(memento.Off))
	if found, err := off.Inspect(t.Context(), v); err != nil || found != nil {
		t.Errorf("in the mode off: %v, %v", found, err)
	}
}

func TestFixRefuses(t *testing.T) {
	s := leaky(t)
	all := exposures(t, s, false)
	x := all[len(all)-1]
	memories.Put(t, s, x.Version.Path, "changed since")
	if err := s.Fix(t.Context(), memento.Actor{}, x, false); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	blind := memento.OpenNamed(nil, workspace, memento.StoreSpec{}, nil)
	for _, err := range blind.Scan(t.Context(), nil) {
		if err == nil {
			t.Error("a store without a name or detector was scanned")
		}
	}
}

// A token that comes into a memory in parts, by several calls of the tool, is masked with
// the last of them.
func TestTokenOfSeveralEdits(t *testing.T) {
	const first, second = "glpat-Zk3Nq8Wv1L", "x6Tb9Rm4YpQ2"
	edits := []struct{ name, command string }{
		{"str_replace", `{"command":"str_replace","path":"/memories/a.md","old_str":"FIRST","new_str":"FIRSTSECOND"}`},
		{"insert of the next line", `{"command":"insert","path":"/memories/a.md","insert_line":1,"insert_text":"SECOND\n"}`},
		{"removal of what is between", `{"command":"str_replace","path":"/memories/a.md","old_str":" and then ","new_str":""}`},
	}
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			s := memento.OpenNamed(memstore.New(nil), workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
			tool := memento.NewTool(s, nil)
			text := "this one: " + first
			if strings.Contains(e.name, "removal") {
				text += " and then " + second
			}
			run := func(input string) string {
				r := tool.Run(t.Context(), []byte(input))
				if r.IsError {
					t.Fatal(r.Content)
				}
				return r.Content
			}
			run(fmt.Sprintf(`{"command":"create","path":"/memories/a.md","file_text":"%s\nmore\n"}`, text))
			if got := memories.Contents(t, s)["/a.md"]; !strings.Contains(got, first) {
				t.Fatalf("after the first call: %q", got)
			}
			answer := run(strings.NewReplacer("FIRST", first, "SECOND", second).Replace(e.command))
			got := memories.Contents(t, s)["/a.md"]
			if strings.Contains(got, first) || strings.Contains(got, second) || !strings.Contains(got, "[REDACTED:gitlab-pat]") {
				t.Errorf("after the second call: %q", got)
			}
			if !strings.Contains(answer, "gitlab-pat") {
				t.Errorf("the answer does not say what was masked: %q", answer)
			}
		})
	}
}

// secretStore returns a store with the detector of package sensitive.
func secretStore(t *testing.T) *memento.Store {
	b := memstore.New(nil)
	t.Cleanup(func() { b.Close() })
	return memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, &memento.StoreOptions{Detector: sensitive.Default()})
}

// A secret that is split over lines and has no prefix is stored, but a scan tells it, and
// removes it.
func TestScanFindsSplitSecrets(t *testing.T) {
	s := secretStore(t)
	const first, second = "5210786433:AAHk3Zq8Wv1Lx6Tb9Rm4", "YpQ2dN7sVc0jGfE"
	memories.Put(t, s, "/bot.md", "# Bot\n\nIt posts as\n"+first+"\n"+second+"\nin the group.\n")
	if got := memories.Contents(t, s)["/bot.md"]; !strings.Contains(got, first) {
		t.Fatalf("stored as %q: nothing is left to be told", got)
	}
	all := exposures(t, s, false)
	want := []memento.FindingLocation{{Path: "/bot.md", Kind: "telegram-bot-api-token", Line: 4}}
	if len(all) != 1 || !all[0].Current || cmp.Diff(want, all[0].Found) != "" {
		t.Fatalf("exposures: %+v, want %+v", all, want)
	}
	if err := s.Fix(t.Context(), memento.Actor{}, all[0], false); err != nil {
		t.Fatal(err)
	}
	nowhere(t, s, first)
	nowhere(t, s, second)
	if got, want := memories.Contents(t, s)["/bot.md"], "# Bot\n\nIt posts as\n[REDACTED:telegram-bot-api-token]\nin the group.\n"; got != want {
		t.Errorf("fixed: %q, want %q", got, want)
	}
	if all := exposures(t, s, false); len(all) > 0 {
		t.Errorf("after the fix: %+v", all)
	}
}

// Of a secret whose parts are in two versions of a memory, a scan tells the first part, which
// is in the history, and removes it.
func TestScanFindsSecretsOfTwoEdits(t *testing.T) {
	const first, second = "glpat-Zk3Nq8Wv1L", "x6Tb9Rm4YpQ2"
	for _, e := range []struct{ name, before, after, kind string }{
		{"one part, then the other", "# GitLab\nthis: " + first + " (CI)\n", "# GitLab\nthis: " + second + " (CI)\n", "gitlab-pat"},
		{"completed", "# GitLab\nthis: " + first + "\n", "# GitLab\nthis: " + first + second + "\n", "gitlab-pat"},
		{"completed on the next line", "# GitLab\nthis: " + first + "\n", "# GitLab\nthis: " + first + "\n" + second + "\n", "gitlab-pat"},
		{"without a prefix", "- bot\n- 5210786433:AAHk3Zq8Wv1Lx6Tb9Rm4\n", "- bot\n- YpQ2dN7sVc0jGfE\n", "telegram-bot-api-token"},
		{"with other changes", "- a\n- this is " + first + "\n- b\n", "- a\n- new\n- this is " + second + "\n- b is c\n", ""}, // in another place
		{"other tokens", "commit 3f786850e387550fdab836ed7e6dc881de23001b\n", "commit 89e6c98d92887913cadf06b2adb97f26cde4849b\n", ""},
		{"no token", "the prefix is glpat-\n", "the prefix is glpat-, of GitLab since version_14\n", ""},
		{"a name, then a mask", "the token is in vault_1\n", "the token is " + first + second + "\n", ""},
	} {
		t.Run(e.name, func(t *testing.T) {
			s := secretStore(t)
			memories.Put(t, s, "/a.md", e.before)
			memories.Put(t, s, "/a.md", e.after)
			all := exposures(t, s, false)
			if e.kind == "" {
				if len(all) > 0 {
					t.Errorf("exposures: %+v", all)
				}
				return
			}
			want := []memento.FindingLocation{{Path: "/a.md", Kind: e.kind, Line: 2}}
			if len(all) != 1 || all[0].Current || cmp.Diff(want, all[0].Found) != "" {
				t.Fatalf("exposures: %+v, want %+v", all, want)
			}
			if err := s.Fix(t.Context(), memento.Actor{}, all[0], false); err != nil {
				t.Fatal(err)
			}
			if all := exposures(t, s, false); len(all) > 0 {
				t.Errorf("after the fix: %+v", all)
			}
			for v, err := range s.Versions(t.Context(), memento.VersionListOptions{Contents: true}) {
				if err != nil || !v.Redacted() && strings.Contains(v.Content, strings.TrimSpace(e.before)) {
					t.Errorf("still there: %+v, %v", v, err)
				}
			}
		})
	}
}

func orders(m memento.InstructionMode) func(*memento.Settings) {
	return func(s *memento.Settings) { s.Sensitive.Instructions = m }
}

// Instructions are told whatever way they come, and never changed.
func TestInstructionsAreMarked(t *testing.T) {
	s, _ := screened(t, func(settings *memento.Settings) {
		settings.Sensitive.Mode, settings.Sensitive.Instructions = memento.Off, memento.MarkInstructions
		settings.Sensitive.AllowPaths = []memento.Pattern{"/prompts"}
	})
	r, err := s.Apply(t.Context(), memento.Actor{},
		memento.Put{Path: "/a", Content: "one\norder-1 " + testKey},
		memento.Put{Path: "/prompts/x", Content: "order-2"},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []memento.FindingLocation{{Path: "/a", Kind: "instruction-test", Line: 2}}
	if diff := cmp.Diff(want, r.Marked); diff != "" || len(r.Masked) != 0 {
		t.Errorf("masked %v, marked (-want +got):\n%s", r.Masked, diff)
	}
	found, err := s.Import(t.Context(), []memento.Version{{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/b", Content: "order-3", SHA256: memento.HashContent("order-3"), Size: 7}})
	if err != nil || len(found) != 1 || !found[0].IsInstruction() {
		t.Errorf("an import: %v, %v", found, err)
	}
	held := map[memento.Path]string{"/a": "one\norder-1 " + testKey, "/prompts/x": "order-2", "/b": "order-3"}
	if diff := cmp.Diff(held, memories.Contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{Contents: true}) {
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.Instructions(t.Context(), v)
		if err != nil || (len(found) > 0) != (v.Path != "/prompts/x") {
			t.Errorf("%s: %v, %v", v.Path, found, err)
		}
	}
}

// Each way into a store refuses instructions, if its settings say so.
func TestInstructionsAreRejected(t *testing.T) {
	s, b := screened(t, func(settings *memento.Settings) {
		orders(memento.RejectInstructions)(settings)
		settings.Sensitive.AllowPaths = []memento.Pattern{"/prompts"}
	})
	memories.Put(t, s, "/prompts/x", "order-1")
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*memento.SensitiveError](err); !ok || !e.Instructions() || !errors.Is(err, memento.ErrSensitive) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, change := range map[string]memento.Change{
		"a write":                    memento.Put{Path: "/a", Content: "order-1"},
		"a path":                     memento.Put{Path: "/order-1", Content: "x"},
		"a move from an allowed one": memento.Move{From: "/prompts/x", To: "/x"},
		"a move to a path":           memento.Move{From: "/prompts/x", To: "/prompts2/order-1"},
	} {
		_, err := s.Apply(t.Context(), memento.Actor{}, change)
		refused(what, err)
	}
	_, err := s.Import(t.Context(), []memento.Version{{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/b", Content: "order-3", SHA256: memento.HashContent("order-3"), Size: 7}})
	refused("an import", err)
	if held := memories.Contents(t, s); len(held) != 1 {
		t.Errorf("it holds %v", held)
	}
	// A handle that knows other settings asks again: they hold at once.
	late := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, late, "/first", "x")
	info, err := late.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info.Settings.Sensitive.Instructions = memento.IgnoreInstructions
	if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/allowed", "order-1")
	info.Settings.Sensitive.Instructions = memento.RejectInstructions
	if _, err := b.UpdateStore(t.Context(), workspace, info.ID, memento.StoreUpdate{Settings: &info.Settings}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/again", Content: "order-1"})
	refused("a write after the settings were changed", err)
}

// A detector without instructions cannot serve settings that ask for them.
func TestNoInstructionDetector(t *testing.T) {
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode, settings.Sensitive.Instructions = memento.Off, memento.MarkInstructions
	for _, d := range []memento.Detector{nil, struct{ memento.Detector }{memories.Planted{}}} {
		s := memento.OpenNamed(memstore.New(nil), workspace, memento.StoreSpec{Name: "notes", Settings: &settings}, &memento.StoreOptions{Detector: d})
		if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a", Content: "x"}); !errors.Is(err, memento.ErrNoDetector) {
			t.Errorf("%T: %v", d, err)
		}
	}
}

// A scan tells instructions if it or the settings ask for them. Fix leaves them.
func TestScanInstructions(t *testing.T) {
	s, _ := screened(t, mode(memento.Off))
	memories.Put(t, s, "/order-1/a", "order-2 "+testKey)
	memories.Put(t, s, "/b", "order-3")
	if all := exposures(t, s, false); len(all) != 1 || len(all[0].Found) != 1 {
		t.Errorf("unasked: %+v", all)
	}
	kept := 0
	for x, err := range s.Scan(t.Context(), &memento.ScanOptions{Instructions: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if kept++; x.InPath() {
			t.Errorf("%+v has a secret in its path", x)
		}
		err := s.Fix(t.Context(), memento.Actor{}, x, false)
		if x.HasSecrets() != (err == nil) || err != nil && !errors.Is(err, memento.ErrSensitive) {
			t.Errorf("fix of %+v: %v", x, err)
		}
	}
	held := map[memento.Path]string{"/order-1/a": "order-2 " + testKeyMark, "/b": "order-3"}
	if diff := cmp.Diff(held, memories.Contents(t, s)); diff != "" || kept != 2 {
		t.Errorf("%d exposures, memories (-want +got):\n%s", kept, diff)
	}
}
