//go:build linux && faults

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memento/test/smalldisk"
)

// A backup for which the disk has no room leaves nothing, and neither does one that
// is to be restored there: what is there stays.
func TestFaultBackupDiskFull(t *testing.T) {
	binary := buildBinary(t)
	disk := smalldisk.Mount(t, "3m") // of which the database's reserve takes two
	run := func(stdin string, args ...string) (string, error) {
		cmd := exec.Command(binary, args...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	large := "sqlite:" + filepath.Join(t.TempDir(), "large.db")
	for _, name := range []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/i", "/j", "/k", "/l"} {
		if out, err := run(strings.Repeat("0123456789 abcdef"+name+"\n", 4900), "--backend", large, "put", name); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	file := filepath.Join(t.TempDir(), "backup.db")
	if out, err := run("", "--backend", large, "backup", "create", file); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	small := "sqlite:" + filepath.Join(disk, "small.db")
	if out, err := run("here", "--backend", small, "put", "/here"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, args := range [][]string{
		{"--backend", large, "backup", "create", filepath.Join(disk, "backup.db")},
		{"--backend", small, "backup", "restore", file, "--replace"},
	} {
		out, err := run("", args...)
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() != exitStorage || !strings.Contains(out, "no space left on storage") {
			t.Errorf("%s: %v: %s", args[2], err, out)
		}
		entries, err := os.ReadDir(disk)
		if err != nil || len(entries) != 2 { // the database and its reserve
			t.Errorf("%s: there are %v, %v", args[2], entries, err)
		}
	}
	if out, err := run("", "--backend", small, "cat", "/here"); err != nil || out != "here" {
		t.Errorf("%q, %v", out, err)
	}
}
