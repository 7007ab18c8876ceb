package httpstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"memento"
	"memento/internal/wire"
)

// Get returns a memory with its contents.
func (b *Backend) Get(ctx context.Context, id memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	const op = "get"
	query := url.Values{"peek": {"true"}, "view": {"full"}}
	r := request{op: op, method: http.MethodGet, query: query, safe: true}
	switch {
	case ref.Path == "" && isID(string(ref.ID), "mem_"):
		r.path = "/memories/" + string(ref.ID)
	case ref.Path != "" && isPath(ref.Path):
		r.path = "/memories/by-path"
		query.Set("path", string(ref.Path))
	default: // no memory has such an ID or path
		if err := b.exists(ctx, op, id); err != nil {
			return memento.Memory{}, err
		}
		err := memento.ErrNotExist
		if ref.Path == memento.Root {
			err = memento.ErrIsDir
		}
		return memento.Memory{}, &memento.Error{Op: op, Path: ref.Path, Err: err}
	}
	var answer wire.Memory
	if err := b.in(ctx, id, r, &answer); err != nil {
		if at, ok := errors.AsType[*memento.Error](err); ok && at.Path == "" && !errors.Is(err, memento.ErrNoStore) {
			at.Path = ref.Path
		}
		return memento.Memory{}, err
	}
	m := answer.Memory()
	if err := m.CheckContent(op); err != nil { // a proxy may have changed it
		return memento.Memory{}, err
	}
	return m, nil
}

func isPath(p memento.Path) bool {
	_, err := memento.ParsePath(string(p))
	return err == nil
}

// An entryLine is a line of a listing: a memory, a directory, or a file that is not a
// memory.
type entryLine struct {
	wire.Memory
	Memories  int64 `json:"memories"`   // of a directory
	SizeBytes int64 `json:"size_bytes"` // of a file that is not a memory
	control
}

func (l *entryLine) entry() memento.Entry {
	e := memento.Entry{Path: l.Path, UpdatedAt: l.UpdatedAt}
	switch l.Type {
	case "memory_prefix":
		e.Path = memento.Path(strings.TrimSuffix(string(l.Path), "/"))
		e.Dir = true
		e.Usage = memento.Usage{Memories: l.Memories, Bytes: l.Size}
	case "foreign_file":
		e.Foreign = true
		e.Memory = memento.Memory{Path: l.Path, Size: l.SizeBytes, UpdatedAt: l.UpdatedAt}
	default:
		e.Memory = l.Memory.Memory()
		e.Usage = memento.Usage{Memories: 1, Bytes: l.Size}
	}
	return e
}

// List yields the memories below a directory.
func (b *Backend) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	const op = "list"
	return func(yield func(memento.Entry, error) bool) {
		if err := b.list(ctx, op, id, opts, yield); err != nil {
			yield(memento.Entry{}, err)
		}
	}
}

func (b *Backend) list(ctx context.Context, op string, id memento.StoreID, opts memento.ListOptions, yield func(memento.Entry, error) bool) error {
	path, ok := storePath(id, "/entries")
	switch {
	case !ok:
		return b.absent(ctx, op, noStore(op))
	case opts.Dir != "" && opts.Dir != memento.Root && !isPath(opts.Dir): // there is nothing below such a path
		return b.exists(ctx, op, id)
	case !utf8.ValidString(opts.After):
		return b.absent(ctx, op, &memento.Error{Op: op, Err: invalid("the cursor of the listing is not a path")})
	}
	query := url.Values{}
	if opts.Dir != "" {
		query.Set("path_prefix", opts.Dir.Prefix())
	}
	set(query, "after", opts.After)
	setNumber(query, "depth", min(int64(opts.Depth), memento.MaxPathBytes)) // no path is deeper
	setNumber(query, "limit", int64(opts.Limit))
	setTrue(query, "contents", opts.Contents)
	setTrue(query, "brief", opts.Brief)
	var damaged error
	err := each(ctx, b, request{op: op, method: http.MethodGet, path: path, query: query, safe: true},
		func(l *entryLine) (string, *control) { return l.Type, &l.control },
		func(l *entryLine) bool {
			e := l.entry()
			if opts.Contents && !e.Dir && !e.Foreign {
				damaged = e.Memory.CheckContent(op)
			}
			return damaged == nil && yield(e, nil)
		})
	return cmp.Or(err, damaged)
}

const maxNumber = 1 << 30 // the largest number sent in a query

// setNumber sets a parameter to a positive number. A number above maxNumber has the same
// effect as none.
func setNumber(query url.Values, name string, n int64) {
	if n > 0 && n <= maxNumber {
		query.Set(name, strconv.FormatInt(n, 10))
	}
}

func setTrue(query url.Values, name string, set bool) {
	if set {
		query.Set(name, "true")
	}
}

// Apply makes changes as one. MaskedBy of a change is not sent: the server masks what it
// receives, by the settings that the store has then.
func (b *Backend) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	const op = "apply"
	body := struct {
		Changes []wire.Change `json:"changes"`
	}{make([]wire.Change, len(changes))}
	for i, c := range changes {
		if err := checkTexts(c); err != nil {
			return memento.Applied{}, b.absent(ctx, op, err)
		}
		body.Changes[i] = wire.FromChange(c)
	}
	var answer wire.Applied
	if err := b.in(ctx, id, request{op: op, method: http.MethodPost, path: "/changes", body: body, by: &by}, &answer); err != nil {
		return memento.Applied{}, err
	}
	return answer.Applied(), nil
}

// checkTexts refuses texts that JSON cannot represent, with the server's errors.
func checkTexts(c memento.Change) error {
	var paths []memento.Path
	var content *string
	op := "put"
	switch c := c.(type) {
	case memento.Put:
		paths, content = []memento.Path{c.Path}, &c.Content
	case memento.Remove:
		paths = []memento.Path{c.Path}
	case memento.Move:
		paths, content, op = []memento.Path{c.From, c.To}, c.Content, "move"
	}
	for _, p := range paths {
		if utf8.ValidString(string(p)) {
			continue
		}
		if _, err := memento.ParsePath(string(p)); err != nil {
			return err
		}
	}
	if content != nil && !utf8.ValidString(*content) {
		return &memento.Error{Op: op, Path: paths[0], Err: invalid("contents are not valid UTF-8")}
	}
	return nil
}

// Import appends versions unchanged.
func (b *Backend) Import(ctx context.Context, id memento.StoreID, versions []memento.Version) error {
	const op = "import"
	for i := range versions {
		v := &versions[i]
		if !utf8.ValidString(v.Content) {
			return b.absent(ctx, op, &memento.Error{Op: op, Path: v.Path, Err: invalid("version %q is not valid UTF-8", v.ID)})
		}
		if _, err := memento.ParsePath(string(v.Path)); err != nil && !utf8.ValidString(string(v.Path)) {
			return b.absent(ctx, op, err)
		}
	}
	lines := func() io.Reader { return &versionLines{store: id, left: versions} }
	return b.in(ctx, id, request{op: op, method: http.MethodPost, path: "/history", lines: lines}, nil)
}

// versionLines is a reader of versions as JSON lines. The last line says that the input
// is complete.
type versionLines struct {
	store memento.StoreID
	left  []memento.Version
	ended bool
	buf   bytes.Buffer
}

func (l *versionLines) Read(p []byte) (int, error) {
	for l.buf.Len() == 0 {
		e := json.NewEncoder(&l.buf)
		e.SetEscapeHTML(false)
		switch {
		case len(l.left) > 0:
			if err := e.Encode(wire.FromVersion(l.store, l.left[0], true)); err != nil {
				return 0, err
			}
			l.left = l.left[1:]
		case !l.ended:
			l.buf.WriteString(`{"type":"end"}` + "\n")
			l.ended = true
		default:
			return 0, io.EOF
		}
	}
	return l.buf.Read(p)
}
