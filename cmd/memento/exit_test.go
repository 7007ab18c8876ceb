package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/storeurl"
	"memento/exchange/archive"
	"memento/maintenance"
)

// Every sentinel of the packages below has its row, and so its exit code.
func TestOutcomes(t *testing.T) {
	for err, want := range map[error]int{
		memento.ErrNotExist: 3, memento.ErrNoStore: 3,
		memento.ErrExist: 4, memento.ErrConflict: 4, memento.ErrIsDir: 4, memento.ErrNotDir: 4, memento.ErrArchived: 4, memento.ErrHead: 4,
		memento.ErrProtected: 4, memento.ErrForeign: 4, backend.ErrInUse: 4,
		memento.ErrTooLarge: 5, archive.ErrTooLarge: 5,
		memento.ErrInvalid: 6, memento.ErrInvalidPath: 6, memento.ErrUnsupported: 6, archive.ErrNoHistory: 6,
		memento.ErrSensitive: 6, memento.ErrNoDetector: 6,
		memento.ErrNoSpace: 7, memento.ErrReadOnly: 7, memento.ErrFormat: 7, memento.ErrClosed: 7,
		archive.ErrNotEmpty: 4, maintenance.ErrHeld: 8,
		io.ErrNoProgress: 7, // of a backend, any other error is the storage's
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

// A fault of the program itself is said in a sentence.
func TestInternalError(t *testing.T) {
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"version"}, nil, broken{}, &errs); code != exitFailure {
		t.Errorf("exit code %d; want 1", code)
	}
	if got := errs.String(); !strings.HasPrefix(got, "memento: internal error: out of order\n") || strings.Contains(got, "goroutine") {
		t.Errorf("said %q", got)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { panic("out of order") }

// A file of a newer memento is told by the formats, without the layers that it came through.
func TestNewerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memento.db")
	must(t, "text", "--backend", storeurl.SQLite(path), "put", "/a.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const userVersion = 60 // where SQLite's file header has it
	binary.BigEndian.PutUint32(data[userVersion:], 1000)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := runWith(t, "", "--backend", storeurl.SQLite(path), "ls")
	if want := "memento: the file was written by a newer memento (format 1000; this one reads up to "; code != exitStorage || !strings.HasPrefix(errs, want) {
		t.Errorf("exit code %d, said %q; want 7 and %q", code, errs, want)
	}
}
