package dirstore

import (
	"context"
	"errors"
	"slices"

	"memento"
	"memento/backend"
	"memento/internal/reserve"

	"zombiezen.com/go/sqlite"
)

// On a full disk, folders can still be opened and read, and memories can be removed. The
// space for that comes from the reserve of the database: see package sqlitestore. A
// change by hand that cannot become a version yet stays on disk as it is until there is
// space: reads return what the database has, and changes of that memory are refused.

// releaseBytes is how much of the reserve is released for a small file, or for the index
// of a log.
const releaseBytes = 64 << 10

// scrubBytes is how much of it is released to rewrite a part of the index.
const scrubBytes = 512 << 10

// isFull reports whether an error says that the disk is full.
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

// withReserve calls do. If the disk is full, it releases so many bytes of the reserve and
// calls do again.
func (b *Backend) withReserve(bytes int64, do func() error) error {
	err := do()
	if isFull(err) {
		reserve.Release(b.dbPath, bytes)
		err = do()
	}
	return err
}

// openIndexFull opens the index with space of the reserve. If that is not enough, it
// opens one in memory, since the index is only a cache.
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

// Metrics implements [backend.MetricSource], with those of the database.
func (b *Backend) Metrics() []backend.Metric { return b.db.Metrics() }

// Ready implements [backend.ReadyChecker].
func (b *Backend) Ready(ctx context.Context) error {
	if err := b.enter(ctx); err != nil {
		return fail("check", err)
	}
	defer b.leave()
	return b.db.Ready(ctx)
}

// checkSpace refuses changes other than removals if there is no space for their files,
// even if the database could still take them.
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

// postpone leaves the findings on disk as they are, since there is no space to make
// versions from them.
func (w *work) postpone(cause error) {
	w.f.postponed = map[memento.Path]error{}
	for _, x := range w.findings {
		if !slices.Contains(w.changes.gone, x.path) {
			w.f.postponed[x.path] = cause
		}
	}
}

// refusePostponed refuses changes that would overwrite postponed changes by hand.
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

// explainFull returns an error that says that the disk with the folder is full.
func (b *Backend) explainFull(err error) error {
	if errors.Is(err, memento.ErrNoSpace) || !isFull(err) {
		return err
	}
	return reserve.Explain(err, "the folder", b.dbPath)
}
