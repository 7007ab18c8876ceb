package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// consolePages tests the web console: its files are what its sources make, and a browser
// does with them what people do, and attackers.
//
// Packages are installed in a copy: nobody else installs there at the same time, and the
// repository stays as it is.
func consolePages(ctx context.Context, _ options) error {
	dir, err := os.MkdirTemp("", "memento-console-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, part := range []string{"console/web", "test/console"} {
		if err := copySources(filepath.Join(dir, part), part); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "httpapi"), 0o700); err != nil {
		return err
	}
	api, err := os.ReadFile("httpapi/openapi.yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "httpapi", "openapi.yaml"), api, 0o600); err != nil {
		return err
	}
	web, browser := filepath.Join(dir, "console", "web"), filepath.Join(dir, "test", "console")
	for _, install := range []string{web, browser} {
		if err := run(ctx, "npm", "--prefix", install, "ci", "--no-audit", "--no-fund"); err != nil {
			return err
		}
	}
	if err := run(ctx, "npm", "--prefix", web, "run", "build"); err != nil {
		return err
	}
	if err := sameFiles("console/dist", filepath.Join(dir, "console", "dist")); err != nil {
		return fmt.Errorf("%w; build it with: cd console/web && npm ci && npm run build", err)
	}
	binary := filepath.Join(dir, "memento")
	if err := run(ctx, "go", "build", "-o", binary, "./cmd/memento"); err != nil {
		return err
	}
	return runEnv(ctx, []string{"MEMENTO=" + binary}, "npm", "--prefix", browser, "test")
}

// copySources copies a folder with sources, without the packages that are installed in it.
func copySources(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			if d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return os.MkdirAll(target, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}

// sameFiles returns an error that names the first difference between the files in two
// folders.
func sameFiles(kept, made string) error {
	one, err := readFiles(kept)
	if err != nil {
		return err
	}
	other, err := readFiles(made)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(one)) {
		if text, ok := other[name]; !ok {
			return fmt.Errorf("%s is not what the sources make: they do not make %s", kept, name)
		} else if !bytes.Equal(text, one[name]) {
			return fmt.Errorf("%s is not what the sources make: %s differs", kept, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, ok := one[name]; !ok {
			return fmt.Errorf("%s is not what the sources make: they make %s, too", kept, name)
		}
	}
	return nil
}

// readFiles returns the files below a folder, by their paths in it.
func readFiles(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[strings.TrimPrefix(path, folder)], err = os.ReadFile(path)
		return err
	})
	return files, err
}
