//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An edit that a hangup ends leaves no plaintext, and what was saved is in the store. One
// that is killed leaves its file to the next edit, which removes it and says so, but not
// while the editor is open.
func TestEditEnds(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		want   string // in the store
	}{
		{syscall.SIGHUP, "plain text\nand more\n"},
		{syscall.SIGTERM, "plain text\nand more\n"},
		{syscall.SIGKILL, "plain text\n"},
	} {
		t.Run(tt.signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			keys := filepath.Join(dir, "keys")
			must(t, "", "encryption", "init", keys)
			on := []string{"--backend", database(t), "--encryption-keys", keys}
			must(t, "plain text\n", append(on, "put", "/a.md")...)

			// The editor saves a line, says where its file is, and waits.
			told, wait := filepath.Join(dir, "told"), filepath.Join(dir, "wait")
			for _, name := range []string{told, wait} {
				if err := syscall.Mkfifo(name, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			script := filepath.Join(dir, "editor.sh")
			text := "echo 'and more' >> \"$1\"\necho \"$1\" > '" + told + "'\nread x < '" + wait + "'\n"
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("memento", append(on, "edit", "/a.md")...)
			cmd.Env = append(os.Environ(), "VISUAL=sh "+script)
			// A file, since the editor, which can live longer, has it too.
			errs, err := os.Create(filepath.Join(dir, "errs"))
			if err != nil {
				t.Fatal(err)
			}
			defer errs.Close()
			cmd.Stderr = errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said, err := os.ReadFile(told) // waits for the editor
			if err != nil {
				t.Fatal(err)
			}
			file := strings.TrimSuffix(string(said), "\n")
			if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the folder of the file: %v, %v", info, err)
			}
			if err := cmd.Process.Signal(tt.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if tt.signal == syscall.SIGKILL {
				t.Setenv("VISUAL", "true")
				must(t, "", append(on, "edit", "/a.md", "-q")...)
				if _, err := os.Stat(file); err != nil {
					t.Errorf("while the editor is open, the next edit: %v", err)
				}
				if err := os.WriteFile(wait, []byte("\n"), 0); err != nil { // the editor ends
					t.Fatal(err)
				}
				note := ""
				for end := time.Now().Add(time.Minute); note == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
					if _, _, errs := runWith(t, "", append(on, "edit", "/a.md")...); strings.Contains(errs, "note: removed "+filepath.Dir(file)) {
						note = errs
					}
				}
				if note == "" {
					t.Error("the next edit did not say that it removed the file")
				}
			}
			if _, err := os.Stat(filepath.Dir(file)); !os.IsNotExist(err) {
				t.Errorf("the file stayed at %s: %v", file, err)
			}
			code, got, _ := runWith(t, "", append(on, "cat", "/a.md")...)
			if said, _ := os.ReadFile(errs.Name()); code != exitOK || got != tt.want {
				t.Errorf("the store has %q, exit code %d; said %q", got, code, said)
			}
		})
	}
}
