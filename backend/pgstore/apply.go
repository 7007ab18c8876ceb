package pgstore

import (
	"context"
	"errors"
	"time"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5"
)

// Apply implements [memento.Memories].
func (b *Backend) Apply(ctx context.Context, store memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	var applied memento.Applied
	j := new(job)
	for _, c := range changes {
		j.prefetch.addChange(c)
	}
	if len(changes) == 1 {
		j.editedPath = editedPath(changes[0])
	}
	j.plan = func(s *session) error {
		p := s.planner(by)
		from := len(s.versions)
		for _, c := range changes {
			effects, err := p.Plan(s.view, c)
			if err != nil {
				return err
			}
			s.stage(effects)
		}
		s.advance(p)
		var made []memento.Version
		for _, v := range s.versions[from:] {
			made = append(made, v.Version)
		}
		applied = p.Applied(made)
		return nil
	}
	if err := b.run(ctx, "apply", store, j); err != nil {
		return memento.Applied{}, err
	}
	b.index.Wrote(store, len(applied.Versions))
	return applied, nil
}

// Import implements [memento.Memories].
func (b *Backend) Import(ctx context.Context, store memento.StoreID, versions []memento.Version) error {
	return b.importVersions(ctx, store, versions, nil)
}

// ImportSealed implements [backend.SealedImporter].
func (b *Backend) ImportSealed(ctx context.Context, store memento.StoreID, versions []memento.Version, by backend.Sealing) error {
	return b.importVersions(ctx, store, versions, &by)
}

func (b *Backend) importVersions(ctx context.Context, store memento.StoreID, versions []memento.Version, by *backend.Sealing) error {
	const op = "import"
	j := new(job)
	for i := range versions {
		if !storable(string(versions[i].ID)) {
			return &memento.Error{Op: op, Err: invalid("a version ID contains characters that cannot be stored")}
		}
		j.prefetch.addVersion(&versions[i])
	}
	j.plan = func(s *session) error {
		p := s.planner(memento.Actor{})
		p.Imported = by
		for _, v := range versions {
			if s.view.versions[v.ID] {
				return &memento.Error{Op: op, Path: v.Path, Err: memento.ErrExist}
			}
			effects, err := p.PlanImport(s.view, v)
			if err != nil {
				return err
			}
			s.noteVersion(v.ID)
			s.stage(effects)
		}
		if err := p.PlanImported(); err != nil {
			return err
		}
		s.advance(p)
		return nil
	}
	err := b.run(ctx, op, store, j)
	if err == nil {
		b.index.Wrote(store, len(versions))
	}
	return err
}

// errGone says that a store which this process knows no longer exists.
var errGone = errors.New("the store has gone")

// withStore calls do with what this process knows about a store. If do returns errGone,
// withStore looks the store up again and repeats the call: another store may have been
// created under the same ID.
func (b *Backend) withStore(ctx context.Context, op string, store memento.StoreID, do func(knownStore) error) error {
	for {
		_, remembered := b.stores.get(store)
		k, err := b.lookUpStore(ctx, op, store)
		if err != nil {
			return err
		}
		if err = do(k); !errors.Is(err, errGone) {
			return err
		}
		b.stores.forget(store)
		if !remembered {
			return errNoStore(op)
		}
	}
}

// runBatch carries out jobs in one transaction. If it returns nil, the result of each job
// is in its err. If it returns an error, nothing was changed.
func (b *Backend) runBatch(ctx context.Context, op string, store memento.StoreID, jobs []*job) error {
	return b.withStore(ctx, op, store, func(k knownStore) error {
		if len(jobs) == 1 {
			if done, err := b.runOptimistically(ctx, k, jobs[0]); done {
				return err
			}
		}
		var s *session
		err := b.transact(ctx, func(ctx context.Context, t *tx) (err error) {
			s, err = b.session(ctx, t, k, jobs)
			return err
		})
		if err == nil {
			b.rememberHead(s, k.head)
		}
		return err
	})
}

// lockCounters locks the store until the transaction ends. Later statements of the
// transaction see everything that was written to the store before.
const lockCounters = `SELECT memories, bytes, last_seq, last_at, revision, ` + stamp + ` FROM memento.counters WHERE store = $1 FOR UPDATE`

func (b *Backend) session(ctx context.Context, t *tx, k knownStore, jobs []*job) (*session, error) {
	var usage memento.Usage
	var seq, last, revision int64
	first := t.begin()
	first.Queue(b.sql(lockCounters), k.num).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&usage.Memories, &usage.Bytes, &seq, &last, &revision, &t.xid, &t.now)
		if noRows(err) {
			err = errGone
		}
		return err
	})
	v := newView(ctx, t, k.num)
	prefetchOf(jobs).queue(first, v)
	if err := t.send(ctx, first); err != nil {
		return nil, err
	}
	if k.revision != revision {
		var err error
		if k, err = b.store(ctx, t.conn, "apply", selectStores+`WHERE s.id = $1`, string(k.info.ID)); err != nil {
			return nil, err
		}
		b.stores.put(k)
	}
	s := &session{view: v, known: k, info: k.info, seq: seq, last: timeOf(last)}
	s.info.Usage = usage
	s.at = t.clock(s.last)
	s.foundHead = storeHead{seq: seq, serverMicros: t.now, notedAt: time.Now()}
	for _, j := range jobs {
		versions, contents := len(s.versions), len(s.contents)
		v.undo = nil
		j.err = j.planSafely(s)
		if v.lookupErr != nil {
			return nil, v.lookupErr
		}
		if j.err != nil {
			v.rollBack()
			s.versions, s.contents = s.versions[:versions], s.contents[:contents]
		}
	}
	if n := len(s.versions); n > 0 {
		s.write(t)
		t.proof = b.proveVersion(k.num, s.versions[n-1].Seq, s.versions[n-1].ID)
	}
	return s, nil
}

// prefetchOf returns the lookups of all jobs together.
func prefetchOf(jobs []*job) *prefetch {
	if len(jobs) == 1 {
		return &jobs[0].prefetch
	}
	all := new(prefetch)
	for _, j := range jobs {
		for p := range j.prefetch.paths {
			addTo(&all.paths, p)
		}
		for id := range j.prefetch.ids {
			addTo(&all.ids, id)
		}
		for p := range j.prefetch.firstBelow {
			addTo(&all.firstBelow, p)
		}
		for p := range j.prefetch.allBelow {
			addTo(&all.allBelow, p)
		}
		all.versions = append(all.versions, j.prefetch.versions...)
	}
	return all
}

// A session collects what the jobs of one transaction do to a store.
type session struct {
	view      *view
	known     knownStore
	foundHead storeHead         // state before the transaction, without usage
	info      memento.StoreInfo // with the usage so far; the rest is shared
	seq       int64
	last      time.Time // of the newest version
	at        time.Time // time of the versions to be made
	versions  []version
	contents  []content
}

// A version is a version to append, with the row of its contents; 0 if it has none.
type version struct {
	memento.Version
	content int64
}

// A content is a text, with the seq of the version that introduces it.
type content struct {
	seq  int64
	text string
}

// planner returns a planner for a job. If the job succeeds, pass the planner to advance.
func (s *session) planner(by memento.Actor) *backend.Planner {
	return &backend.Planner{Info: s.info, By: by, At: s.at, Seq: s.seq}
}

// advance makes the state after a job the state in which the next job starts.
func (s *session) advance(p *backend.Planner) {
	s.info.Usage, s.seq = p.Info.Usage, p.Seq
	for i := range s.versions {
		s.last = backend.LastTime(s.last, &s.versions[i].Version)
	}
	s.at = backend.NextTime(s.at, s.last) // after the imported versions
}

// noteVersion records that the store now has a version with this ID.
func (s *session) noteVersion(id memento.VersionID) {
	addTo(&s.view.versions, id)
	s.view.undo = append(s.view.undo, func() { delete(s.view.versions, id) })
}

// stage records the effects of a change. They are written by write.
func (s *session) stage(effects []backend.Effect) {
	for i := range effects {
		e := &effects[i]
		before := s.view.stateOf(e.Version.Memory)
		after := memoryState{Memory: e.After, content: before.content, stored: before.stored}
		if e.Rewrite {
			after.content = e.Version.Seq
			s.contents = append(s.contents, content{e.Version.Seq, e.After.Content})
		}
		after.Content = ""
		after.ReadAt = before.ReadAt
		if e.Before.ID != "" || e.After.ID != "" {
			s.view.set(e.Version.Memory, after)
		}
		v := version{Version: e.Version}
		if e.After.ID != "" {
			v.content = after.content
		}
		s.versions = append(s.versions, v)
	}
}
