package dirstore

import (
	"context"
	"time"

	"memento"
)

// A power failure can bring back a file that was removed, renamed or replaced, if the
// names in its folder were not flushed yet. The index is not flushed either, and may not
// know the file. Such a leftover must not be taken for a file that was added or changed
// by hand. The history tells the two apart: the file has a text that was at this path
// before, and was not touched since a memory was last changed at this path or left it. If
// a person puts an old text back, the file was touched later, by any means, since that
// changes the time of its inode.
//
// A rename that was half flushed leaves one file with two names, which was touched by the
// rename itself. Then all names of the file are in the folder, and its memory was at each
// of them: it is a leftover wherever the memory is not any more.
//
// A leftover gets the row that the index should have had. decide then does the rest.

// A pathHistory is what the history says about one path.
type pathHistory struct {
	versions map[string]memento.Version // the newest one for each hash, without contents
	byMemory map[text]memento.Version   // likewise, for each hash and memory
	last     time.Time                  // when a memory was last made or changed here, or left
}

// A text is a text of a memory.
type text struct {
	hash   string
	memory memento.MemoryID
}

// leftover returns a row for the file that x describes if it is a leftover, or nil. hash
// returns the hash of the file's contents.
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
	case x.head != nil && x.row != nil && x.row.version == x.head.Version: // it was flushed before the index was written
		return nil, nil
	case x.head != nil && x.head.SHA256 == hash():
		return nil, nil
	}
	v, was := w.halfRenamed(x, hash)
	if !was {
		if t.last.UnixNano() < touched(x.found.info) || t.last.After(time.Now()) { // a time in the future proves nothing
			return nil, nil
		}
		if v, was = t.versions[hash()]; !was {
			return nil, nil
		}
	}
	return &row{path: x.path, memory: v.Memory, version: v.ID, sha256: v.SHA256, print: printOf(x.found.info), checked: x.checked}, nil
}

// halfRenamed returns the version that a file with several names has, if all of them are in
// the folder, and one memory was at each of them with the text of the file.
func (w *work) halfRenamed(x *finding, hash func() string) (v memento.Version, ok bool) {
	inode, _, links := inodeOf(x.found.info)
	names := w.names[inode]
	if inode == 0 || links < 2 || uint64(len(names)) != links {
		return v, false
	}
	for of, v := range w.pastTexts[x.path].byMemory {
		everywhere := of.hash == hash()
		for _, p := range names {
			_, was := w.pastTexts[p].byMemory[of]
			everywhere = everywhere && was
		}
		if everywhere {
			return v, true
		}
	}
	return v, false
}

// readPastTexts reads the history once, for all files that the index does not know, and
// those with several names.
func (w *work) readPastTexts(ctx context.Context, s *scan) error {
	w.pastTexts, w.names = map[memento.Path]*pathHistory{}, map[uint64][]memento.Path{}
	for p, at := range s.found {
		inode, _, links := inodeOf(at.info)
		if links > 1 && at.info.Mode().IsRegular() {
			w.names[inode] = append(w.names[inode], p)
		}
		if r := w.f.row(p); r == nil || links > 1 || r.print != printOf(at.info) {
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
			t.versions, t.byMemory = map[string]memento.Version{}, map[text]memento.Version{}
		}
		t.versions[v.SHA256], t.byMemory[text{v.SHA256, v.Memory}], t.last = v, v, v.CreatedAt
		at[v.Memory] = v.Path
	}
	return nil
}

// addRows adds rows of leftovers to the tree before anything is done about the files: if
// that fails, the next call needs the rows too.
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
