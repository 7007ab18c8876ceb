package pgstore

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"

	"memento"
	"memento/backend"

	"github.com/jackc/pgx/v5/pgconn"
)

// Most edits change a memory that was just read, in a store to which no other process is
// writing. Such an edit is planned on cached state and written by one statement, which is a
// transaction of its own. The statement does nothing if the store was written to since.
// This takes one round trip instead of two, and a third of the statements.

// A storeHead is the state of a store after its newest version, as this process left it.
type storeHead struct {
	seq   int64
	last  time.Time // of the newest version
	usage memento.Usage

	// soleWriter is whether this process wrote the newest versions without other writers in
	// between. Otherwise no attempt is made: one that fails costs more than it saves.
	soleWriter bool

	serverMicros int64     // the server's time, in microseconds since 1970
	notedAt      time.Time // this process's time when serverMicros was read
}

// maxHeadAge is how long the server's time is computed from this process's clock.
const maxHeadAge = time.Minute

// clock returns the server's time, estimated from this process's clock. ok is false if the
// server's time was last read too long ago.
func (t *storeHead) clock() (now time.Time, ok bool) {
	age := time.Since(t.notedAt)
	return timeOf(t.serverMicros).Add(age.Truncate(time.Microsecond)), age < maxHeadAge
}

// rememberHead caches the state that a committed session has left.
func (b *Backend) rememberHead(s *session, before *storeHead) {
	t := s.foundHead
	t.soleWriter = before != nil && before.seq == t.seq
	t.seq, t.last, t.usage = s.seq, s.last, s.info.Usage
	b.stores.setHead(s.known, &t)
	if len(s.view.changed) > 1 {
		return // memories that are edited next will be read first
	}
	for _, h := range s.view.changed {
		if h.ID != "" {
			b.recent.note(s.known.num, h.Memory)
		}
	}
}

// editedPath returns the path of the memory that a change writes, or "" if it may have
// other effects.
func editedPath(c memento.Change) memento.Path {
	switch c := c.(type) {
	case backend.Sealed:
		return editedPath(c.Change)
	case memento.Put:
		return c.Path
	}
	return ""
}

// recentMemories caches memories that were read or written recently. A memory's slot is
// chosen by hash; a newer memory replaces what is in its slot.
type recentMemories struct {
	slots [1024]atomic.Pointer[recentMemory]
}

type recentMemory struct {
	key    recentKey
	memory memento.Memory // without contents
}

type recentKey struct {
	store int64
	path  memento.Path
}

var recentSeed = maphash.MakeSeed()

func (r *recentMemories) slot(key recentKey) *atomic.Pointer[recentMemory] {
	return &r.slots[maphash.Comparable(recentSeed, key)%uint64(len(r.slots))]
}

func (r *recentMemories) note(store int64, m memento.Memory) {
	m.Content = ""
	key := recentKey{store, m.Path}
	r.slot(key).Store(&recentMemory{key, m})
}

func (r *recentMemories) get(store int64, p memento.Path) (m memento.Memory, ok bool) {
	key := recentKey{store, p}
	if h := r.slot(key).Load(); h != nil && h.key == key {
		return h.memory, true
	}
	return memento.Memory{}, false
}

// updateIfUnchanged is updateOne with two conditions: the store's newest version and the
// revision of its description are those that the change was planned for, and so is the
// memory. Every writer to the store locks its row of counters and moves last_seq, so the
// conditions stay true until this statement ends. It does not wait for the lock (SKIP
// LOCKED): if another writer has it, the condition on last_seq would fail afterwards.
const updateIfUnchanged = `WITH l AS (
			SELECT store FROM memento.counters WHERE store = $1 AND last_seq = $2 - 1 AND revision = $20 FOR NO KEY UPDATE SKIP LOCKED
		), k AS (
			UPDATE memento.counters c ` + countsOf + `
			FROM l WHERE c.store = l.store
				AND EXISTS (SELECT 1 FROM memento.memories WHERE store = $1 AND path = $19 AND version = $21 AND id = $6 AND size = $22)
			RETURNING 1
		), c AS (
			INSERT INTO memento.contents (store, seq, data) SELECT $1::bigint, $2::bigint, $3::bytea FROM k
		), v AS (
			` + intoOne + `
			SELECT $1::bigint, $2::bigint, $4::text, $5::boolean, $6::text, $7::text, $8::text, $2::bigint, $9::bigint, $10::bytea, $11::text,
				$12::bytea, $13::bytea, $14::bigint, $18::bytea FROM k
		)
		` + setOne + ` FROM k WHERE store = $1 AND path = $19`

// errLookupNeeded says that a change cannot be planned on cached state alone.
var errLookupNeeded = errors.New("what is remembered does not do for this change")

// runOptimistically carries out a job as described at the top of this file. If done is
// false, nothing was changed, and nothing will be.
func (b *Backend) runOptimistically(ctx context.Context, k knownStore, j *job) (done bool, err error) {
	if j.editedPath == "" || k.head == nil || !k.head.soleWriter || b.server.asynchronous {
		return false, nil
	}
	now, ok := k.head.clock()
	if !ok {
		return false, nil
	}
	m, ok := b.recent.get(k.num, j.editedPath)
	if !ok {
		return false, nil
	}
	h := &memoryState{Memory: m, stored: m.Path}
	v := newView(ctx, nil, k.num)
	v.addStored(h)
	setIn(&v.byPath, m.Path, h)
	s := &session{view: v, known: k, info: k.info, seq: k.head.seq, last: k.head.last, at: backend.NextTime(now, k.head.last)}
	s.info.Usage = k.head.usage
	if j.planSafely(s) != nil || v.lookupErr != nil || len(s.versions) != 1 || len(s.contents) != 1 {
		return false, nil // with the current state the outcome may be different
	}
	if done, err = b.writeIfUnchanged(ctx, s, m); !done {
		b.stores.setHead(k, nil)
		return false, err
	}
	if err == nil {
		t := *k.head
		t.seq, t.last, t.usage = s.seq, s.last, s.info.Usage
		b.stores.setHead(k, &t)
		b.recent.note(k.num, v.changed[m.ID].Memory)
	}
	return true, err
}

// writeIfUnchanged writes the one version that a session has made, if the store has not
// changed since the session's state. before is the memory in that state.
func (b *Backend) writeIfUnchanged(ctx context.Context, s *session, before memento.Memory) (done bool, err error) {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return false, nil // the usual way will report the error
	}
	made := &s.versions[0]
	args := append(s.rowOfOne(), string(s.view.changed[made.Memory].stored), s.known.revision, string(before.Version), before.Size)
	g := b.watch(conn.Conn())
	tag, err := conn.Exec(ctx, b.sql(updateIfUnchanged), args...)
	err = g.stop(err)
	conn.Release()
	if err == nil {
		return tag.RowsAffected() == 1, nil
	}
	// An error after the command tag may come after the commit. pgx's classification of
	// errors as "not sent" is not used: in the simple protocol it also applies to a lost
	// answer.
	if at, ok := errors.AsType[*pgError](err); ok && at.SeverityUnlocalized == "ERROR" && tag == (pgconn.CommandTag{}) {
		return false, nil
	}
	return b.resolveLostAnswer(ctx, s.view.store, made.Seq, made.ID)
}

// resolveLostAnswer finds out whether a statement whose answer was lost was carried out. If
// it was not, resolveLostAnswer makes sure that it will have no effect, even if it has yet
// to reach the server.
func (b *Backend) resolveLostAnswer(ctx context.Context, store, seq int64, id memento.VersionID) (done bool, err error) {
	for range 3 { // a late answer is better than an uncertain one
		err = b.transact(ctx, func(ctx context.Context, t *tx) error {
			first := t.begin()
			t.queueLock(first, store)
			prove := b.proveVersion(store, seq, id)
			if err := t.send(ctx, first); err != nil {
				return err
			}
			switch err := prove(ctx, t.conn); {
			case err == nil:
				done = true
				return nil
			case !errors.Is(err, errAborted):
				return err
			}
			// With another revision, the condition of the statement is false.
			t.do(`UPDATE memento.counters SET revision = revision + 1 WHERE store = $1`, store)
			return nil
		})
		switch {
		case err == nil:
			return done, nil
		case ctx.Err() != nil:
			return true, ctx.Err()
		case !errors.Is(translate(err), memento.ErrUnavailable):
			return true, errUnknown
		}
	}
	return true, errUnknown
}
