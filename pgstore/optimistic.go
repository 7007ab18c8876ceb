package pgstore

import (
	"context"
	"errors"
	"hash/maphash"
	"sync/atomic"
	"time"

	"memento"

	"github.com/jackc/pgx/v5/pgconn"
)

// Most edits change a memory that was just read, in a store that no other process
// writes to at present. Such an edit is planned on what this process remembers, and
// written by one statement, which is a transaction of its own and does nothing at
// all if anything else has been written to the store since: one round trip instead
// of two, and a third of the statements.

// A tip is the state of a store behind its newest version, as this process left it.
type storeHead struct {
	seq   int64
	last  time.Time // of the newest version
	usage memento.Usage

	// alone is whether this process has written the newest versions, one after the
	// other: an attempt that fails costs more than it saves.
	soleWriter bool

	serverMicros int64     // by the server's clock, in microseconds,
	notedAt      time.Time // when this process had noted it
}

// maxTipAge is how long the server's clock is reckoned by this process's.
const maxHeadAge = time.Minute

// clock returns the server's time, as far as it can be told, and false if that
// was last noted too long ago.
func (t *storeHead) clock() (now time.Time, ok bool) {
	age := time.Since(t.notedAt)
	return timeOf(t.serverMicros).Add(age.Truncate(time.Microsecond)), age < maxHeadAge
}

// remember notes where a session has left the store, after it was committed.
func (b *Backend) rememberHead(s *session, before *storeHead) {
	t := s.foundHead
	t.soleWriter = before != nil && before.seq == t.seq
	t.seq, t.last, t.usage = s.seq, s.last, s.info.Usage
	b.stores.setHead(s.known, &t)
	if len(s.view.changed) > 1 {
		return // those that are edited will be read before
	}
	for _, h := range s.view.changed {
		if h.ID != "" {
			b.recent.note(s.known.num, h.Memory)
		}
	}
}

// editedBy returns the memory that a change writes, if it has no other effect.
func editedPath(c memento.Change) memento.Path {
	switch c := c.(type) {
	case memento.Sealed:
		return editedPath(c.Change)
	case memento.Put:
		return c.Path
	}
	return ""
}

// recent holds memories that were read or written last. Each has its place, which the
// next one to have the same takes over.
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

// updateIfUnchanged is updateOne on two conditions: that the store's newest version
// and its description are still the ones that the change was planned for, and that
// the memory is. Whoever writes to the store holds its row of counters and moves
// last_seq, so what is true for the one that this statement gets is true until it ends.
// It does not wait for who holds that row: the condition would not hold afterwards.
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

var errLookupNeeded = errors.New("what is remembered does not do for this change")

// runOptimistically carries out a job as described above. If done is false, nothing has
// happened, and never will.
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
	s := &session{view: v, known: k, info: k.info, seq: k.head.seq, last: k.head.last, at: memento.NextTime(now, k.head.last)}
	s.info.Usage = k.head.usage
	if j.planSafely(s) != nil || v.lookupErr != nil || len(s.versions) != 1 || len(s.contents) != 1 {
		return false, nil // another state may well have another answer
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

// writeIfUnchanged writes the single version that a session has made, if nothing has
// changed since the state that the session began with, in which the memory was as before.
func (b *Backend) writeIfUnchanged(ctx context.Context, s *session, before memento.Memory) (done bool, err error) {
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return false, nil // for the usual way to say
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
	// An error behind the tag can come after the commit. And that pgx takes another for
	// one of what was never sent is not to be relied on: in the simple protocol it does so
	// of a lost answer.
	if at, ok := errors.AsType[*pgError](err); ok && at.SeverityUnlocalized == "ERROR" && tag == (pgconn.CommandTag{}) {
		return false, nil
	}
	return b.resolveLostAnswer(ctx, s.view.store, made.Seq, made.ID)
}

// settle finds out whether a statement was carried out whose answer was lost. If it
// was not, it sees to it that it never will be, wherever the statement may still be on its way.
func (b *Backend) resolveLostAnswer(ctx context.Context, store, seq int64, id memento.VersionID) (done bool, err error) {
	for range 3 { // to be uncertain is worse than to be late
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
			// With another revision, its condition does not hold any more.
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
