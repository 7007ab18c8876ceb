package pgstore

import (
	"memento"

	"github.com/jackc/pgx/v5"
)

// needs are the lookups that changes will probably ask for, to be made together
// with the store's lock. They only save time: what is missing is looked up when
// it is asked for.
type needs struct {
	paths    map[memento.Path]bool     // memories at them
	ids      map[memento.MemoryID]bool // memories
	first    map[memento.Path]bool     // whether there is something below them
	whole    map[memento.Path]bool     // all that is below them
	versions []memento.VersionID       // whether the store has them
}

// put sets a key of a map that may not be made yet: most stay empty.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func add[K comparable](set *map[K]bool, key K) { put(set, key, true) }

// change adds what a change needs.
func (n *needs) change(c memento.Change) {
	switch c := c.(type) {
	case memento.Sealed:
		if _, nested := c.Change.(memento.Sealed); !nested {
			n.change(c.Change)
		}
	case memento.Put:
		n.path(c.Path)
		if c.If == (memento.Condition{}) || c.If == memento.IfAbsent() {
			n.vacancy(c.Path) // it may be new
		}
	case memento.Remove:
		n.subject(c.Path)
	case memento.Move:
		n.subject(c.From)
		n.path(c.To)
		n.vacancy(c.To)
	}
}

// version adds what importing a version needs.
func (n *needs) version(v *memento.Version) {
	n.versions = append(n.versions, v.ID)
	if storable(string(v.Memory)) {
		add(&n.ids, v.Memory)
	}
	if v.Operation != memento.Deleted && !v.Redacted() {
		n.path(v.Path)
		n.vacancy(v.Path)
	}
}

// usable reports whether p can be looked up.
func usable(p memento.Path) bool {
	return len(p) > 1 && len(p) <= memento.MaxPathBytes && p[0] == '/' && storable(string(p))
}

func (n *needs) path(p memento.Path) {
	if usable(p) {
		add(&n.paths, p)
	}
}

// subject adds the memory or directory at p.
func (n *needs) subject(p memento.Path) {
	if usable(p) {
		add(&n.paths, p)
		add(&n.whole, p)
	}
}

// vacancy adds what could keep a new memory from being at p.
func (n *needs) vacancy(p memento.Path) {
	if usable(p) {
		add(&n.first, p)
		for dir := range p.Ancestors() {
			add(&n.paths, dir)
		}
	}
}

// Columns of a memory without its contents, and the row that has them.
const headColumns = memoryColumns + `, m.content`

// queue adds the lookups to a batch; their results go to v.
func (n *needs) queue(batch *pgx.Batch, v *view) {
	if len(n.paths) > 0 {
		take := func(h *head) { v.base(h); put(&v.at, h.Path, h) }
		switch keys := keysOf(n.paths); len(keys) {
		case 1:
			v.queue(batch, take, headByPath, keys[0])
		case 2, 3, 4:
			last := keys[len(keys)-1]
			v.queue(batch, take, headsOfFour, keys[0], keys[1], keys[len(keys)-2], last)
		default:
			v.queue(batch, take, headsByPath, keys)
		}
		for p := range n.paths {
			put(&v.at, p, nil)
		}
	}
	if len(n.ids) > 0 {
		v.queue(batch, v.base, headsByID, keysOf(n.ids))
		for id := range n.ids {
			add(&v.asked, id)
		}
	}
	if len(n.first) > 0 {
		var lows, highs []string
		for p := range n.first {
			low, high := below(p)
			lows, highs = append(lows, low), append(highs, high)
			put(&v.first, p, nil)
		}
		take := func(h *head) {
			v.base(h)
			for dir := range h.Path.Ancestors() {
				if f, asked := v.first[dir]; asked && (f == nil || h.Path < f.Path) {
					v.first[dir] = h
				}
			}
		}
		if len(lows) == 1 {
			v.queue(batch, take, headBehind, lows[0])
		} else {
			v.queue(batch, take, headsFirst, lows, highs)
		}
	}
	for p := range n.whole {
		v.queueWhole(batch, p)
	}
	if len(n.versions) > 0 {
		seqs, ids := make([]int64, len(n.versions)), make([]string, len(n.versions))
		for i, id := range n.versions {
			seqs[i], ids[i] = id.SeqHint(), string(id)
		}
		batch.Queue(v.t.b.sql(versionsKnown), v.store, seqs, ids).Query(func(rows pgx.Rows) error {
			var id string
			_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
				add(&v.versions, memento.VersionID(id))
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
	headByPath  = `SELECT ` + headColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path = $2`
	headsByPath = `SELECT ` + headColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path = ANY ($2::text[])`
	// How many paths there are makes no difference to the plan, so that the server
	// keeps it; with an array it makes one anew each time.
	headsOfFour = `SELECT ` + headColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path IN ($2, $3, $4, $5)`
	headsByID   = `SELECT ` + headColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.id = ANY ($2::text[])`
	headsBelow  = `SELECT ` + headColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path > $2 AND m.path < $3 ORDER BY m.path`

	// The first memory below a directory, or else one behind it, which does no harm:
	// the server keeps its plan.
	headBehind = `SELECT ` + headColumns + ` FROM memento.memories m WHERE m.store = $1 AND m.path > $2 ORDER BY m.path LIMIT 1`

	// The first memory below each of several directories.
	headsFirst = `SELECT ` + headColumns + ` FROM unnest($2::text[], $3::text[]) dir (low, high)
		CROSS JOIN LATERAL (SELECT * FROM memento.memories m WHERE m.store = $1 AND m.path > dir.low AND m.path < dir.high ORDER BY m.path LIMIT 1) m`

	versionsKnown = `SELECT v.id FROM unnest($2::bigint[], $3::text[]) asked (seq, id)
			CROSS JOIN LATERAL (SELECT id FROM memento.versions WHERE store = $1 AND seq = asked.seq AND id = asked.id OFFSET 0) v
		UNION ALL SELECT v.id FROM memento.versions v WHERE v.store = $1 AND v.imported AND v.id = ANY ($3::text[])`
)
