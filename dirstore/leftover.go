package dirstore

import (
	"context"
	"time"

	"memento"
)

// A machine that loses its power can bring back a file that was removed, renamed or
// replaced: the names in a folder were perhaps not flushed yet. The index, which is
// not flushed either, may know nothing of the file. It is then not a file that was
// added or edited by hand, but a leftover, and the history tells: a text that was at
// this path, in a file that nobody has touched since a memory was last changed there,
// or left it. An old text that a person puts back is in a file that was
// touched later, whichever way they do it, since that changes the time of its inode.
//
// A leftover gets the row that the index should have had. All else follows from
// that: see decide.

// A pathHistory is what the history tells of one path.
type pathHistory struct {
	versions map[string]memento.Version // the last with each hash, without contents
	last     time.Time                  // when a memory last came, was changed, or left
}

// leftover returns the row of the file that x is about if that is a leftover,
// or nil. hash is that of the file's contents.
func (w *work) leftover(ctx context.Context, x *finding, s *scan, hash func() string) (*row, error) {
	if w.pastTexts == nil {
		if err := w.readPastTexts(ctx, s); err != nil {
			return nil, err
		}
	}
	t := w.pastTexts[x.path]
	switch {
	case t == nil || t.versions == nil:
		return nil, nil
	case x.head != nil && x.row != nil && x.row.version == x.head.Version: // it was flushed before it was recorded
		return nil, nil
	case t.last.UnixNano() < touched(x.found.info) || t.last.After(time.Now()): // a time to come tells nothing
		return nil, nil
	case x.head != nil && x.head.SHA256 == hash():
		return nil, nil
	}
	v, was := t.versions[hash()]
	if !was {
		return nil, nil
	}
	return &row{path: x.path, memory: v.Memory, version: v.ID, sha256: v.SHA256, print: printOf(x.found.info), checked: x.checked}, nil
}

// readPastTexts reads the history once, for all files that the index does not know.
func (w *work) readPastTexts(ctx context.Context, s *scan) error {
	w.pastTexts = map[memento.Path]*pathHistory{}
	for p, at := range s.found {
		if r := w.f.row(p); r == nil || r.print != printOf(at.info) {
			w.pastTexts[p] = &pathHistory{}
		}
	}
	at := map[memento.MemoryID]memento.Path{} // where memories are, if at one of these paths
	for v, err := range w.f.b.db.ListVersions(ctx, w.f.store, memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			return err
		}
		if from, known := at[v.Memory]; known && (v.Operation == memento.Deleted || !v.Redacted() && v.Path != from) {
			w.pastTexts[from].last = v.CreatedAt
			delete(at, v.Memory)
		}
		t := w.pastTexts[v.Path]
		if t == nil || v.Operation == memento.Deleted || v.Redacted() {
			continue
		}
		if t.versions == nil {
			t.versions = map[string]memento.Version{}
		}
		t.versions[v.SHA256], t.last = v, v.CreatedAt
		at[v.Memory] = v.Path
	}
	return nil
}

// recall takes up rows of leftovers, before anything is done about them: whoever
// comes next has to know them as well, should that fail.
func (f *folder) addRows(rows []*row) {
	if len(rows) == 0 {
		return
	}
	c := changes{put: rows}
	f.mu.Lock()
	f.apply(&c)
	f.mu.Unlock()
	f.unindexed.merge(&c)
}
