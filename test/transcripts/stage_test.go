package transcripts

import (
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

// A stage is what a conversation is about: a tool, and one store or several.
type stage struct {
	backend *memstore.Backend
	opts    memento.ToolOptions
	stores  []*scene // one without a name, or one for each mount
	now     *scene   // that the sections are about
}

// A scene is one store, made when it is first needed.
type scene struct {
	mount    string
	readOnly bool
	spec     memento.StoreSpec
	store    *memento.Store
}

func newStage() *stage {
	s := &stage{backend: memstore.New(nil)}
	s.enter(&scene{spec: memento.StoreSpec{Name: "default"}})
	return s
}

func (s *stage) enter(next *scene) {
	s.stores, s.now = append(s.stores, next), next
}

// set carries out a section that is no part of the conversation.
func (s *stage) set(t *testing.T, section *txtar.File) bool {
	t.Helper()
	kind, rest, _ := strings.Cut(section.Name, " ")
	switch kind {
	case "mount":
		name, flag, _ := strings.Cut(rest, " ")
		if s.now.mount == "" {
			s.stores = nil
		}
		s.enter(&scene{mount: name, readOnly: flag == "ro", spec: memento.StoreSpec{Name: name}})
	case "store":
		decode(t, section.Data, &s.now.spec.Limits)
	case "settings":
		settings := memento.DefaultSettings()
		decode(t, section.Data, &settings)
		s.now.spec.Settings = &settings
		if s.now.store != nil {
			s.change(t, memento.StoreUpdate{Settings: &settings})
			s.now.store = nil // the tool is started again: it knows them at once
		}
	case "tool":
		decode(t, section.Data, &s.opts)
	case "profile":
		profile, err := memento.ProfileNamed(rest)
		if err != nil {
			t.Fatal(err)
		}
		s.opts.Profile = profile
	case "put":
		p, count, many := strings.Cut(rest, " x")
		text := string(section.Data)
		if many {
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			text = strings.Repeat(text, n)
		}
		memories.Put(t, s.open(s.now), memento.Path(p), text)
	case "archive":
		s.change(t, memento.StoreUpdate{Archive: true})
	default:
		return false
	}
	return true
}

func (s *stage) open(sc *scene) *memento.Store {
	if sc.store == nil {
		sc.store = memento.OpenNamed(s.backend, memento.DefaultWorkspace, sc.spec, memories.Guarded())
	}
	return sc.store
}

func (s *stage) change(t *testing.T, u memento.StoreUpdate) {
	t.Helper()
	id, err := s.open(s.now).Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.backend.UpdateStore(t.Context(), memento.DefaultWorkspace, id, u); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) tool(t *testing.T) *memento.Tool {
	t.Helper()
	if s.now.mount == "" {
		return memento.NewTool(s.open(s.now), &s.opts)
	}
	var mounts []memento.Mount
	for _, sc := range s.stores {
		mounts = append(mounts, memento.Mount{Name: sc.mount, Store: s.open(sc), ReadOnly: sc.readOnly})
	}
	tool, err := memento.NewScopedTool(mounts, &s.opts)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}
