package main

import (
	"path/filepath"
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
