package s3store

import (
	"cmp"
	"slices"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/commitqueue"
)

// A transaction collects the changes of one record, on top of a state that does not
// change meanwhile. It is the [backend.Snapshot] that plans work on.
type transaction struct {
	state  *state
	inline int
	commit string

	info     memento.StoreInfo
	seq      int64
	latest   time.Time
	byID     map[memento.MemoryID]*indexEntry // nil for memories that are deleted
	byPath   map[memento.Path]*indexEntry
	imported map[memento.VersionID]bool

	rec   record
	blobs []blob // contents that are objects of their own
	size  int    // of contents in the record
}

// A blob is contents that are stored as an object of their own.
type blob struct{ name, content, sha256 string }

func begin(s *state, inline int) *transaction {
	t := &transaction{
		state: s, inline: inline, commit: random(), info: s.info, seq: s.seq, latest: s.latest,
		byID: map[memento.MemoryID]*indexEntry{}, byPath: map[memento.Path]*indexEntry{}, imported: map[memento.VersionID]bool{},
	}
	t.rec = record{N: s.n + 1, Commit: t.commit}
	return t
}

// attempt runs f, and undoes its changes if it fails or panics.
func (t *transaction) attempt(f func(*transaction) error) error {
	before := *t
	t.byID, t.byPath, t.imported = copyOf(before.byID), copyOf(before.byPath), copyOf(before.imported)
	err := commitqueue.Safely(func() error { return f(t) })
	if err != nil {
		*t = before
	}
	return err
}

// copyOf returns a copy of a map, with room for one more entry. The maps are small: most
// commits have one change.
func copyOf[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m)+1)
	for k, v := range m {
		c[k] = v
	}
	return c
}

// time returns the time for a new version, which is after that of the newest one.
func (t *transaction) time(now time.Time) time.Time { return backend.NextTime(now, t.latest) }

func (t *transaction) entry(p memento.Path) *indexEntry {
	if h, known := t.byPath[p]; known {
		return h
	}
	return t.state.at(p)
}

func (t *transaction) entryByID(id memento.MemoryID) *indexEntry {
	if h, known := t.byID[id]; known {
		return h
	}
	return t.state.byID[id]
}

func withoutContent(h *indexEntry) (memento.Memory, bool, error) {
	if h == nil {
		return memento.Memory{}, false, nil
	}
	return h.memory, true, nil
}

// Head returns the memory at p without contents.
func (t *transaction) Head(p memento.Path) (memento.Memory, bool, error) {
	return withoutContent(t.entry(p))
}

// HeadByID returns the memory with the given ID without contents.
func (t *transaction) HeadByID(id memento.MemoryID) (memento.Memory, bool, error) {
	return withoutContent(t.entryByID(id))
}

// Below returns the memories below p without contents.
func (t *transaction) Below(p memento.Path, limit int) ([]memento.Memory, error) {
	var found []memento.Memory
	full := func() bool { return limit > 0 && len(found) >= limit }
	for _, h := range t.state.below(p) {
		if full() && len(t.byPath) == 0 {
			break
		}
		if _, changed := t.byPath[h.memory.Path]; !changed {
			found = append(found, h.memory)
		}
	}
	if len(t.byPath) > 0 {
		for path, h := range t.byPath {
			if h != nil && p.Contains(path) {
				found = append(found, h.memory)
			}
		}
		slices.SortFunc(found, func(a, b memento.Memory) int { return cmp.Compare(a.Path, b.Path) })
	}
	if limit > 0 {
		found = found[:min(limit, len(found))]
	}
	return found, nil
}

// applyEffects adds the planned effects of a change, and returns the new versions.
func (t *transaction) applyEffects(effects []backend.Effect) []memento.Version {
	made := make([]memento.Version, 0, len(effects))
	for _, e := range effects {
		made = append(made, e.Version)
	}
	var before []*indexEntry
	for _, e := range effects {
		h := t.entryByID(e.Before.ID)
		before = append(before, h)
		if h != nil {
			t.byID[e.Before.ID], t.byPath[h.memory.Path] = nil, nil
		}
	}
	for i, e := range effects {
		v := e.Version
		kept := &version{
			ID: v.ID, Seq: v.Seq, Memory: v.Memory, Operation: v.Operation, Path: v.Path, SHA256: v.SHA256, Digest: v.Digest,
			Size: v.Size, By: v.CreatedBy, At: stampOf(v.CreatedAt), Redacted: stampOf(v.RedactedAt), Redactor: v.RedactedBy,
		}
		if e.After.ID != "" {
			if e.Rewrite || before[i] == nil {
				kept.Ref = t.addContent(e.After.Content, e.After.SHA256)
			} else {
				kept.Ref = &before[i].ref
			}
			kept.Created = stampOf(e.After.CreatedAt)
			h := kept.entry()
			t.byID[e.After.ID], t.byPath[e.After.Path] = h, h
		}
		t.seq, t.latest = v.Seq, backend.LastTime(t.latest, &v)
		t.rec.Versions = append(t.rec.Versions, kept)
	}
	return made
}

// addContent adds contents to the record, or as a blob if they are large.
func (t *transaction) addContent(content, sha256 string) *ref {
	if len(content) > t.inline {
		name := t.commit + "-" + random()[:12]
		t.blobs = append(t.blobs, blob{name, content, sha256})
		return &ref{N: t.rec.N, Blob: name}
	}
	t.rec.contents = append(t.rec.contents, content)
	t.size += len(content)
	return &ref{N: t.rec.N, I: len(t.rec.contents) - 1}
}

// empty reports whether there is nothing to write.
func (t *transaction) empty() bool {
	return t.rec.Info == nil && len(t.rec.Versions) == 0 && len(t.rec.Redact) == 0 && len(t.rec.Prune) == 0 && !t.rec.Deleted
}
