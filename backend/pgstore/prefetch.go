package pgstore

import (
	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5"
)

// prefetch collects the lookups that changes will probably need, so that they are made
// together with locking the store. It only saves time: the view looks up what was not
// prefetched.
type prefetch struct {
	paths      map[memento.Path]bool     // paths of memories
	ids        map[memento.MemoryID]bool // memories
	firstBelow map[memento.Path]bool     // directories whose first memory is needed
	allBelow   map[memento.Path]bool     // directories whose memories are all needed
	versions   []memento.VersionID       // IDs to check for existence
}

// setIn sets a key of a map, and makes the map first if necessary: most of these maps stay
// empty.
func setIn[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func addTo[K comparable](set *map[K]bool, key K) { setIn(set, key, true) }

// addChange adds the lookups for a change.
func (n *prefetch) addChange(c memento.Change) {
	switch c := c.(type) {
	case backend.Sealed:
		if _, nested := c.Change.(backend.Sealed); !nested {
			n.addChange(c.Change)
		}
	case memento.Put:
		n.addPath(c.Path)
		if c.If == (memento.Condition{}) || c.If == memento.IfAbsent() {
			n.addVacancy(c.Path) // it may be new
		}
	case memento.Remove:
		n.addPathOrDir(c.Path)
	case memento.Move:
		n.addPathOrDir(c.From)
		n.addPath(c.To)
		n.addVacancy(c.To)
	}
}

// addVersion adds the lookups for importing a version.
func (n *prefetch) addVersion(v *memento.Version) {
	n.versions = append(n.versions, v.ID)
	if storable(string(v.Memory)) {
		addTo(&n.ids, v.Memory)
	}
	if v.Operation != memento.Deleted && !v.Redacted() {
		n.addPath(v.Path)
		n.addVacancy(v.Path)
	}
}

// canBeLookedUp reports whether p can be the path of a memory.
func canBeLookedUp(p memento.Path) bool {
	return len(p) > 1 && len(p) <= memento.MaxPathBytes && p[0] == '/' && storable(string(p))
}

func (n *prefetch) addPath(p memento.Path) {
	if canBeLookedUp(p) {
		addTo(&n.paths, p)
	}
}

// addPathOrDir adds the memory at p, and all memories below p.
func (n *prefetch) addPathOrDir(p memento.Path) {
	if canBeLookedUp(p) {
		addTo(&n.paths, p)
		addTo(&n.allBelow, p)
	}
}

// addVacancy adds the lookups that show whether a new memory can be at p: nothing below it,
// and no memory at a parent directory.
func (n *prefetch) addVacancy(p memento.Path) {
	if canBeLookedUp(p) {
		addTo(&n.firstBelow, p)
		for dir := range p.Ancestors() {
			addTo(&n.paths, dir)
		}
	}
}

// stateColumns are the columns of a memory without its contents, and the row of its
// contents.
const stateColumns = memoryColumns + `, m.content`

// queue adds the lookups to a batch. The results go to v.
func (n *prefetch) queue(batch *pgx.Batch, v *view) {
	if len(n.paths) > 0 {
		take := func(h *memoryState) { v.addStored(h); setIn(&v.byPath, h.Path, h) }
		switch keys := keysOf(n.paths); len(keys) {
		case 1:
			v.queue(batch, take, memoryByPath, keys[0])
		case 2, 3, 4:
			last := keys[len(keys)-1]
			v.queue(batch, take, memoriesByFourPaths, keys[0], keys[1], keys[len(keys)-2], last)
		default:
			v.queue(batch, take, memoriesByPath, keys)
		}
		for p := range n.paths {
			setIn(&v.byPath, p, nil)
		}
	}
	if len(n.ids) > 0 {
		v.queue(batch, v.addStored, memoriesByID, keysOf(n.ids))
		for id := range n.ids {
			addTo(&v.askedIDs, id)
		}
	}
	if len(n.firstBelow) > 0 {
		var lows, highs []string
		for p := range n.firstBelow {
			low, high := rangeBelow(p)
			lows, highs = append(lows, low), append(highs, high)
			setIn(&v.firstBelow, p, nil)
		}
		take := func(h *memoryState) {
			v.addStored(h)
			for dir := range h.Path.Ancestors() {
				if f, asked := v.firstBelow[dir]; asked && (f == nil || h.Path < f.Path) {
					v.firstBelow[dir] = h
				}
			}
		}
		if len(lows) == 1 {
			v.queue(batch, take, firstMemoryAfter, lows[0])
		} else {
			v.queue(batch, take, firstMemoriesBelow, lows, highs)
		}
	}
	for p := range n.allBelow {
		v.queueAllBelow(batch, p)
	}
	if len(n.versions) > 0 {
		seqs, ids := make([]int64, len(n.versions)), make([]string, len(n.versions))
		for i, id := range n.versions {
			seqs[i], ids[i] = id.SeqHint(), string(id)
		}
		batch.Queue(v.t.b.sql(versionsKnown), v.store, seqs, ids).Query(func(rows pgx.Rows) error {
			var id string
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				addTo(&v.versions, memento.VersionID(id))
				return nil
			})
			return err
		})
	}
}

func keysOf[K ~string](set map[K]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, string(k))
	}
	return keys
}

const (
	memoryByPath   = `SELECT ` + stateColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path = $2`
	memoriesByPath = `SELECT ` + stateColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path = ANY ($2::text[])`
	// The plan does not depend on the number of paths, so the server keeps it. With an
	// array it makes a new plan each time.
	memoriesByFourPaths = `SELECT ` + stateColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path IN ($2, $3, $4, $5)`
	memoriesByID        = `SELECT ` + stateColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.id = ANY ($2::text[])`
	memoriesBelow       = `SELECT ` + stateColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path > $2 AND m.path < $3 ORDER BY m.path`

	// The first memory after a directory's lower bound, even if it is not below the
	// directory. Without an upper bound the server keeps its plan.
	firstMemoryAfter = `SELECT ` + stateColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path > $2 ORDER BY m.path LIMIT 1`

	// The first memory below each of several directories.
	firstMemoriesBelow = `SELECT ` + stateColumns + ` FROM unnest($2::text[], $3::text[]) dir (low, high)
		CROSS JOIN LATERAL (SELECT * FROM memento.memories m WHERE m.store = $1 AND m.path > dir.low AND m.path < dir.high ORDER BY m.path LIMIT 1) m`

	versionsKnown = `SELECT v.id FROM unnest($2::bigint[], $3::text[]) asked (seq, id)
			CROSS JOIN LATERAL (SELECT id FROM memento.versions WHERE store = $1 AND seq = asked.seq AND id = asked.id OFFSET 0) v
		UNION ALL SELECT v.id FROM memento.versions v WHERE v.store = $1 AND v.imported AND v.id = ANY ($3::text[])`
)
