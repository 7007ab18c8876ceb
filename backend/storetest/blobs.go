package storetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A Blob is a part of a backend's stored data, read while the backend is not open: a
// file, an object, a column of a row.
type Blob struct {
	Name  string
	Data  []byte
	Write func(context.Context, []byte) error // replaces the data
}

// FileBlobs returns files as blobs, for [Harness].Blobs. Writing one
// removes the log and shared memory files of SQLite, which would hide the new data.
func FileBlobs(paths ...string) (blobs []Blob, err error) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		blobs = append(blobs, Blob{Name: filepath.Base(path), Data: data, Write: func(_ context.Context, data []byte) error {
			for _, suffix := range []string{"-wal", "-shm"} {
				if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			return os.WriteFile(path, data, 0o600)
		}})
	}
	return blobs, nil
}

// damage closes the backend, replaces bytes in its stored data, wherever they are, and
// opens it again. It fails the test if they are nowhere.
func (e *env) damage(bad, good []byte) {
	e.Helper()
	e.replace(good, func(data []byte) []byte { return bytes.ReplaceAll(data, good, bad) })
}

// damageNth is damage for one of several places, numbered from 0. It flips a bit there.
func (e *env) damageNth(n int, good []byte) {
	e.Helper()
	e.replace(good, func(data []byte) []byte {
		data = slices.Clone(data)
		for at := 0; ; n-- {
			next := bytes.Index(data[at:], good)
			if next < 0 {
				return data
			}
			if at += next; n == 0 {
				data[at] ^= 1
			}
			at++
		}
	})
}

func (e *env) replace(good []byte, change func([]byte) []byte) {
	e.Helper()
	if err := e.b.Close(); err != nil {
		e.Fatalf("close: %v", err)
	}
	blobs, err := e.h.Blobs(e.Context(), e.dir)
	if err != nil {
		e.Fatalf("Blobs: %v", err)
	}
	found := 0
	for _, m := range blobs {
		found += bytes.Count(m.Data, good)
		data := change(m.Data)
		if bytes.Equal(data, m.Data) {
			continue
		}
		if err := m.Write(e.Context(), data); err != nil {
			e.Fatalf("write %s: %v", m.Name, err)
		}
	}
	if found == 0 {
		e.Fatalf("%q is nowhere in the stored data", good)
	}
	e.b = e.open()
}

// flipped returns data with its first byte changed.
func flipped(data []byte) []byte {
	data = slices.Clone(data)
	data[0] ^= 1
	return data
}

// A tree is a folder with all that is in it.
type tree map[string][]byte // by path below it; nil for a folder

func readTree(t testing.TB, dir string) tree {
	t.Helper()
	found := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || d.IsDir() {
			found[name] = nil
			return err
		}
		data, err := os.ReadFile(path)
		found[name] = append([]byte{}, data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// write makes dir what it was when the tree was read.
func (f tree) write(t testing.TB, dir string) {
	t.Helper()
	for name := range readTree(t, dir) {
		if _, wanted := f[name]; !wanted {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var err error
		if path := filepath.Join(dir, name); f[name] == nil {
			err = os.MkdirAll(path, 0o700)
		} else if now, readErr := os.ReadFile(path); readErr != nil || !bytes.Equal(now, f[name]) {
			err = os.WriteFile(path, f[name], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
