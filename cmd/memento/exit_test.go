package main

import (
	"fmt"
	"io"
	"testing"

	"memento"
	"memento/archive"
)

// Every sentinel of the packages below has its row, and so its exit code.
func TestOutcomes(t *testing.T) {
	for err, want := range map[error]int{
		memento.ErrNotExist: 3, memento.ErrNoStore: 3,
		memento.ErrExist: 4, memento.ErrConflict: 4, memento.ErrIsDir: 4, memento.ErrNotDir: 4, memento.ErrArchived: 4, memento.ErrHead: 4,
		memento.ErrTooLarge: 5, archive.ErrTooLarge: 5,
		memento.ErrInvalid: 6, memento.ErrInvalidPath: 6, memento.ErrUnsupported: 6, archive.ErrNoHistory: 6,
		memento.ErrNoSpace: 7, memento.ErrReadOnly: 7, memento.ErrFormat: 7, memento.ErrClosed: 7,
		archive.ErrNotEmpty: 4,
		io.ErrNoProgress:    7, // of a backend, any other error is the storage's
	} {
		a := newApp(nil, io.Discard, io.Discard)
		a.running = true
		if got := a.report(&memento.Error{Op: "test", Err: fmt.Errorf("wrapped: %w", err)}); got != want {
			t.Errorf("%v: exit code %d; want %d", err, got, want)
		}
	}
	a := newApp(nil, io.Discard, io.Discard)
	a.running = true
	if got := a.report(io.ErrNoProgress); got != exitFailure {
		t.Errorf("an error of no backend: exit code %d; want 1", got)
	}
}
