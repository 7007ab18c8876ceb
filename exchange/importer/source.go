package importer

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"memento"
	"memento/internal/notefiles"

	"golang.org/x/text/unicode/norm"
)

// A Source is something to import from. It is used once, and closed by the caller.
type Source struct {
	name  string // of a single file; "" if it has none
	kind  kind
	root  *os.Root      // of a folder
	start *bufio.Reader // of everything but a folder
	file  *os.File      // of a zip file; also what start reads, if that is a file
	close []func() error
	notes func(yield func(memento.Path, string) bool) // of kindNotes
}

type kind int

const (
	kindFolder kind = iota
	kindTar
	kindTarGz
	kindZip
	kindFile
	kindArchive // of package archive
	kindNotes   // read already
)

// Open opens the file or folder at name.
func Open(name string) (*Source, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		return &Source{kind: kindFolder, root: root, close: []func() error{root.Close}}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s := OpenReader(f, filepath.Base(name))
	s.file = f
	s.close = append(s.close, f.Close)
	return s, nil
}

// OpenReader reads a source from a stream, such as standard input. name is that of the
// note, if the stream is a single text; "" if it has none.
func OpenReader(r io.Reader, name string) *Source {
	s := &Source{name: name, start: bufio.NewReaderSize(r, peekBytes)}
	start, _ := s.start.Peek(peekBytes) // an error comes back when it is read
	s.kind = detectKind(start)
	return s
}

// FromNotes returns a source of notes that were read by other means.
func FromNotes(notes func(yield func(memento.Path, string) bool)) *Source {
	return &Source{kind: kindNotes, notes: notes}
}

// peekBytes is how much of a stream is looked at to find out what it is: enough for the
// first block of a compressed tar file.
const peekBytes = 64 << 10

// detectKind says what a stream is that begins with start.
func detectKind(start []byte) kind {
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")), bytes.HasPrefix(start, []byte("PK\x05\x06")):
		return kindZip
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		zr, err := gzip.NewReader(bytes.NewReader(start))
		if err != nil {
			return kindTarGz // its reader says what is wrong
		}
		h, err := tar.NewReader(zr).Next()
		if err == nil && h.Name == archiveManifest {
			return kindArchive
		}
		return kindTarGz
	case len(start) > 262 && string(start[257:262]) == "ustar":
		return kindTar
	}
	return kindFile
}

// archiveManifest is the first entry of an archive of package archive.
const archiveManifest = "memento.json"

// Archive returns what package archive reads, if the source is one of its archives.
func (s *Source) Archive() (r io.Reader, ok bool) {
	return s.start, s.kind == kindArchive
}

// Close closes what Open has opened. A second call does nothing.
func (s *Source) Close() error {
	var errs []error
	for _, c := range s.close {
		errs = append(errs, c())
	}
	s.close = nil
	return errors.Join(errs...)
}

// A visit gets each file of a source. read returns its text, of at most most bytes, with
// the errors of notefiles.ReadText; it is nil for what is left out anyway.
type visit func(f notefiles.File, read func(most int64) (string, error)) error

func (s *Source) walk(ctx context.Context, rules *notefiles.Rules, maxBytes int64, v visit) error {
	switch s.kind {
	case kindFolder:
		return notefiles.Walk(ctx, s.root, rules, func(f notefiles.File) error {
			return v(f, func(most int64) (string, error) { return notefiles.Read(s.root, f.Name, most) })
		})
	case kindTar:
		return walkTar(ctx, &meter{r: s.start, left: maxBytes}, rules, v)
	case kindTarGz:
		zr, err := gzip.NewReader(s.start)
		if err != nil {
			return malformed("", "it is damaged: %v", err)
		}
		return walkTar(ctx, &meter{r: zr, left: maxBytes}, rules, v)
	case kindZip:
		return s.walkZip(ctx, rules, maxBytes, v)
	case kindNotes:
		for p, text := range s.notes {
			f := notefiles.File{Name: strings.TrimPrefix(string(p), "/")}
			f.Path, f.Left = rules.Judge(f.Name, 0, int64(len(text)))
			if err := v(f, func(most int64) (string, error) { return notefiles.ReadText(strings.NewReader(text), most) }); err != nil {
				return err
			}
		}
		return nil
	}
	return s.walkFile(rules, v)
}

// walkFile visits the one file that the source is.
func (s *Source) walkFile(rules *notefiles.Rules, v visit) error {
	if s.name == "" {
		return malformed("", `it is a single text without a name; write it with "memento put PATH -", or choose a format`)
	}
	f := notefiles.File{Name: norm.NFC.String(s.name)}
	f.Path, f.Left = rules.Judge(f.Name, 0, -1)
	return v(f, func(most int64) (string, error) { return notefiles.ReadText(s.start, most) })
}

// entries judges the names of an archive's entries.
type entries struct {
	rules *notefiles.Rules
	seen  map[memento.Path]bool
}

func (e *entries) judge(name string, mode fs.FileMode, size int64) notefiles.File {
	f := notefiles.File{Name: name}
	f.Path, f.Left = e.rules.Judge(name, mode, size)
	if f.Left == "" {
		if e.seen[f.Path] {
			f.Left = notefiles.SameName
		}
		e.seen[f.Path] = true
	}
	return f
}

// cleanName returns the name of an entry as other sources have it.
func cleanName(name string) string {
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	return strings.TrimSuffix(name, "/")
}

func walkTar(ctx context.Context, r *meter, rules *notefiles.Rules, v visit) error {
	tr := tar.NewReader(r)
	e := entries{rules, map[memento.Path]bool{}}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return streamError(err)
		}
		mode := h.FileInfo().Mode()
		switch h.Typeflag {
		case tar.TypeXGlobalHeader, tar.TypeDir:
			continue
		case tar.TypeLink: // it looks like a regular file without contents
			mode = fs.ModeIrregular
		}
		f := e.judge(cleanName(h.Name), mode, h.Size)
		err = v(f, func(most int64) (string, error) {
			text, err := notefiles.ReadText(tr, most)
			if err != nil && !errors.Is(err, notefiles.ErrNotText) && !errors.Is(err, memento.ErrTooLarge) {
				err = fatal{streamError(err)}
			}
			return text, err
		})
		if err != nil {
			return err
		}
	}
	// The checksum of gzip comes after the end of the tar file.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return streamError(err)
	}
	return nil
}

// fatal is an error that ends the reading of the whole source.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

// streamError says what is wrong with a compressed or packed stream.
func streamError(err error) error {
	switch {
	case errors.Is(err, errTooMuch):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("", "it is truncated")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong),
		strings.HasPrefix(err.Error(), "flate: corrupt"):
		return malformed("", "it is damaged, or not a tar file")
	}
	return fmt.Errorf("read the source: %w", err)
}

// errTooMuch says that a source has more than Options.MaxBytes.
var errTooMuch = fmt.Errorf("%w: the source is larger than --max-bytes", memento.ErrTooLarge)

// A meter fails with errTooMuch once more than left bytes were read.
type meter struct {
	r    io.Reader
	left int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		var one [1]byte // the end is no more
		n, err := m.r.Read(one[:])
		if n > 0 {
			return 0, errTooMuch
		}
		return 0, err
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}

// maxDirectory is the size in bytes of a zip file's directory, of which each entry needs
// about 50. Package zip holds all of it in memory.
const maxDirectory = 32 << 20

func (s *Source) walkZip(ctx context.Context, rules *notefiles.Rules, maxBytes int64, v visit) error {
	file, size, err := s.seekable(maxBytes)
	if err != nil {
		return err
	}
	directory := &directoryReader{r: file, left: maxDirectory}
	zr, err := zip.NewReader(directory, size)
	switch {
	case errors.Is(err, errTooMuch):
		return fmt.Errorf("%w: its directory has more than %d bytes", memento.ErrTooLarge, maxDirectory)
	case err != nil:
		return malformed("", "it is damaged, or not a zip file: %v", err)
	}
	directory.opened = true
	e := entries{rules, map[memento.Path]bool{}}
	budget := maxBytes
	for _, h := range zr.File {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := h.Name
		if !strings.Contains(name, "/") { // old programs for Windows
			name = strings.ReplaceAll(name, `\`, "/")
		}
		if strings.HasSuffix(name, "/") || h.Mode().IsDir() || strings.HasPrefix(name, "__MACOSX/") {
			continue
		}
		f := e.judge(cleanName(name), h.Mode(), int64(min(h.UncompressedSize64, 1<<62)))
		err := v(f, func(most int64) (string, error) { return readZip(h, most, &budget) })
		if err != nil {
			return err
		}
	}
	return nil
}

func readZip(h *zip.File, most int64, budget *int64) (string, error) {
	if h.Flags&1 != 0 {
		return "", errors.New("it is encrypted")
	}
	f, err := h.Open()
	if err != nil {
		return "", fmt.Errorf("it cannot be unpacked: %w", err)
	}
	defer f.Close()
	m := &meter{r: f, left: *budget}
	text, err := notefiles.ReadText(m, most)
	*budget = m.left
	switch {
	case errors.Is(err, errTooMuch):
		return "", fatal{err}
	case err == nil, errors.Is(err, notefiles.ErrNotText), errors.Is(err, memento.ErrTooLarge):
		return text, err
	}
	return "", fmt.Errorf("it is damaged: %w", err)
}

// seekable returns the zip file, after it was copied to a temporary file if it comes from
// a stream.
func (s *Source) seekable(maxBytes int64) (*os.File, int64, error) {
	if s.file != nil {
		info, err := s.file.Stat()
		if err == nil && info.Mode().IsRegular() {
			return s.file, info.Size(), nil
		}
	}
	f, err := os.CreateTemp("", "memento-*.zip") // mode 0600
	if err != nil {
		return nil, 0, err
	}
	s.close = append(s.close, f.Close, func() error { return os.Remove(f.Name()) })
	size, err := io.Copy(f, &meter{r: s.start, left: maxBytes})
	return f, size, err
}

// A directoryReader limits what package zip reads until it has the directory.
type directoryReader struct {
	r      io.ReaderAt
	left   int64
	opened bool
}

func (d *directoryReader) ReadAt(p []byte, off int64) (int, error) {
	if !d.opened {
		if d.left -= int64(len(p)); d.left < 0 {
			return 0, errTooMuch
		}
	}
	return d.r.ReadAt(p, off)
}

// extension returns the extension of a file's name, for counting.
func extension(name string) string {
	return cmp.Or(strings.ToLower(path.Ext(name)), "without an extension")
}
