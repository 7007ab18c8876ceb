// Package debian installs packages on Debian and related systems, for tests that need
// programs besides Go.
package debian

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// Install installs packages, separated by spaces, as root or with sudo. The output of
// apt-get goes to standard error.
//
// It is safe for concurrent use.
func Install(ctx context.Context, packages string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("this is no Debian system to install %s on: install what has it here and try again", packages)
	}
	mu.Lock()
	defer mu.Unlock()
	fmt.Fprintf(os.Stderr, "installing %s\n", packages)
	if !updated {
		if err := aptGet(ctx, "update -qq"); err != nil {
			return fmt.Errorf("cannot update the list of packages; root or sudo is needed: %w", err)
		}
		updated = true
	}
	if err := aptGet(ctx, "install -y -qq --no-install-recommends "+packages); err != nil {
		return fmt.Errorf("cannot install %s; root or sudo is needed: %w", packages, err)
	}
	return nil
}

var (
	mu      sync.Mutex // apt-get cannot run concurrently
	updated bool
)

func aptGet(ctx context.Context, args string) error {
	command := "DEBIAN_FRONTEND=noninteractive apt-get " + args
	if os.Geteuid() != 0 {
		command = "sudo " + command
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}
