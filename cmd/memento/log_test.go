package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What is written while the log is followed is listed, in order, with renames.
func TestFollow(t *testing.T) {
	url := database(t)
	put := func(path, text string) {
		t.Helper()
		if code, _, errs := runWith(t, text, "--backend", url, "put", path); code != exitOK {
			t.Fatal(errs)
		}
	}
	put("/a.md", "one")
	put("/b.md", "one")
	put("/a.md", "two")
	p := start(t, "--backend", url, "log", "--follow", "/a.md")
	next := func(words ...string) {
		t.Helper()
		line, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v: %s", err, &p.errs)
		}
		for _, w := range words {
			if !strings.Contains(line, w) {
				t.Errorf("%q is not in %q", w, line)
			}
		}
	}
	next("created", "/a.md")
	next("modified", "/a.md")
	put("/b.md", "two") // not listed
	put("/a.md", "three")
	next("modified", "/a.md")
	if code, _, errs := runWith(t, "", "--backend", url, "mv", "/a.md", "/c.md"); code != exitOK {
		t.Fatal(errs)
	}
	next("modified", "/c.md (renamed from /a.md)")
	if os.PathSeparator == '\\' {
		return // there are no interrupts to send on Windows
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	exit, ok := errors.AsType[*exec.ExitError](p.Wait())
	if !ok || exit.ExitCode() != exitInterrupted || p.errs.String() != "" {
		t.Errorf("%v, said %q", exit, &p.errs)
	}
}
