package memento_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"memento"
	"memento/backend/memstore"
)

// Programs can ask for the errors of package io/fs.
func TestErrorsOfFiles(t *testing.T) {
	files := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, fs.ErrPermission, fs.ErrClosed}
	for err, of := range map[error]error{
		memento.ErrNotExist:    fs.ErrNotExist,
		memento.ErrExist:       fs.ErrExist,
		memento.ErrInvalid:     fs.ErrInvalid,
		memento.ErrInvalidPath: fs.ErrInvalid,
		memento.ErrIsDir:       nil,
		memento.ErrNoStore:     nil, // to take it for a missing memory could lead to a new store
		memento.ErrConflict:    nil,
	} {
		wrapped := &memento.Error{Op: "get", Path: "/a.md", Err: fmt.Errorf("%w: details", err)}
		for _, file := range files {
			if got := errors.Is(wrapped, file); got != (file == of) {
				t.Errorf("%v is %v: %v", wrapped, file, got)
			}
		}
		if !errors.Is(wrapped, err) {
			t.Errorf("%v is not %v", wrapped, err)
		}
	}
	if errors.Is(memento.ErrInvalid, memento.ErrInvalidPath) || errors.Is(memento.ErrInvalidPath, memento.ErrInvalid) || errors.Is(fs.ErrNotExist, memento.ErrNotExist) {
		t.Error("errors are each other that only have something in common")
	}

	s := newStore(memento.Limits{})
	if _, err := s.Get(t.Context(), memento.ByPath("/none.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing memory: %v", err)
	}
	mustPut(t, s, "/a.md", "x")
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md", If: memento.IfAbsent()}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a memory that exists: %v", err)
	}
	if _, err := s.Get(t.Context(), memento.ByPath("a.md")); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("an invalid path: %v", err)
	}
}

// A store that was opened without a workspace, or without a name, says so when it is used.
func TestOpenNamedIncomplete(t *testing.T) {
	for _, tt := range []struct {
		ws   memento.Workspace
		name string
		want string
	}{
		{"", "notes", "open store: invalid value: no workspace was given; programs that need only one use DefaultWorkspace"},
		{memento.DefaultWorkspace, "", "open store: invalid value: a store must have a name"},
	} {
		b := memstore.New(nil)
		s := memento.OpenNamed(b, tt.ws, memento.StoreSpec{Name: tt.name}, guarded())
		_, read := s.Get(t.Context(), memento.ByPath("/a.md"))
		_, wrote := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md"})
		for _, err := range []error{read, wrote} {
			if !errors.Is(err, memento.ErrInvalid) || err.Error() != tt.want {
				t.Errorf("workspace %q, name %q: %v", tt.ws, tt.name, err)
			}
		}
	}
}
