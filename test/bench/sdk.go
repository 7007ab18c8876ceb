package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"memento/test/needs"
)

const (
	sdkPackage = "@anthropic-ai/sdk"
	sdkVersion = "1.11.0" // as in sdk/package.json
)

// installSDK makes sure that dir/node_modules holds the pinned SDK, and returns Node's
// version.
func installSDK(ctx context.Context, dir string) (nodeVersion string, err error) {
	return installPackage(ctx, dir, sdkPackage, sdkVersion)
}

// installPackage makes sure that dir/node_modules holds a package at a version, which is
// that of the lock file in dir, and returns Node's version.
func installPackage(ctx context.Context, dir, name, version string) (nodeVersion string, err error) {
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("node is %w: the comparison with %s needs it; install Node.js 20 or later, with npm, from https://nodejs.org", needs.ErrMissing, name)
	} else if err != nil {
		return "", fmt.Errorf("node --version: %w", err)
	}
	nodeVersion = strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
	if installedVersion(dir, name) == version {
		return nodeVersion, nil
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--omit=dev")
	npm.Dir, npm.Stdout, npm.Stderr = dir, os.Stderr, os.Stderr
	if err := npm.Run(); errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("npm is %w: it is needed once, to fetch %s", needs.ErrMissing, name)
	} else if err != nil {
		return "", fmt.Errorf("npm ci in %s: %w", dir, err)
	}
	if v := installedVersion(dir, name); v != version {
		return "", fmt.Errorf("npm ci in %s installed version %q of %s instead of %s", dir, v, name, version)
	}
	return nodeVersion, nil
}

// installedVersion returns a package's version in dir/node_modules, "" if it is not there.
func installedVersion(dir, name string) string {
	raw, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"))
	var pkg struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(raw, &pkg) != nil {
		return ""
	}
	return pkg.Version
}

// startNode starts the Node program in dir. One process serves all steps and stores,
// so that it is warm.
func startNode(ctx context.Context, dir string) (*process, error) {
	cmd := exec.CommandContext(ctx, "node", "--expose-gc", filepath.Join(dir, "replay.mjs"))
	cmd.Dir = dir // where its packages are
	return startProcess(cmd)
}

// An sdk is the TypeScript SDK's local tool on one base directory.
type sdk struct {
	root string
	node *process // shared, not closed here
}

// newSDK writes the notes to root, as plain files.
func newSDK(node *process, root string, notes []note) (*sdk, error) {
	for _, n := range notes {
		file := filepath.Join(root, filepath.FromSlash(n.path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(n.text), 0o600); err != nil {
			return nil, err
		}
	}
	return &sdk{root: root, node: node}, nil
}

func (s *sdk) name() string { return nameSDK }

func (s *sdk) replay(_ context.Context, file string, atLeast time.Duration) (measure, error) {
	request, err := json.Marshal(map[string]any{"file": file, "root": s.root, "atLeastMillis": atLeast.Milliseconds()})
	if err != nil {
		return measure{}, err
	}
	line, err := s.node.ask(append(request, '\n'))
	if err != nil {
		return measure{}, fmt.Errorf("the SDK's process: %w", err)
	}
	var answer struct {
		measure
		Error string `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return measure{}, fmt.Errorf("the SDK's process answered %q: %w", line, err)
	}
	if answer.Error != "" {
		return measure{}, fmt.Errorf("the SDK's tool: %s", answer.Error)
	}
	return answer.measure, nil
}

func (s *sdk) notes(context.Context) (map[string]string, error) {
	found := map[string]string{}
	tree := os.DirFS(s.root)
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		found["/"+path] = string(text)
		return err
	})
	return found, err
}

// finishDeferred has nothing to do.
func (s *sdk) finishDeferred(context.Context) (time.Duration, error) { return 0, nil }

func (s *sdk) close() error { return nil }
