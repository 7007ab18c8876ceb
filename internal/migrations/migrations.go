// Package migrations reads the numbered scripts that make a database schema, shared by
// backends.
package migrations

import (
	"fmt"
	"io/fs"
	"strings"
)

// Scripts returns the scripts in the directory migrations of files, in order: script n, counted
// from 0, takes a schema of version n to version n+1. Their names begin with their number,
// counted from 0001, and "_"; there must be no others, and no gap.
func Scripts(files fs.FS) (scripts []string, err error) {
	const dir = "migrations"
	entries, err := fs.ReadDir(files, dir) // in the order of their names
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if prefix := fmt.Sprintf("%04d_", i+1); !strings.HasPrefix(e.Name(), prefix) {
			return nil, fmt.Errorf("migrations: script %q should begin with %q", e.Name(), prefix)
		}
		script, err := fs.ReadFile(files, dir+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, string(script))
	}
	return scripts, nil
}
