package sqlitestore

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend/rollup"

	"zombiezen.com/go/sqlite"
)

// sumUp changes the sums of the directories that a memory was in before, and of those that
// it is in after. Either memory may be zero.
func (a *apply) sumUp(before, after memento.Memory) error {
	for dir := range before.Path.Ancestors() {
		var err error
		if dir.Contains(after.Path) {
			err = a.sumReplaced(dir, before, after)
		} else {
			err = a.sumRemoved(dir, before)
		}
		if err != nil {
			return err
		}
	}
	for dir := range after.Path.Ancestors() {
		if dir.Contains(before.Path) {
			continue
		}
		if err := a.sumAdded(dir, after); err != nil {
			return err
		}
	}
	return nil
}

func (a *apply) sumAdded(dir memento.Path, m memento.Memory) error {
	return a.tx.exec(`INSERT INTO directories (store, path, memories, bytes, updated_at, exact) VALUES (?, ?, 1, ?, ?, 1)
		ON CONFLICT DO UPDATE SET memories = memories + 1, bytes = bytes + excluded.bytes,
			updated_at = max(updated_at, excluded.updated_at), exact = exact OR excluded.updated_at >= updated_at`,
		a.store, dir, m.Size, micros(m.UpdatedAt))
}

func (a *apply) sumReplaced(dir memento.Path, before, after memento.Memory) error {
	return a.tx.exec(`UPDATE directories SET bytes = bytes + ?1, updated_at = max(updated_at, ?2),
			exact = ?2 >= updated_at OR exact AND updated_at <> ?3 WHERE store = ?4 AND path = ?5`,
		after.Size-before.Size, micros(after.UpdatedAt), micros(before.UpdatedAt), a.store, dir)
}

func (a *apply) sumRemoved(dir memento.Path, m memento.Memory) error {
	left := int64(0)
	_, err := a.tx.one(`UPDATE directories SET memories = memories - 1, bytes = bytes - ?1,
			exact = exact AND updated_at <> ?2 WHERE store = ?3 AND path = ?4 RETURNING memories`,
		func(s *sqlite.Stmt) { left = s.ColumnInt64(0) }, m.Size, micros(m.UpdatedAt), a.store, dir)
	if err != nil || left > 0 {
		return err
	}
	return a.tx.exec(`DELETE FROM directories WHERE store = ? AND path = ?`, a.store, dir)
}

// A directorySum says what lies below a directory, as its row in the table directories.
type directorySum struct {
	usage     memento.Usage
	updatedAt time.Time // no memory is newer
	exact     bool      // whether a memory is as new
}

// readSum returns the zero sum for a directory without a row.
func readSum(c *conn, store int64, dir memento.Path) (sum directorySum, err error) {
	_, err = c.one(`SELECT memories, bytes, updated_at, exact FROM directories WHERE store = ? AND path = ?`,
		func(s *sqlite.Stmt) {
			sum.usage = memento.Usage{Memories: s.ColumnInt64(0), Bytes: s.ColumnInt64(1)}
			sum.updatedAt, sum.exact = timeAt(s, 2), s.ColumnBool(3)
		}, store, dir)
	return sum, err
}

// readSums returns the entries of the directories in a directory, in order, if all memories
// below it are in them and their sums are exact, and otherwise none. first is the one that comes
// first. To look up the next memory after each of them would take several times as long.
func readSums(c *conn, store int64, parent, first memento.Path) (sums []memento.Entry, err error) {
	all, err := readSum(c, store, parent)
	if err != nil || all.usage.Memories <= fewMemories {
		return nil, err
	}
	low, high := rangeBelow(parent)
	left, deeper, exact := all.usage.Memories, 0, true
	err = c.all(`SELECT path, memories, bytes, updated_at, exact FROM directories WHERE store = ? AND path > +? AND path < +? ORDER BY path`, func(s *sqlite.Stmt) bool {
		path := s.ColumnText(0)
		if strings.Contains(path[len(low):], "/") {
			deeper++
			return deeper <= fewMemories+len(sums) // where there are many, they are read in vain
		}
		e := memento.Entry{Path: memento.Path(path), Dir: true, UpdatedAt: timeAt(s, 3)}
		e.Usage = memento.Usage{Memories: s.ColumnInt64(1), Bytes: s.ColumnInt64(2)}
		sums, left, exact = append(sums, e), left-e.Usage.Memories, s.ColumnBool(4)
		return exact
	}, store, low, high)
	if err != nil || left != 0 || !exact {
		return nil, err
	}
	slices.SortFunc(sums, func(x, y memento.Entry) int { return byPrefix(x.Path, y.Path) })
	if sums[0].Path != first {
		return nil, nil
	}
	return sums, nil
}

// byPrefix compares directories by what the paths in them begin with.
func byPrefix(x, y memento.Path) int {
	n := min(len(x), len(y))
	switch {
	case x[:n] != y[:n]:
		return cmp.Compare(x[:n], y[:n])
	case len(x) > n:
		return cmp.Compare(x[n], '/')
	case len(y) > n:
		return cmp.Compare('/', y[n])
	}
	return 0
}

// fewMemories is how many memories of a directory a listing reads before it looks up their
// sum, which takes as long. Where one directory has more, the next one probably has, too:
// its sum is looked up at once.
const fewMemories = 16

// listRolledUp passes the entries of a listing to r. It skips most of what is below a
// directory with many memories. query selects the memories of a store between two bounds, in
// order of path.
func listRolledUp(c *conn, opts *memento.ListOptions, r *rollup.Rows, query string, scan func(*sqlite.Stmt) memento.Memory, store int64, low, high string) error {
	return c.inTx(func() error { // memories and sums of the same state
		patience := fewMemories
		whole := opts.Limit == 0 && opts.After == "" // else the sums of many directories could be read for a few of them
		tried := memento.Root                        // which has no sum
		for skipped := true; skipped; {
			skipped = false
			var current memento.Path // the directory that memories are rolled up to
			var taken int            // of its memories
			var failed error
			err := c.all(query, func(s *sqlite.Stmt) bool {
				m := scan(s)
				if !r.Row(&m) {
					return false
				}
				dir, deeper := opts.RollUp(m.Path)
				if !deeper {
					return true
				}
				if dir != current {
					current, taken = dir, 0
					if parent := dir.Parent(); whole && parent != tried {
						tried = parent
						var sums []memento.Entry
						if sums, failed = readSums(c, store, parent, dir); failed != nil {
							return false
						}
						for _, e := range sums {
							if skipped = r.Sum(e); !skipped {
								return false
							}
							low = afterDirectory(parent.Prefix())
						}
						if skipped {
							return false
						}
					}
				}
				if taken++; taken != patience {
					return true
				}
				var sum directorySum
				if sum, failed = readSum(c, store, dir); failed != nil {
					return false
				}
				if few := sum.usage.Memories <= fewMemories; few || !sum.exact {
					patience = fewMemories
					return true
				}
				patience = 1
				skipped = r.Sum(memento.Entry{Path: dir, Dir: true, Usage: sum.usage, UpdatedAt: sum.updatedAt})
				low = afterDirectory(dir.Prefix())
				return false
			}, store, low, high)
			if err != nil || failed != nil {
				return cmp.Or(err, failed)
			}
		}
		return nil
	})
}

// directories checks the sums of directories, unless the schema is older than they are.
func (v *verifier) directories() error {
	there, err := v.c.one(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'directories'`, nil)
	if err != nil || !there {
		return err
	}
	var open []*openDirectory // the directories that the last memory is in
	var store int64
	found := 0
	closeTo := func(path memento.Path) error { // all that path is not in
		for n := len(open); n > 0 && (path == "" || !open[n-1].dir.Contains(path)); n-- {
			d := open[n-1]
			open = open[:n-1]
			found++
			recorded, err := readSum(v.c, store, d.dir)
			if err != nil {
				return err
			}
			if !recorded.matches(d.sum) {
				if err := v.addFinding("store number %d: the directory %s should have %d memories with %d bytes, and has %d with %d", store, d.dir, recorded.usage.Memories, recorded.usage.Bytes, d.sum.usage.Memories, d.sum.usage.Bytes); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err = v.rows(`SELECT store, path, size, updated_at FROM memories ORDER BY store, path`, func(s *sqlite.Stmt) error {
		m := memento.Memory{Path: memento.Path(s.ColumnText(1)), Size: s.ColumnInt64(2), UpdatedAt: timeAt(s, 3)}
		if next := s.ColumnInt64(0); next != store {
			if err := closeTo(""); err != nil {
				return err
			}
			store = next
		}
		if err := closeTo(m.Path); err != nil {
			return err
		}
		dirs := slices.Collect(m.Path.Ancestors())
		slices.Reverse(dirs) // as open: outermost first
		for _, dir := range dirs[len(open):] {
			open = append(open, &openDirectory{dir: dir})
		}
		for _, d := range open {
			d.sum.usage.Memories++
			d.sum.usage.Bytes += m.Size
			if m.UpdatedAt.After(d.sum.updatedAt) {
				d.sum.updatedAt = m.UpdatedAt
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := closeTo(""); err != nil {
		return err
	}
	return v.rows(`SELECT count(*) FROM directories`, func(s *sqlite.Stmt) error {
		if n := s.ColumnInt(0); n > found {
			return v.addFinding("sums are recorded for %d directories, of which %d have no memories", n, n-found)
		}
		return nil
	})
}

// An openDirectory is a directory whose memories are being summed up.
type openDirectory struct {
	dir memento.Path
	sum directorySum
}

// matches reports whether a row is right about a directory.
func (sum directorySum) matches(actual directorySum) bool {
	newest := actual.updatedAt
	return sum.usage == actual.usage && !newest.After(sum.updatedAt) && (!sum.exact || newest.Equal(sum.updatedAt))
}
