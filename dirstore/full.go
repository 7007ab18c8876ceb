package dirstore

import (
	"context"
	"errors"
	"slices"

	"memento"
	"memento/internal/reserve"

	"zombiezen.com/go/sqlite"
)

// On a full disk, folders can be opened and read, and memories be removed. Room for that is
// in the reserve of the database: see package sqlitestore. What was changed by hand and cannot
// become a version for now stays as it is on disk, until there is room: reads are of what
// the database has, and changes of it are refused.

// releaseBytes is how much of the reserve is given away for a small file, or an index of a log.
const releaseBytes = 64 << 10

// isFull reports whether an error says that there is no room on the disk.
func isFull(err error) bool {
	if err == nil {
		return false
	}
	switch code := sqlite.ErrCode(err); {
	case code == sqlite.ResultIOErrSHMSize, code.ToPrimary() == sqlite.ResultFull:
		return true
	}
	return errors.Is(err, memento.ErrNoSpace) || reserve.IsFull(err)
}

// withReserve does something small, with room of the reserve if there is none otherwise.
func (b *Backend) withReserve(do func() error) error {
	err := do()
	if isFull(err) {
		reserve.Release(b.dbPath, releaseBytes)
		err = do()
	}
	return err
}

// openIndexFull opens the index with room of the reserve or, if there is none, one in
// memory: it is a cache.
func (b *Backend) openIndexFull(path string) (*fileIndex, error) {
	reserve.Release(b.dbPath, releaseBytes)
	r, err := openIndex(b.hidden, path)
	if !isFull(err) {
		return r, err
	}
	conn, err := openIndexFile(":memory:")
	if err != nil {
		return nil, translateIndex(err)
	}
	return &fileIndex{conn: conn}, nil
}

// Ready implements [memento.ReadyChecker].
func (b *Backend) Ready(ctx context.Context) error {
	if err := b.enter(ctx); err != nil {
		return fail("check", err)
	}
	defer b.leave()
	return b.db.Ready(ctx)
}

// room refuses changes that are more than removals if there is no room for their files.
// The database alone could perhaps still take them.
func (b *Backend) checkSpace(ctx context.Context, changes []memento.Change) error {
	if !slices.ContainsFunc(unsealed(changes), func(c memento.Change) bool {
		_, removes := c.(memento.Remove)
		return !removes
	}) {
		return nil
	}
	if err := b.db.Ready(ctx); errors.Is(err, memento.ErrNoSpace) {
		return err
	}
	return nil
}

// postpone leaves what was found as it is for now, since there is no room to make versions
// of it.
func (w *work) postpone(cause error) {
	w.f.postponed = map[memento.Path]error{}
	for _, x := range w.findings {
		if !slices.Contains(w.changes.gone, x.path) {
			w.f.postponed[x.path] = cause
		}
	}
}

// refusePostponed refuses changes of files that were changed by hand, which would be lost.
func (f *folder) refusePostponed(list []memento.Change) error {
	if len(f.postponed) == 0 {
		return nil
	}
	for _, c := range list {
		to, from := pathsOf(c)
		for _, at := range slices.Concat(to, from) {
			for p, cause := range f.postponed {
				if p == at || at.Contains(p) {
					return cause
				}
			}
		}
	}
	return nil
}

// explainFull says that it is the disk with the folder that is full.
func (b *Backend) explainFull(err error) error {
	if errors.Is(err, memento.ErrNoSpace) || !isFull(err) {
		return err
	}
	return reserve.Explain(err, "the folder", b.dbPath)
}
