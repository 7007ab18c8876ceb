package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"memento"
)

// Write writes the store to w, as a consistent snapshot. It needs a few hundred bytes of
// memory for each memory and, if there is much to write, a temporary file. If it returns
// an error, what it has written is not a valid archive.
//
// Errors: ErrNoStore if nothing was ever written to the store, those of the store, and
// those of w and of the temporary file, unchanged.
func Write(ctx context.Context, w io.Writer, store *memento.Store, opts *WriteOptions) (Summary, error) {
	var o WriteOptions
	if opts != nil {
		o = *opts
	}
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	if o.Collected == nil {
		o.Collected = func() {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	info, err := store.Info(ctx)
	if err != nil {
		return Summary{}, err
	}
	zw := gzip.NewWriter(w)
	out := &writer{
		tar:       tar.NewWriter(zw),
		manifest:  newManifest(info, o.Now()),
		progress:  o.Progress,
		collected: o.Collected,
	}
	if o.ContentsOnly {
		err = out.contents(ctx, store, o.TempDir)
	} else {
		err = out.history(ctx, store, o.TempDir)
	}
	if err != nil {
		return Summary{}, err
	}
	if err := out.tar.Close(); err != nil {
		return Summary{}, err
	}
	return out.Summary, zw.Close()
}

// A writer writes one archive.
type writer struct {
	tar       *tar.Writer
	manifest  manifest
	progress  func(done, total int)
	total     int // of memories and versions; 0 until it is known
	collected func()
	Summary
}

// contents writes an archive without history. The manifest comes first and has the number
// of memories, so the memories are collected before.
func (w *writer) contents(ctx context.Context, store *memento.Store, tempDir string) error {
	spool := &spool{dir: tempDir}
	defer spool.close()
	var heads []head
	for e, err := range store.List(ctx, memento.ListOptions{Contents: true}) {
		if err != nil {
			return err
		}
		if e.Foreign {
			w.skip(e)
			continue
		}
		h := head{path: e.Path, at: e.Memory.UpdatedAt, start: spool.size}
		if err := spool.write([]byte(e.Memory.Content)); err != nil {
			return err
		}
		h.length = spool.size - h.start
		heads = append(heads, h)
	}
	w.collected()
	w.manifest.Memories, w.total = len(heads), len(heads)
	if err := w.writeManifest(); err != nil {
		return err
	}
	for _, h := range heads {
		content, err := spool.read(h.start, h.length)
		if err != nil {
			return err
		}
		if err := w.writeMemory(ctx, h, content); err != nil {
			return err
		}
	}
	return nil
}

// history writes an archive with its history. The memories are taken from the history, so
// that both are of the same snapshot.
func (w *writer) history(ctx context.Context, store *memento.Store, tempDir string) error {
	spool := &spool{dir: tempDir}
	defer spool.close()
	heads := map[memento.MemoryID]head{}
	for v, err := range store.Versions(ctx, memento.VersionListOptions{OldestFirst: true, Contents: true}) {
		if err != nil {
			return err
		}
		l := newLine(v)
		w.manifest.Version = max(w.manifest.Version, l.format())
		text, err := plainJSON(l)
		if err != nil {
			return err
		}
		start := spool.size
		if err := spool.write(text); err != nil {
			return err
		}
		w.Versions++
		w.progress(w.Versions, 0)
		if v.Operation == memento.Deleted || v.Redacted() {
			delete(heads, v.Memory)
		} else {
			heads[v.Memory] = head{path: v.Path, at: v.CreatedAt, start: start, length: spool.size - start}
		}
	}
	for e, err := range store.List(ctx, memento.ListOptions{Brief: true}) {
		if err != nil {
			return err
		}
		if e.Foreign { // not in the history
			w.skip(e)
		}
	}
	w.collected()
	w.manifest.History = true
	w.manifest.Versions, w.manifest.Memories = w.Versions, len(heads)
	w.total = w.Versions + len(heads)
	if err := w.writeManifest(); err != nil {
		return err
	}
	sorted := make([]head, 0, len(heads))
	for _, h := range heads {
		sorted = append(sorted, h)
	}
	slices.SortFunc(sorted, func(a, b head) int { return cmp.Compare(a.path, b.path) })
	for _, h := range sorted {
		text, err := spool.read(h.start, h.length)
		if err != nil {
			return err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		if err := w.writeMemory(ctx, h, []byte(*l.Content)); err != nil {
			return err
		}
	}
	if err := w.tar.WriteHeader(header(historyName, spool.size, w.manifest.CreatedAt)); err != nil {
		return err
	}
	return spool.copyTo(w.tar)
}

// A head says where in a spool the contents of a memory are.
type head struct {
	path          memento.Path
	at            time.Time
	start, length int64
}

func (w *writer) writeManifest() error {
	text, err := plainJSON(w.manifest)
	if err != nil {
		return err
	}
	if err := w.tar.WriteHeader(header(manifestName, int64(len(text)), w.manifest.CreatedAt)); err != nil {
		return err
	}
	_, err = w.tar.Write(text)
	return err
}

func (w *writer) writeMemory(ctx context.Context, h head, content []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.tar.WriteHeader(header(memoriesPrefix+string(h.path), int64(len(content)), h.at)); err != nil {
		return fmt.Errorf("%s: %w", h.path, err)
	}
	if _, err := w.tar.Write(content); err != nil {
		return err
	}
	w.Memories++
	w.Bytes += int64(len(content))
	w.progress(w.Versions+w.Memories, w.total)
	return nil
}

func header(name string, size int64, at time.Time) *tar.Header {
	return &tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Size:     size,
		Mode:     0o600,
		ModTime:  at.Truncate(time.Second), // without fractions, most entries need no extended header
	}
}
