package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestClientScripts install and uninstall the server in each client, in a home directory of
// their own.
func TestClientScripts(t *testing.T) {
	p := scripts()
	p.Dir = filepath.Join("testdata", "clients")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		// Nothing of the tester's own configuration.
		for _, name := range []string{"XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "MEMENTO_BACKEND", "MEMENTO_PROFILE"} {
			env.Setenv(name, "")
		}
		err := setup(env)
		env.Setenv("MEMENTO_BACKEND", "")
		return err
	}
	testscript.Run(t, p)
}

// At a terminal, install shows the difference and then asks; only yes changes anything.
func TestInstallAsks(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "n\n": false, "\n": false, "": false} {
		file := filepath.Join(t.TempDir(), "mcp.json")
		var stdout, stderr bytes.Buffer
		a := newApp(strings.NewReader(answer), &stdout, &stderr)
		a.stdinTTY = true
		root := a.rootCommand()
		root.SetArgs([]string{"mcp", "install", "cursor", "--file", file, "--command", "/opt/memento"})
		err := root.ExecuteContext(t.Context())
		if (err == nil) != want {
			t.Errorf("%q: %v", answer, err)
		}
		if !strings.Contains(stdout.String(), `+      "command": "/opt/memento",`) || !strings.Contains(stderr.String(), "Change "+file+"? [y/N] ") {
			t.Errorf("%q: it shows %s and asks %s", answer, &stdout, &stderr)
		}
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%q: the file: %v", answer, err)
		}
	}
}
