package console

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"memento"
	"memento/backend/memstore"
)

// readOnlyNotes cannot be written.
type readOnlyNotes struct{ Notes }

func (readOnlyNotes) SetNote(context.Context, string, string) error { return memento.ErrUnavailable }

func newSealed(id string, now time.Time) sealed {
	return sealed{Key: "key", ID: id, Start: now, End: now.Add(sessionTime)}
}

// Sessions are accepted while notes can be read, but not written.
func TestEndingsOfReadOnlyNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memstore.New(nil)
		defer b.Close()
		e := endings{notes: readOnlyNotes{b}}
		defer e.close()
		ended, open := newSealed("ended", time.Now()), newSealed("open", time.Now())
		if _, err := e.add(t.Context(), ended, time.Now()); err == nil {
			t.Error("no error for what could not be written")
		}
		time.Sleep(2 * endingsAge)
		for v, want := range map[sealed]bool{ended: true, open: false} {
			if got, err := e.has(t.Context(), v, time.Now()); got != want || err != nil {
				t.Errorf("%s: %v %v", v.ID, got, err)
			}
		}
	})
}

// overwrittenNotes are overwritten after each write, by a server that read them before.
type overwrittenNotes struct {
	Notes
	times int
}

func (n *overwrittenNotes) SetNote(ctx context.Context, name, text string) error {
	err := n.Notes.SetNote(ctx, name, text)
	if n.times--; err == nil && n.times >= 0 {
		return n.Notes.SetNote(ctx, name, "{}")
	}
	return err
}

// What another server overwrites is written again, without any request, and it is an error if
// it is overwritten again and again. Afterwards nothing goes on in the background.
func TestEndingsOverwritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memstore.New(nil)
		defer b.Close()
		notes := &overwrittenNotes{Notes: b, times: 6}
		e := endings{notes: notes}
		v := newSealed("ended", time.Now())
		if _, err := e.add(t.Context(), v, time.Now()); err == nil {
			t.Error("no error for what was overwritten")
		}
		stored := func() bool {
			fresh := endings{notes: b}
			defer fresh.close()
			has, err := fresh.has(t.Context(), v, time.Now())
			return has && err == nil
		}
		time.Sleep(endingsAge + time.Second)
		if !stored() {
			t.Error("what was overwritten is not written again")
		}
		_, note := e.part(v.Key)
		if err := b.SetNote(t.Context(), note, "{}"); err != nil { // after it was found once
			t.Fatal(err)
		}
		time.Sleep(endingsAge)
		if !stored() {
			t.Error("what was overwritten after a second is not written again")
		}
		time.Sleep(3 * endingsAge)
		p, _ := e.part(v.Key)
		p.mu.Lock()
		if p.again != nil {
			t.Error("it looks again and again")
		}
		p.mu.Unlock()
		e.close()
	})
}

// A note that many keys share never gets too long, and nothing that was ended goes on, neither
// here nor for those who read the note.
func TestFullNoteOfEndings(t *testing.T) {
	now := time.Date(2026, 9, 26, 12, 0, 0, 0, time.UTC)
	for _, of := range []struct{ keys, each int }{{3, 200}, {6, 40}, {500, 1}, {30, 30}} {
		var p endedPart
		var gone []sealed
		for i := range of.keys {
			for n := range of.each {
				now = now.Add(time.Millisecond)
				v := sealed{Key: fmt.Sprint("key ", i), ID: fmt.Sprint(i, " ", n), Start: now, End: now.Add(sessionTime)}
				p.all.add(v, now)
				gone = append(gone, v)
				if text := p.text(now); len(text) > maxEndingNote {
					t.Fatalf("%d keys with %d each: a note of %d bytes", of.keys, of.each, len(text))
				}
			}
		}
		for _, v := range gone {
			if !p.all.has(v) {
				t.Fatalf("%d keys with %d each: %s goes on", of.keys, of.each, v.ID)
			}
		}
		later := now.Add(time.Millisecond)
		if p.all.has(sealed{Key: "key 0", ID: "later", Start: later, End: later.Add(sessionTime)}) {
			t.Errorf("%d keys with %d each: a session that began later has ended", of.keys, of.each)
		}
		if p.all.forget(now.Add(2 * sessionTime)); !p.isEmpty() {
			t.Errorf("%d keys with %d each: not forgotten: %s", of.keys, of.each, p.all.encode())
		}
	}
}

// Servers' clocks differ: what a server ended stays ended on one whose clock is behind, also in
// a full note, until it has ended by both clocks.
func TestEndingsOfOtherClocks(t *testing.T) {
	behind := time.Date(2026, 9, 26, 12, 0, 0, 0, time.UTC)
	ahead := behind.Add(clockMargin - time.Second)
	for _, of := range []struct{ keys, each int }{{1, 1}, {1, maxEndedOfKey + 10}, {500, 1}} {
		var p endedPart
		var gone []sealed
		for i := range of.keys {
			for n := range of.each {
				v := sealed{Key: fmt.Sprint("key ", i), ID: fmt.Sprint(i, " ", n), Start: ahead, End: ahead.Add(sessionTime)}
				p.all.add(v, behind)
				p.text(behind)
				gone = append(gone, v)
			}
		}
		p.all.forget(ahead.Add(sessionTime)) // the other server still believes them for a moment
		for _, v := range gone {
			if !p.all.has(v) {
				t.Fatalf("%d keys with %d each: %s goes on", of.keys, of.each, v.ID)
			}
		}
	}
}
