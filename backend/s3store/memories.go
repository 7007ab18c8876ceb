package s3store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"memento"
	"memento/backend"
)

// maxRereads is how often a read is repeated because an object was deleted meanwhile.
const maxRereads = 8

// retryNotFound repeats f while it returns errNotFound: a compaction has moved contents.
func retryNotFound(f func() error) error {
	for range maxRereads {
		if err := f(); !errors.Is(err, errNotFound) {
			return err
		}
	}
	return errChangesTooFast
}

// errChangesTooFast means that in every attempt an object was deleted before it was read.
var errChangesTooFast = fmt.Errorf("%w: the store changes faster than it can be read", memento.ErrUnavailable)

// Get returns a memory with its contents.
func (b *Backend) Get(ctx context.Context, id memento.StoreID, ref memento.Ref) (m memento.Memory, err error) {
	const op = "get"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return m, b.failed(op, err)
	}
	defer done()
	err = retryNotFound(func() error {
		var h *indexEntry
		err := s.view(ctx, func(st *state) error {
			h = st.at(ref.Path)
			if ref.Path == "" {
				h = st.byID[ref.ID]
			}
			switch {
			case h != nil:
				m = b.shown(st, id, h)
				return nil
			case ref.Path == memento.Root, ref.Path != "" && len(st.below(ref.Path)) > 0:
				return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrIsDir}
			}
			return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrNotExist}
		})
		if err == nil {
			m.Content, err = s.content(ctx, h.want())
		}
		return err
	})
	if err != nil {
		return memento.Memory{}, b.failed(op, err)
	}
	return m, nil
}

// GetCached returns a memory with its contents as it was when this process last looked, if
// no other one was seen to write to the store shortly before.
func (b *Backend) GetCached(id memento.StoreID, ref memento.Ref) (m memento.Memory, known bool) {
	b.mu.Lock()
	s, _ := b.stores.Peek(id)
	b.mu.Unlock()
	if s == nil {
		return m, false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.st == nil || s.partial || s.st.deleted || age(s.confirmed) >= b.maxAge || age(s.lastForeignWrite) < contentionWindow {
		return m, false
	}
	h := s.st.at(ref.Path)
	if ref.Path == "" {
		h = s.st.byID[ref.ID]
	}
	if h == nil {
		return m, false
	}
	text, kept := b.cache.get(s.cacheKey(h.ref))
	if !kept || text.(cachedText).sha256 != h.memory.SHA256 {
		return m, false
	}
	m = b.shown(s.st, id, h)
	m.Content = text.(cachedText).text
	return m, true
}

// shown returns the memory of an entry with its read time, without contents.
func (b *Backend) shown(st *state, id memento.StoreID, h *indexEntry) memento.Memory {
	m := h.memory
	m.ReadAt = later(st.reads[m.ID], b.reads.Noted(id, m.ID))
	return m
}

// Apply makes changes atomically.
func (b *Backend) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (done memento.Applied, err error) {
	const op = "apply"
	s, release, err := b.use(ctx, id)
	if err != nil {
		return done, b.failed(op, err)
	}
	defer release()
	var applied memento.Applied
	err = s.submit(ctx, func(t *transaction) error {
		p := backend.Planner{Info: t.info, By: by, At: t.time(b.time()), Seq: t.seq}
		var made []memento.Version
		for _, change := range changes {
			effects, err := p.Plan(t, change)
			if err != nil {
				return err
			}
			made = append(made, t.applyEffects(effects)...)
		}
		t.info.Usage = p.Info.Usage
		applied = p.Applied(made)
		return nil
	})
	if err != nil {
		return done, b.failed(op, err)
	}
	return applied, nil
}

// Import appends versions unchanged, except that times are truncated to microseconds.
func (b *Backend) Import(ctx context.Context, id memento.StoreID, versions []memento.Version) error {
	return b.importVersions(ctx, id, versions, nil)
}

// ImportSealed implements [backend.SealedImporter].
func (b *Backend) ImportSealed(ctx context.Context, id memento.StoreID, versions []memento.Version, by backend.Sealing) error {
	return b.importVersions(ctx, id, versions, &by)
}

func (b *Backend) importVersions(ctx context.Context, id memento.StoreID, versions []memento.Version, by *backend.Sealing) error {
	const op = "import"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return b.failed(op, err)
	}
	defer done()
	for {
		// To find out whether the versions exist may take reading the history. Do it
		// outside the transaction, so that other writers do not wait for it.
		var seen historyView
		if err := s.view(ctx, func(st *state) error { seen = st.history(); return nil }); err != nil {
			return b.failed(op, err)
		}
		for _, v := range versions {
			known, err := s.version(ctx, seen, v.ID)
			if err != nil {
				return b.failed(op, err)
			}
			if known != nil {
				return &memento.Error{Op: op, Path: v.Path, Err: memento.ErrExist}
			}
		}
		err := s.submit(ctx, func(t *transaction) error {
			if t.seq != seen.seq {
				return errStale
			}
			p := backend.Planner{Info: t.info, Seq: t.seq, Imported: by}
			for _, v := range versions {
				if t.imported[v.ID] {
					return &memento.Error{Op: op, Path: v.Path, Err: memento.ErrExist}
				}
				t.imported[v.ID] = true
				v.CreatedAt = backend.StoredTime(v.CreatedAt)
				if v.Redacted() {
					v.RedactedAt = backend.StoredTime(v.RedactedAt)
				}
				effects, err := p.PlanImport(t, v)
				if err != nil {
					return err
				}
				t.applyEffects(effects)
			}
			if err := p.PlanImported(); err != nil {
				return err
			}
			t.info.Usage = p.Info.Usage
			return nil
		})
		if !errors.Is(err, errStale) {
			return b.failed(op, err)
		}
		if err := sleep(ctx, time.Millisecond); err != nil { // let other writers proceed
			return err
		}
	}
}

// errStale means that a plan was made for a state that is no longer the newest.
var errStale = errors.New("out of date")
