package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// A tool is a program that a suite needs, and the Debian package that has it.
type tool struct{ program, debian string }

var (
	gcc    = tool{"gcc", "gcc libc6-dev"}
	strace = tool{"strace", "strace"}
	mount  = tool{"mount", "mount"}
	node   = tool{"node", "nodejs"}
	npm    = tool{"npm", "npm"}
	curl   = tool{"curl", "curl"}
)

// install installs the tools that are missing.
func install(ctx context.Context, tools []tool) error {
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err == nil {
			continue
		}
		if _, err := exec.LookPath("apt-get"); err != nil {
			return fmt.Errorf("%s is missing, and this is no Debian system to install it on: install it and try again", t.program)
		}
		fmt.Printf("installing %s for %s\n", t.debian, t.program)
		if err := updateOnce(ctx); err != nil {
			return err
		}
		if err := aptGet(ctx, "install -y -qq --no-install-recommends "+t.debian); err != nil {
			return fmt.Errorf("cannot install %s; root or sudo is needed: %w", t.debian, err)
		}
	}
	return nil
}

var (
	update     sync.Once
	updateDone error
)

func updateOnce(ctx context.Context) error {
	update.Do(func() { updateDone = aptGet(ctx, "update -qq") })
	return updateDone
}

func aptGet(ctx context.Context, args string) error {
	command := "DEBIAN_FRONTEND=noninteractive apt-get " + args
	if os.Geteuid() != 0 {
		command = "sudo " + command
	}
	return run(ctx, "sh", "-c", command)
}
