package dirstore

import (
	"context"
	"strings"
	"time"

	"memento"
)

// entry returns the listing entry for an unmanaged file.
func (r *row) entry() memento.Entry {
	at := time.Unix(0, r.print.mtime).UTC()
	return memento.Entry{
		Path:      r.path,
		Foreign:   true,
		Memory:    memento.Memory{Path: r.path, Size: r.print.size, CreatedAt: at, UpdatedAt: at},
		Usage:     memento.Usage{Memories: 1, Bytes: r.print.size},
		UpdatedAt: at,
	}
}

// listMerged lists memories and unmanaged files together. The latter are ordered by path.
func (b *Backend) listMerged(ctx context.Context, store memento.StoreID, opts memento.ListOptions, unmanaged []*row, yield func(memento.Entry, error) bool) {
	l := lister{opts: opts, yield: yield}
	all := opts
	if opts.Depth > 0 || strings.HasSuffix(opts.After, "/") {
		all.Depth, all.After, all.Limit = 0, "", 0 // directories are summed up here
	}
	for e, err := range b.db.List(ctx, store, all) {
		if err != nil {
			yield(memento.Entry{}, err)
			return
		}
		for len(unmanaged) > 0 && unmanaged[0].path < e.Path {
			if !l.take(unmanaged[0].entry()) {
				return
			}
			unmanaged = unmanaged[1:]
		}
		if len(unmanaged) > 0 && unmanaged[0].path == e.Path { // its file is no longer the memory's
			e = unmanaged[0].entry()
			unmanaged = unmanaged[1:]
		}
		if !l.take(e) {
			return
		}
	}
	for _, r := range unmanaged {
		if !l.take(r.entry()) {
			return
		}
	}
	l.end()
}

// A lister makes a listing from entries that come ordered by path.
type lister struct {
	opts  memento.ListOptions
	yield func(memento.Entry, error) bool

	open    memento.Entry // the directory being summed up, if Dir is set
	yielded int
	done    bool
}

// take adds the next entry and reports whether more are wanted.
func (l *lister) take(e memento.Entry) bool {
	dir, ok := l.rolledInto(e.Path)
	if !ok {
		return l.end() && l.emit(e)
	}
	if !l.open.Dir || l.open.Path != dir {
		if !l.end() {
			return false
		}
		l.open = memento.Entry{Path: dir, Dir: true}
	}
	l.open.Usage.Memories += e.Usage.Memories
	l.open.Usage.Bytes += e.Usage.Bytes
	if e.UpdatedAt.After(l.open.UpdatedAt) {
		l.open.UpdatedAt = e.UpdatedAt
	}
	return true
}

// rolledInto returns the directory that a path below the depth limit is summed up in.
func (l *lister) rolledInto(p memento.Path) (memento.Path, bool) {
	if l.opts.Depth <= 0 {
		return "", false
	}
	end := len(l.opts.Dir.Prefix())
	for range l.opts.Depth {
		i := strings.IndexByte(string(p[end:]), '/')
		if i < 0 {
			return "", false
		}
		end += i + 1
	}
	return p[:end-1], true
}

// end yields the directory being summed up, if there is one.
func (l *lister) end() bool {
	if !l.open.Dir {
		return !l.done
	}
	e := l.open
	l.open = memento.Entry{}
	return l.emit(e)
}

func (l *lister) emit(e memento.Entry) bool {
	if l.done {
		return false
	}
	if e.Cursor() <= l.opts.After {
		return true
	}
	l.yielded++
	l.done = !l.yield(e, nil) || l.yielded == l.opts.Limit
	return !l.done
}
