//go:build linux || darwin

// Package nobody runs tests of permissions, which mean nothing to root, as a user to whom they
// mean something.
package nobody

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// uid is the user as whom tests run if root runs the others.
const uid = 65534

// Run runs test. If the user is root, it runs the test t in another process instead, for
// another user, and test there.
func Run(t *testing.T, test func()) {
	t.Helper()
	if os.Getuid() != 0 {
		test()
		return
	}
	// Neither the program nor the folders of these tests are for others.
	dir, err := os.MkdirTemp("", "memento-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "test")
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range strings.SplitSeq(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run="+strings.Join(names, "/"), "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
