package console

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"memento"
)

const (
	endingNotes   = 256             // notes over which the keys are spread
	maxEndedOfKey = 50              // sessions and links of one key that are remembered as ended
	maxEndingNote = 4 << 10         // bytes
	endingsAge    = 5 * time.Second // after that, a note is read again: others write it, too
	clockMargin   = 5 * time.Minute // by which the clocks of servers may differ
)

// Notes are small texts that all servers on one storage share, as of a backend.NoteKeeper.
type Notes interface {
	Note(ctx context.Context, name string) (string, error)
	SetNote(ctx context.Context, name, text string) error
}

// endings remember which sessions and links were ended before their time, until they would
// have ended by themselves: in notes of the storage, for all servers and their restarts.
//
// Each note has what ended of some keys, so whoever has a key can fill only what is remembered
// of that key. A note is replaced as a whole, without condition. So each server keeps in
// memory what it knows, adds what it reads, and writes again what another has overwritten: it
// looks some seconds after each write, until it finds what it wrote.
type endings struct {
	notes  Notes // nil: in memory only
	closed atomic.Bool
	parts  [endingNotes]endedPart
}

// An endedPart is one note, as far as this process knows it.
type endedPart struct {
	turn sync.Mutex // of those who read and write the note
	mu   sync.Mutex // of what is below
	read time.Time  // when it was read last
	all  ended
	// again shares the part again. It is nil if that is not necessary.
	again *time.Timer
}

// ended is what ended of some keys. Times are milliseconds since 1970.
type ended struct {
	Keys   map[string]*endedOfKey `json:"keys,omitempty"`   // by the beginning of the key's hash
	Before int64                  `json:"before,omitempty"` // all that began until then, of any key, has ended
}

// endedOfKey is what ended of one key.
type endedOfKey struct {
	IDs    map[string]int64 `json:"ids,omitempty"`    // until when, by the beginning of the hash of their IDs
	Before int64            `json:"before,omitempty"` // all that began until then has ended
}

// shortHash returns the beginning of a text's hash: 96 bits.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// part returns what is known of the note for a key, and the note's name.
func (e *endings) part(key string) (p *endedPart, note string) {
	n := sha256.Sum256([]byte(key))[31]
	return &e.parts[n], "console-ended-" + string("0123456789abcdef"[n>>4]) + string("0123456789abcdef"[n&15])
}

// has reports whether a session or a link was ended, by this server, or by another one more
// than a few seconds ago.
func (e *endings) has(ctx context.Context, v sealed, now time.Time) (bool, error) {
	p, note := e.part(v.Key)
	p.mu.Lock()
	known, fresh := p.all.has(v), time.Since(p.read) < endingsAge
	p.mu.Unlock()
	if known || fresh || e.notes == nil {
		return known, nil
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	if time.Since(p.readAt()) >= endingsAge { // else another request has read it meanwhile
		if read, err := e.share(ctx, p, note, now); !read {
			return false, err
		} // what could not be written is written later
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all.has(v), nil
}

// add ends a session or a link. It reports whether it had not ended before. With an error it
// has ended in this process only.
func (e *endings) add(ctx context.Context, v sealed, now time.Time) (first bool, err error) {
	p, note := e.part(v.Key)
	p.turn.Lock()
	defer p.turn.Unlock()
	if e.notes != nil {
		_, err = e.share(ctx, p, note, now) // another server may have ended it
	}
	p.mu.Lock()
	first = !p.all.has(v)
	p.all.add(v, now)
	p.mu.Unlock()
	if e.notes != nil && err == nil {
		_, err = e.share(ctx, p, note, now)
	} else if err != nil {
		e.shareLater(p, note, now)
	}
	return first, err
}

// shareLater shares a part again after some seconds.
func (e *endings) shareLater(p *endedPart, note string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.again != nil || e.closed.Load() {
		return
	}
	p.again = time.AfterFunc(endingsAge, func() {
		p.turn.Lock()
		defer p.turn.Unlock()
		p.mu.Lock()
		p.again = nil
		p.mu.Unlock()
		if e.closed.Load() {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), endingsAge)
		defer cancel()
		now := now.Add(endingsAge)
		if _, err := e.share(ctx, p, note, now); err != nil {
			e.shareLater(p, note, now)
		}
	})
}

// close ends what goes on in the background.
func (e *endings) close() {
	e.closed.Store(true)
	for i := range e.parts {
		p := &e.parts[i]
		p.turn.Lock()
		p.mu.Lock()
		if p.again != nil {
			p.again.Stop()
		}
		p.mu.Unlock()
		p.turn.Unlock()
	}
}

// share adds to what is known what the note has, and writes the note if it lacks something. It
// reports whether it could read the note. The caller has the part's turn.
func (e *endings) share(ctx context.Context, p *endedPart, note string, now time.Time) (read bool, err error) {
	const attempts = 5 // others may write at the same time
	for n := 0; ; n++ {
		at := time.Now()
		text, err := e.notes.Note(ctx, note)
		if errors.Is(err, memento.ErrUnsupported) {
			text, err = p.text(now), nil // a wrapper over a storage without notes: in memory only
		}
		if err != nil {
			return read, err
		}
		read = true
		var stored ended
		if text != "" && json.Unmarshal([]byte(text), &stored) != nil {
			stored = ended{Before: now.UnixMilli()} // nothing of what was ended may be believed to go on
		}
		p.mu.Lock()
		p.all.merge(stored)
		p.all.forget(now)
		p.read = at
		p.mu.Unlock()
		whole := p.text(now)
		if whole == text || text == "" && p.isEmpty() {
			return true, nil
		}
		stored.forget(now)
		if again := stored.encode(); again == whole {
			return true, nil // it only has more that ended by itself
		}
		e.shareLater(p, note, now) // another server that has read it may yet overwrite it
		if n == attempts {
			return true, fmt.Errorf("%w: other servers overwrite the note %s", memento.ErrUnavailable, note)
		}
		if err := e.notes.SetNote(ctx, note, whole); err != nil {
			return true, err
		}
	}
}

func (p *endedPart) readAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.read
}

func (p *endedPart) isEmpty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all.Keys) == 0 && p.all.Before == 0
}

// text returns the note. If it were too long, all sessions of the keys with the most that
// ended are ended, rather than that one is forgotten; and of all keys, if that is not enough.
func (p *endedPart) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		text := p.all.encode()
		if len(text) <= maxEndingNote {
			return text
		}
		most := slices.MaxFunc(slices.Collect(maps.Values(p.all.Keys)), func(a, b *endedOfKey) int { return len(a.IDs) - len(b.IDs) })
		if len(most.IDs) > 1 {
			most.endAll(now)
		} else {
			before := p.all.Before
			for _, of := range p.all.Keys {
				of.endAll(now)
				before = max(before, of.Before)
			}
			p.all = ended{Before: before}
		}
	}
}

// encode returns the same text for the same endings.
func (e *ended) encode() string {
	text, _ := json.Marshal(e) // maps of strings and numbers always encode, in order of their keys
	return string(text)
}

func (e *ended) has(v sealed) bool {
	start := v.Start.UnixMilli()
	if start <= e.Before {
		return true
	}
	of := e.Keys[shortHash(v.Key)]
	if of == nil {
		return false
	}
	_, ended := of.IDs[shortHash(v.ID)]
	return ended || start <= of.Before
}

func (e *ended) add(v sealed, now time.Time) {
	of := e.of(shortHash(v.Key))
	if of.IDs[shortHash(v.ID)] = v.End.UnixMilli(); len(of.IDs) > maxEndedOfKey {
		of.endAll(now)
	}
}

// of returns what ended of a key, which it adds if necessary.
func (e *ended) of(key string) *endedOfKey {
	if e.Keys == nil {
		e.Keys = map[string]*endedOfKey{}
	}
	of := e.Keys[key]
	if of == nil {
		of = &endedOfKey{}
		e.Keys[key] = of
	}
	if of.IDs == nil {
		of.IDs = map[string]int64{}
	}
	return of
}

// endAll ends all sessions and links of a key, rather than to forget one. What had ended stays
// ended, though a server whose clock is ahead began it.
func (e *endedOfKey) endAll(now time.Time) {
	e.Before = max(e.Before, now.UnixMilli())
	for _, until := range e.IDs {
		e.Before = max(e.Before, until-sessionTime.Milliseconds())
	}
	clear(e.IDs)
}

func (e *ended) merge(other ended) {
	e.Before = max(e.Before, other.Before)
	for key, theirs := range other.Keys {
		if theirs == nil {
			continue
		}
		of := e.of(key)
		of.Before = max(of.Before, theirs.Before)
		for id, until := range theirs.IDs {
			of.IDs[id] = max(of.IDs[id], until)
		}
	}
}

// forget forgets what has ended by itself, by every server's clock.
func (e *ended) forget(now time.Time) {
	now = now.Add(-clockMargin)
	for key, of := range e.Keys {
		if of == nil { // a note that is damaged
			delete(e.Keys, key)
			continue
		}
		maps.DeleteFunc(of.IDs, func(_ string, until int64) bool { return until <= now.UnixMilli() })
		if of.Before < now.Add(-sessionTime).UnixMilli() {
			of.Before = 0
		}
		if len(of.IDs) == 0 && of.Before == 0 {
			delete(e.Keys, key)
		}
	}
	if e.Before < now.Add(-sessionTime).UnixMilli() {
		e.Before = 0
	}
}
