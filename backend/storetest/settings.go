package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func settings(t *testing.T, h Harness) {
	h.run(t, "kept", keptSettings)
	h.run(t, "invalid", invalidSettings)
	h.run(t, "returned by writes", returnedSettings)
	if h.Remote {
		h.run(t, "masked by the server", maskedByServer)
	} else {
		h.run(t, "masked by settings", maskedBySettings)
	}
	h.run(t, "read-only memories", readOnlyMemories)
	h.run(t, "read-only store", readOnlyStore)
	h.run(t, "look-alikes of read-only memories", lookalikes)
}

// unusual returns settings that differ from the defaults in every field.
func unusual() memento.Settings {
	return memento.Settings{
		Sensitive: memento.Sensitive{
			Mode: memento.Reject, Personal: true, Instructions: memento.MarkInstructions,
			Allow: []string{"an example\nkey"}, AllowPatterns: []string{`test_\w+`}, AllowPaths: []memento.Pattern{"/docs/**"},
		},
		Expiry:    memento.Expiry{After: 90 * 24 * time.Hour, Keep: []memento.Pattern{"/profile.md", "*.key"}},
		Retention: memento.Retention{Age: memento.Forever, Versions: 3},
		ReadOnly:  []memento.Pattern{"/rules", "/名/*"},
	}
}

func keptSettings(e *env) {
	want := unusual()
	e.store = e.newStore(memento.StoreSpec{Name: "unusual", Settings: &want})
	e.reopen()
	if diff := cmp.Diff(want, e.info().Settings); diff != "" {
		e.Errorf("created with settings (-want +got):\n%s", diff)
	}
	before := e.info()
	next := memento.Settings{Sensitive: memento.Sensitive{Mode: memento.Off}} // without history
	info, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Settings: &next})
	if err != nil || !cmp.Equal(info.Settings, next) || !info.UpdatedAt.After(before.UpdatedAt) {
		e.Errorf("updated to %+v, %v", info, err)
	}
	e.reopen()
	if diff := cmp.Diff(info, e.info()); diff != "" {
		e.Errorf("GetStore (-want +got):\n%s", diff)
	}
	// An update that changes nothing, and one that is about something else.
	same, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Settings: &next})
	if diff := cmp.Diff(info, same); diff != "" || err != nil {
		e.Errorf("the same settings again: %v (-want +got):\n%s", err, diff)
	}
	e.setLimits(memento.Limits{Memories: 5})
	if got := e.info().Settings; !cmp.Equal(got, next) {
		e.Errorf("new limits changed the settings to %+v", got)
	}
}

func invalidSettings(e *env) {
	before := e.info()
	for name, spoil := range map[string]func(*memento.Settings){
		"mode":        func(s *memento.Settings) { s.Sensitive.Mode = "hide" },
		"no mode":     func(s *memento.Settings) { s.Sensitive.Mode = "" },
		"orders":      func(s *memento.Settings) { s.Sensitive.Instructions = "mask" },
		"pattern":     func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/a["} },
		"expression":  func(s *memento.Settings) { s.Sensitive.AllowPatterns = []string{"("} },
		"soon":        func(s *memento.Settings) { s.Expiry.After = time.Minute },
		"negative":    func(s *memento.Settings) { s.Retention.Versions = -1 },
		"empty allow": func(s *memento.Settings) { s.Sensitive.Allow = []string{""} },
	} {
		bad := before.Settings
		spoil(&bad)
		_, err := e.b.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Settings: &bad})
		wantError(e, name, err, memento.ErrInvalid)
		_, err = e.b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: name, Settings: &bad})
		wantError(e, "CreateStore: "+name, err, memento.ErrInvalid)
	}
	if diff := cmp.Diff(before, e.info()); diff != "" {
		e.Errorf("a refused update left a trace:\n%s", diff)
	}
}

// returnedSettings checks the store settings that Apply returns, which its callers rely on.
func returnedSettings(e *env) {
	other := e.another()
	e.put("/a", "12345")
	s := e.info().Settings
	s.Sensitive.Mode, s.Expiry.After = memento.Reject, time.Hour
	if _, err := other.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Settings: &s, Limits: &memento.Limits{Memories: 9}}); err != nil {
		e.Fatal(err)
	}
	done, err := e.b.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/b", Content: "12"}, memento.Remove{Path: "/a"}})
	if err != nil {
		e.Fatal(err)
	}
	want := memento.Applied{
		Versions: done.Versions, Usage: memento.Usage{Memories: 1, Bytes: 2},
		Limits: memento.Limits{Memories: 9}.WithDefaults(), Settings: s,
	}
	if diff := cmp.Diff(want, done); diff != "" || len(done.Versions) != 2 {
		e.Errorf("%d versions (-want +got):\n%s", len(done.Versions), diff)
	}
	// An Apply that changes nothing returns them as well.
	done, err = e.b.Apply(e.Context(), e.store, e.by, []memento.Change{memento.Put{Path: "/b", Content: "12"}})
	want.Versions = nil
	if diff := cmp.Diff(want, done); diff != "" || err != nil {
		e.Errorf("a no-op: %v (-want +got):\n%s", err, diff)
	}
}

// maskedBySettings checks that changes are refused which were masked by other settings
// than the store has.
func maskedBySettings(e *env) {
	other := e.another()
	e.put("/a", "1")
	before := e.info()
	old := before.SettingsRevision()
	e.apply(memento.Put{Path: "/a", Content: "2", MaskedBy: old}, memento.Move{From: "/a", To: "/b", MaskedBy: old})

	s := before.Settings
	s.Sensitive.Mode, s.Sensitive.Allow = memento.Mask, []string{"x"}
	if _, err := other.UpdateStore(e.Context(), workspace, e.store, memento.StoreUpdate{Settings: &s}); err != nil {
		e.Fatal(err)
	}
	text := "3"
	for at, c := range map[memento.Path]memento.Change{
		"/c": memento.Put{Path: "/c", Content: "3", MaskedBy: old},
		"/b": memento.Move{From: "/b", To: "/d", Content: &text, MaskedBy: old},
	} {
		e.refused(memento.ErrSettingsChanged, at, c)
		e.refused(memento.ErrSettingsChanged, at, memento.Put{Path: "/first"}, c)
		e.refused(memento.ErrConflict, at, c)
	}
	e.refused(memento.ErrSettingsChanged, "/b", memento.Put{Path: "/b", Content: "2", MaskedBy: old}) // not even a no-op
	e.holds(map[memento.Path]string{"/b": "2"})

	info := e.info()
	now := info.SettingsRevision()
	if now == old {
		e.Fatal("other settings have the same revision")
	}
	e.apply(memento.Put{Path: "/c", Content: "3", MaskedBy: now}, memento.Put{Path: "/e", Content: "4"})
	e.holds(map[memento.Path]string{"/b": "2", "/c": "3", "/e": "4"})
}

// maskedByServer checks that a client leaves masking to its server: a change that was
// masked by other settings than the store has is carried out.
func maskedByServer(e *env) {
	before := e.info()
	old := before.SettingsRevision()
	e.setSettings(func(s *memento.Settings) { s.Sensitive.Mode, s.Sensitive.Allow = memento.Mask, []string{"x"} })
	if after := e.info(); after.SettingsRevision() == old {
		e.Fatal("other settings have the same revision")
	}
	e.apply(memento.Put{Path: "/a", Content: "1", MaskedBy: old}, memento.Move{From: "/a", To: "/b", MaskedBy: old})
	e.holds(map[memento.Path]string{"/b": "1"})
}

func readOnlyMemories(e *env) {
	e.fill("/rules/a", "/rules/deep/b", "/free/c", "/free/x.key", "/d")
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/rules", "*.key", "/none/yet"} })
	for _, tt := range []struct {
		at     memento.Path
		change memento.Change
	}{
		{"/rules/a", memento.Put{Path: "/rules/a", Content: "other"}},
		{"/rules/new", memento.Put{Path: "/rules/new", If: memento.IfAbsent()}},
		{"/none/yet", memento.Put{Path: "/none/yet"}},
		{"/rules/a", memento.Remove{Path: "/rules/a"}},
		{"/rules/a", memento.Remove{Path: "/rules"}},
		{"/free/x.key", memento.Remove{Path: "/free"}},
		{"/rules/deep/b", memento.Move{From: "/rules/deep/b", To: "/b"}},
		{"/rules/d", memento.Move{From: "/d", To: "/rules/d"}},
		{"/free/x.key", memento.Move{From: "/free", To: "/freed"}},
		{"/none/yet/c", memento.Move{From: "/free/c", To: "/none/yet/c"}},
	} {
		e.refused(memento.ErrProtected, tt.at, tt.change)
		e.refused(memento.ErrProtected, tt.at, memento.Put{Path: "/first", Content: "x"}, tt.change)
	}
	e.apply(memento.Put{Path: "/rulesx", Content: "no longer than its name"}, memento.Move{From: "/free/c", To: "/c"}, memento.Remove{Path: "/d"})
	e.reopen()
	e.refused(memento.ErrProtected, "/rules/a", memento.Put{Path: "/rules/a", Content: "other"})
	v := sampleVersion()
	v.Path = "/rules/imported"
	wantError(e, "Import", e.b.Import(e.Context(), e.store, []memento.Version{v}), memento.ErrProtected)

	// History is not protected, and protection can be removed.
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = nil })
	old := e.versions(memento.VersionListOptions{Path: "/rules/a"})[0]
	e.put("/rules/a", "other")
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/"} })
	e.redact(old.ID)
}

// lookalikes checks that an agent cannot write where it looks as if what is there were
// read-only, and that a person can.
func lookalikes(e *env) {
	e.fill("/pOlicies/old", "/other")
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/policies", "*.law", "/team/*/rules"} })
	agent, person := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"}, memento.Actor{Kind: memento.ActorUser, ID: "ann"}
	apply := func(by memento.Actor, c memento.Change) error {
		_, err := e.b.Apply(e.Context(), e.store, by, []memento.Change{c})
		return err
	}
	for _, p := range []memento.Path{
		"/Policies", "/policies ", "/p\u043elicies", "/Policies/a", "/poIicies/a", "/policies./a", "/d/a.LAW", "/team/x/Rules", "/team/x/ru1es/a",
	} {
		wantError(e, "an agent at "+string(p), apply(agent, memento.Put{Path: p, Content: "x"}), memento.ErrProtected)
	}
	for _, c := range []memento.Change{
		memento.Put{Path: "/pOlicies/old", Content: "y"}, memento.Remove{Path: "/pOlicies/old"}, memento.Move{From: "/pOlicies", To: "/elsewhere"},
		memento.Move{From: "/other", To: "/POLICIES"},
	} {
		wantError(e, fmt.Sprintf("an agent's %T", c), apply(agent, c), memento.ErrProtected)
	}
	for _, p := range []memento.Path{"/policy", "/team/rules", "/law", "/claw", "/d/a.lawn"} {
		if err := apply(agent, memento.Put{Path: p, Content: "x"}); err != nil {
			e.Errorf("an agent at %s: %v", p, err)
		}
	}
	if err := apply(person, memento.Put{Path: "/p\u043elicies/b", Content: "x"}); err != nil {
		e.Errorf("a person: %v", err)
	}
}

func readOnlyStore(e *env) {
	e.fill("/a", "/b/c")
	e.setSettings(func(s *memento.Settings) { s.ReadOnly = []memento.Pattern{"/"} })
	e.refused(memento.ErrProtected, "/a", memento.Remove{Path: "/a"})
	e.refused(memento.ErrProtected, "/b/c", memento.Remove{Path: "/b"})
	e.refused(memento.ErrProtected, "/new", memento.Put{Path: "/new"})
	e.holds(map[memento.Path]string{"/a": "/a", "/b/c": "/b/c"})
}
