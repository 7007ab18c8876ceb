package console

import (
	"fmt"
	"testing"
	"time"
)

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
