package main

import (
	"context"
	"os/exec"

	"memento/test/debian"
)

// A tool is a program that a suite needs, and the Debian packages that contain it.
type tool struct{ program, packages string }

var (
	gcc    = tool{"gcc", "gcc libc6-dev"}
	strace = tool{"strace", "strace"}
	mount  = tool{"mount", "mount"}
	node   = tool{"node", "nodejs"}
	npm    = tool{"npm", "npm"}
	curl   = tool{"curl", "curl"}
	python = tool{"python3", "python3"}
	ext4   = tool{"mkfs.ext4", "e2fsprogs"}

	chromium = tool{"chromium", "chromium"}

	systemd = tool{"systemd-analyze", "systemd"}
)

// install installs the tools that are missing.
func install(ctx context.Context, tools []tool) error {
	for _, t := range tools {
		if _, err := exec.LookPath(t.program); err == nil {
			continue
		}
		if err := debian.Install(ctx, t.packages); err != nil {
			return err
		}
	}
	return nil
}
