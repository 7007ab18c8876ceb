package backend_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
)

// reversed is a Sealer whose contents and paths are written backwards.
type reversed struct{}

func (reversed) Seal(_ memento.MemoryID, _ memento.VersionID, text string) (string, error) {
	return backwards(text), nil
}
func (reversed) Digest(sha256 string) string { return backwards(sha256) }
func (reversed) Clear(p memento.Path) (memento.Path, error) {
	return "/" + memento.Path(backwards(string(p[1:]))), nil
}

func backwards(text string) string {
	var b strings.Builder
	for i := len(text) - 1; i >= 0; i-- {
		b.WriteByte(text[i])
	}
	return b.String()
}

// one shows a store that has one memory at most.
type one struct{ memory memento.Memory }

func (s one) Head(p memento.Path) (memento.Memory, bool, error) {
	return s.memory, s.memory.Path == p, nil
}
func (s one) HeadByID(id memento.MemoryID) (memento.Memory, bool, error) {
	return s.memory, s.memory.ID == id, nil
}
func (s one) Below(memento.Path, int) ([]memento.Memory, error) { return nil, nil }

// What is to be sealed leaves the Planner sealed or not at all.
func TestPlanSealed(t *testing.T) {
	const secret = "the plans"
	info := memento.StoreInfo{Limits: memento.DefaultLimits()}
	p := backend.Planner{Info: info, At: time.Unix(1, 0)}
	plan := func(s one, c memento.Change) backend.Effect {
		t.Helper()
		effects, err := p.Plan(s, backend.Sealed{Change: c, Sealing: backend.Sealing{By: reversed{}}})
		if err != nil || len(effects) != 1 {
			t.Fatalf("%T: %+v, %v", c, effects, err)
		}
		return effects[0]
	}
	made := plan(one{}, memento.Put{Path: "/a", Content: secret})
	if made.After.Content != backwards(secret) || !made.Rewrite {
		t.Errorf("made: %+v", made)
	}
	kept := one{made.After}
	kept.memory.Content = ""
	same, other := secret, secret+"!"
	for content, want := range map[*string]string{nil: "", &same: "", &other: backwards(other)} {
		e := plan(kept, memento.Move{From: "/a", To: "/b", Content: content})
		if e.After.Content != want || e.Rewrite != (want != "") || want == "" && e.After.SHA256 != made.After.SHA256 {
			t.Errorf("moved: %+v, want contents %q", e, want)
		}
	}
}

// The rules of an import are about the paths that its Sealer says, and it is made by
// the keys that the store has.
func TestPlanSealedImport(t *testing.T) {
	info := memento.StoreInfo{Limits: memento.DefaultLimits(), Envelope: "today's"}
	info.Settings.ReadOnly = []memento.Pattern{"/locked"}
	v := memento.Version{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Content: "sealed", SHA256: memento.HashContent("sealed"),
		Digest: "d", CreatedAt: time.Unix(1, 0)}
	plan := func(path memento.Path, by *backend.Sealing) ([]backend.Effect, error) {
		v.Path = path
		p := backend.Planner{Info: info, Imported: by}
		return p.PlanImport(one{}, v)
	}
	by := &backend.Sealing{By: reversed{}, Envelope: "today's"}
	if _, err := plan("/dekcol", by); !errors.Is(err, memento.ErrProtected) {
		t.Errorf("what is read-only: %v", err)
	}
	effects, err := plan("/locked", by)
	if err != nil || len(effects) != 1 || effects[0].After.Path != "/locked" {
		t.Errorf("what is kept as something else is called that is read-only: %+v, %v", effects, err)
	}
	if _, err := plan("/locked", nil); !errors.Is(err, memento.ErrProtected) {
		t.Errorf("in clear: %v", err)
	}
	if _, err := plan("/a", &backend.Sealing{By: reversed{}, Envelope: "yesterday's"}); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("by other keys: %v", err)
	}
	info.Envelope = ""
	if _, err := plan("/a", by); err != nil {
		t.Errorf("by a backend that keeps no envelopes: %v", err)
	}
}
