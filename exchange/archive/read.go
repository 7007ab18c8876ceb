package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"memento"
)

// Read reads an archive into the store: [Load] and [Archive.Import] in one.
func Read(ctx context.Context, r io.Reader, store *memento.Store, by memento.Actor, opts *ReadOptions) (Summary, error) {
	a, err := Load(ctx, r, opts)
	if err != nil {
		return Summary{}, err
	}
	return a.Import(ctx, store, by)
}

// An Archive is an archive that was read and checked completely. See [Load].
type Archive struct {
	opts     ReadOptions
	manifest manifest
	memories []memory
	versions []memento.Version // nil with ContentsOnly
	bytes    int64             // contents of the memories
}

// Load reads an archive and checks it, without changing anything. Its use of memory is
// limited by opts.MaxBytes.
//
// Errors: [FormatError], [ErrTooLarge], [ErrNoHistory], and those of r.
func Load(ctx context.Context, r io.Reader, opts *ReadOptions) (*Archive, error) {
	l := &loader{opts: opts.complete(), known: map[string]string{}}
	l.left = l.opts.MaxBytes
	l.notAfter = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	if !l.opts.ContentsOnly {
		l.notAfter = l.opts.Now().Add(24 * time.Hour) // clocks differ
	}
	if err := l.load(ctx, r); err != nil {
		return nil, err
	}
	return &Archive{l.opts, l.manifest, l.memories, l.versions, l.bytes}, nil
}

// Spec describes a store like the one that the archive was written from, with its name,
// description, metadata, limits and settings. Its read-only patterns are left out, since
// they would prevent Import from writing; see ReadOnly. If that store did not look for
// secrets, this one masks them: an archive from elsewhere must not turn that off; see
// SensitiveOff and WideExceptions.
func (a *Archive) Spec() memento.StoreSpec { return a.manifest.Store.spec() }

// SensitiveOff reports whether the mode for sensitive information of the store that the
// archive was written from is [memento.Off]. A caller who trusts the archive can set it in
// the result of Spec.
func (a *Archive) SensitiveOff() bool { return a.manifest.Store.Settings.Sensitive.Mode == memento.Off }

// WideExceptions is the number of exceptions, such as the expression ".*" and the path "/",
// that allow secrets of any kind or anywhere. Spec leaves them out.
func (a *Archive) WideExceptions() int {
	_, wide := withoutWide(a.manifest.Store.Settings.Sensitive)
	return wide
}

// ReadOnly returns the read-only patterns of the store that the archive was written from.
// They can be set after Import.
func (a *Archive) ReadOnly() []memento.Pattern {
	return slices.Clone(a.manifest.Store.Settings.ReadOnly)
}

// Memories yields the memories, in byte order of path, with their contents.
func (a *Archive) Memories() iter.Seq2[memento.Path, string] {
	return func(yield func(memento.Path, string) bool) {
		for _, m := range a.memories {
			if !yield(m.path, m.content) {
				return
			}
		}
	}
}

// Check is the dry run of Import with the history: it returns what would be imported, or
// [ErrNotEmpty].
func (a *Archive) Check(ctx context.Context, store *memento.Store) (Summary, error) {
	for _, err := range store.Versions(ctx, memento.VersionListOptions{Limit: 1}) {
		if err != nil {
			return Summary{}, err
		}
		return Summary{}, failed("import", "", fmt.Errorf("the store %w: it has its own history", ErrNotEmpty))
	}
	return Summary{Memories: len(a.memories), Versions: len(a.versions), Bytes: a.bytes}, nil
}

// Import writes what was read to the store, atomically.
//
// An archive with its history, which keeps IDs, times and actors, requires a store that
// has no history. Contents only can go to any store, as changes made by the given actor.
//
// Secrets are treated as the settings of the target store say: they are masked and
// counted, or the archive is refused. Since a path cannot be masked, an archive with a
// path that looks sensitive is refused. The error names the version, if the history is
// read, and never the path.
//
// Errors: [ErrNotEmpty]; ErrExist if a memory exists already, unless
// ReadOptions.Overwrite is set; ErrProtected; ErrSensitive; and the others of
// [memento.Store.Apply] and [memento.Store.Import].
func (a *Archive) Import(ctx context.Context, store *memento.Store, by memento.Actor) (Summary, error) {
	sum := Summary{Memories: len(a.memories), Versions: len(a.versions), Bytes: a.bytes}
	if a.opts.ContentsOnly {
		replaced, err := put(ctx, store, by, a.memories, a.opts.Overwrite)
		if err != nil {
			return Summary{}, err
		}
		sum.Masked, sum.Marked = countKinds(replaced)
		return sum, nil
	}
	if _, err := a.Check(ctx, store); err != nil {
		return Summary{}, err
	}
	replaced, err := store.Import(ctx, a.versions)
	switch {
	case errors.Is(err, memento.ErrExist), errors.Is(err, memento.ErrIsDir), errors.Is(err, memento.ErrNotDir):
		return Summary{}, malformed(historyName, "two memories cannot both exist: %v", err)
	case err != nil:
		return Summary{}, err
	}
	sum.Masked, sum.Marked = countKinds(replaced)
	return sum, nil
}

// countKinds counts what was masked, and what was marked, by its kind.
func countKinds(found []memento.FindingLocation) (masked, marked map[string]int) {
	count := func(counts *map[string]int, kind string) {
		if *counts == nil {
			*counts = map[string]int{}
		}
		(*counts)[kind]++
	}
	for _, f := range found {
		if f.IsInstruction() {
			count(&marked, f.Kind)
		} else {
			count(&masked, f.Kind)
		}
	}
	return masked, marked
}

// put writes memories to the store in one change, and returns what was masked or marked.
func put(ctx context.Context, store *memento.Store, by memento.Actor, memories []memory, overwrite bool) ([]memento.FindingLocation, error) {
	cond := memento.IfAbsent()
	if overwrite {
		cond = memento.Condition{}
	}
	changes := make([]memento.Change, len(memories))
	for i, m := range memories {
		changes[i] = memento.Put{Path: m.path, Content: m.content, If: cond}
	}
	if len(changes) == 0 {
		return nil, nil
	}
	r, err := store.Apply(ctx, by, changes...)
	return append(r.Masked, r.Marked...), err
}

// A memory is one that was read.
type memory struct {
	path    memento.Path
	content string
}

// A loader reads one archive. It does not trust the input.
type loader struct {
	opts     ReadOptions
	left     int64 // number of bytes that may still be read
	notAfter time.Time

	manifest manifest
	memories []memory
	versions []memento.Version
	bytes    int64
	known    map[string]string // contents by hash, to keep each only once
	done     int

	kept, reading, reserved int64 // bytes: already read, being read, and reserved for both
}

const (
	keptCost    = 2       // bytes of memory for each byte of contents while it is imported
	readingCost = 3       // bytes of memory for each byte of an entry or a line while it is read
	entryCost   = 512     // bytes of memory for each entry or line in addition
	reserveStep = 1 << 20 // bytes
)

// hold reserves memory for what was read.
func (l *loader) hold() error {
	want := keptCost*l.kept + readingCost*l.reading
	if want <= l.reserved {
		return nil
	}
	step := max(want-l.reserved, reserveStep)
	l.reserved += step
	return l.opts.Reserve(step)
}

// A heldReader reserves memory before it reads on.
type heldReader struct {
	l *loader
	r io.Reader
}

func (h heldReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.l.reading += int64(n)
	if full := h.l.hold(); full != nil {
		return n, full
	}
	return n, err
}

// keep counts bytes that were read and are kept.
func (l *loader) keep(bytes int) {
	l.kept += int64(bytes) + entryCost
	l.reading = 0
}

func (l *loader) load(ctx context.Context, r io.Reader) error {
	zr, err := gzip.NewReader(r)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("", "it is not a tar.gz file")
	case err != nil:
		return l.damaged(err)
	}
	// The sizes in headers count as well as the bytes actually read: each can be large
	// while the other is small.
	plain := &meter{r: zr, left: l.opts.MaxBytes + l.opts.MaxBytes/2 + 1<<20}
	tr := tar.NewReader(plain)
	h, err := l.next(tr)
	switch {
	case errors.Is(err, io.EOF):
		return malformed("", "it is empty")
	case err != nil:
		return err
	case h.Name != manifestName:
		return malformed(h.Name, "an archive starts with %s; this is another kind of file", manifestName)
	}
	if err := l.readManifest(tr, h); err != nil {
		return err
	}
	history := false
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := l.next(tr)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case history:
			return malformed(h.Name, "%s is the last entry of an archive", historyName)
		case h.Name == historyName && l.manifest.History:
			history = true
			err = l.readHistory(ctx, tr, h)
		default:
			err = l.readMemory(tr, h)
		}
		if err != nil {
			return err
		}
	}
	// The end of the tar file is followed by zeros and the checksum of gzip.
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return l.damaged(err)
	}
	switch {
	case len(l.memories) != l.manifest.Memories:
		return malformed("", "it has %d memories; %s promises %d", len(l.memories), manifestName, l.manifest.Memories)
	case l.manifest.History && !history:
		return malformed("", "it has no %s, which %s promises", historyName, manifestName)
	case !l.manifest.History && !l.opts.ContentsOnly:
		return ErrNoHistory
	}
	return nil
}

// next returns the header of the next entry. It must be a regular file, within the limit.
func (l *loader) next(tr *tar.Reader) (*tar.Header, error) {
	h, err := tr.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	case err != nil:
		return nil, l.damaged(err)
	case h.Typeflag != tar.TypeReg:
		return nil, malformed(h.Name, "it is not a regular file")
	case h.Size > l.left:
		return nil, fmt.Errorf("the archive is %w: %d bytes", ErrTooLarge, l.opts.MaxBytes)
	}
	l.left -= h.Size
	return h, nil
}

// damaged returns the error for an error in reading: either of the archive, or of the
// reader below.
func (l *loader) damaged(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("the archive is %w: %d bytes", ErrTooLarge, l.opts.MaxBytes)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("", "it is truncated")
	case errors.Is(err, gzip.ErrHeader):
		return malformed("", "it is not a tar.gz file")
	case errors.Is(err, gzip.ErrChecksum):
		return malformed("", "it is damaged: its checksum is wrong")
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong):
		return malformed("", "it is damaged, or not a tar.gz file")
	}
	if strings.HasPrefix(err.Error(), "flate: corrupt") {
		return malformed("", "it is damaged: its compression is broken")
	}
	return fmt.Errorf("read archive: %w", err)
}

func (l *loader) readManifest(tr *tar.Reader, h *tar.Header) error {
	const most = 1 << 20
	if h.Size > most {
		return malformed(h.Name, "it has %d bytes; the limit is %d", h.Size, most)
	}
	text, err := l.readAll(tr, h)
	if err != nil {
		return err
	}
	l.manifest, err = parseManifest(text)
	return err
}

func (l *loader) readMemory(tr *tar.Reader, h *tar.Header) error {
	name, ok := strings.CutPrefix(h.Name, memoriesPrefix)
	if !ok || name == "" || name[0] != '/' {
		return malformed(h.Name, "it is not an entry of an archive")
	}
	p, err := memento.ParsePath(name)
	if err != nil {
		at, _ := errors.AsType[*memento.PathError](err)
		return malformed(h.Name, "its path is invalid: %s", at.Reason)
	}
	if n := len(l.memories); n > 0 && p <= l.memories[n-1].path {
		return malformed(h.Name, "it exists twice, or is out of order: memories come in byte order of path")
	}
	text, err := l.readAll(tr, h)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return malformed(h.Name, "its contents are not valid UTF-8")
	}
	m := memory{p, string(text)}
	l.keep(len(m.path) + len(m.content))
	l.known[memento.HashContent(m.content)] = m.content
	l.memories = append(l.memories, m)
	l.bytes += int64(len(m.content))
	l.advance()
	return nil
}

// readAll returns the contents of an entry. A header that promises more than there is
// costs no memory: the buffer grows as data arrives.
func (l *loader) readAll(tr *tar.Reader, h *tar.Header) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(h.Size, 64<<10)))
	if _, err := b.ReadFrom(heldReader{l, tr}); err != nil {
		return nil, l.damaged(err)
	}
	return b.Bytes(), nil
}

// readHistory reads the versions, and checks that they end with the memories.
func (l *loader) readHistory(ctx context.Context, tr *tar.Reader, h *tar.Header) error {
	lines := bufio.NewReaderSize(heldReader{l, tr}, 64<<10)
	heads := map[memento.MemoryID]memento.Version{} // newest versions of existing memories, without contents
	seen := map[memento.VersionID]bool{}
	count := 0
	for {
		text, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		count++
		fault := func(format string, args ...any) error {
			return malformed(h.Name, "line %d: %s", count, fmt.Sprintf(format, args...))
		}
		switch {
		case errors.Is(err, io.EOF):
			return fault("it ends without a newline")
		case err != nil:
			return l.damaged(err)
		case ctx.Err() != nil:
			return ctx.Err()
		case count > l.manifest.Versions:
			return fault("%s promises only %d versions", manifestName, l.manifest.Versions)
		}
		v, err := l.parseVersion(text)
		switch {
		case err != nil:
			return fault("%v", err)
		case seen[v.ID]:
			return fault("version %s exists twice", v.ID)
		}
		seen[v.ID] = true
		if v.Operation == memento.Deleted || v.Redacted() {
			delete(heads, v.Memory)
		} else {
			head := v
			head.Content = ""
			heads[v.Memory] = head
		}
		if !l.opts.ContentsOnly {
			l.versions = append(l.versions, v)
		}
		l.advance()
	}
	if count != l.manifest.Versions {
		return malformed(h.Name, "it has %d versions; %s promises %d", count, manifestName, l.manifest.Versions)
	}
	return l.matchHistory(heads)
}

func (l *loader) parseVersion(text []byte) (memento.Version, error) {
	var raw line
	if !utf8.Valid(text) {
		return memento.Version{}, errors.New("it is not valid UTF-8")
	}
	if err := strictJSON(text, &raw); err != nil {
		return memento.Version{}, err
	}
	v, reason := raw.version(l.notAfter)
	if reason != "" {
		return memento.Version{}, errors.New(reason)
	}
	kept := len(v.Path)
	if l.opts.ContentsOnly {
		v.Content = ""
	} else if v.SHA256 != "" {
		if known, ok := l.known[v.SHA256]; ok {
			v.Content = known
		} else {
			l.known[v.SHA256] = v.Content
			kept += len(v.Content)
		}
	}
	l.keep(kept)
	return v, nil
}

// matchHistory compares the end of the history with the memories.
func (l *loader) matchHistory(heads map[memento.MemoryID]memento.Version) error {
	at := make(map[memento.Path]string, len(heads))
	for _, v := range heads {
		if _, twice := at[v.Path]; twice {
			return malformed(historyName, "it ends with two memories at %s", quoted(string(v.Path)))
		}
		at[v.Path] = v.SHA256
	}
	for _, m := range l.memories {
		switch hash, ok := at[m.path]; {
		case !ok:
			return malformed(historyName, "it does not end with the memory %s, which is in the archive", quoted(string(m.path)))
		case hash != memento.HashContent(m.content):
			return malformed(historyName, "it ends with other contents of %s than are in the archive", quoted(string(m.path)))
		}
		delete(at, m.path)
	}
	for p := range at {
		return malformed(historyName, "it ends with the memory %s, which is not in the archive", quoted(string(p)))
	}
	return nil
}

func (l *loader) advance() {
	l.done++
	l.opts.Progress(l.done)
}

// A meter returns [ErrTooLarge] once more than left bytes have been read.
type meter struct {
	r    io.Reader
	left int64
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	return n, err
}
