package memento_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

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
