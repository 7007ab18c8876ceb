package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento/test/proctest"
)

// Changes on both sides are synced while the program runs, and an interrupt ends it.
func TestSyncWatch(t *testing.T) {
	url, dir := database(t), t.TempDir()
	note := filepath.Join(dir, "a.md")
	if err := os.WriteFile(note, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	p := start(t, "--backend", url, "sync", dir, "notes", "--watch", "--every", "1s")
	memory := func() string {
		_, text, _ := runWith(t, "", "--backend", url, "--store", "notes", "cat", "/a.md")
		return text
	}
	proctest.Until(t, "the note is in the store", func() bool { return memory() == "one\ntwo\n" })
	if code, _, errs := runWith(t, "one\ntwo\nthree\n", "--backend", url, "--store", "notes", "put", "/a.md"); code != exitOK {
		t.Fatal(errs)
	}
	proctest.Until(t, "the file has the change", func() bool {
		text, err := os.ReadFile(note)
		return err == nil && string(text) == "one\ntwo\nthree\n"
	})
	if err := os.Remove(note); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, "the memory is deleted", func() bool { return memory() == "" })
	if err := proctest.Interrupt(p.Cmd); err != nil {
		t.Errorf("interrupted: %v: %s", err, &p.errs)
	}
	for _, want := range []string{"until interrupted\n", "uploaded /a.md\n", "downloaded /a.md\n", "deleted /a.md in the store\n"} {
		if !strings.Contains(p.errs.String(), want) {
			t.Errorf("it does not say %q: %s", want, &p.errs)
		}
	}
}
