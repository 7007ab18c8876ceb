package storetest

import (
	"testing"
	"time"

	"memento"
)

// powers tests which optional interfaces there are, and read times.
func powers(t *testing.T, h Harness) {
	h.run(t, "as promised", func(e *env) {
		if _, ok := e.b.(memento.Searcher); ok != h.Searcher {
			e.Errorf("the backend is a Searcher: %v, promised %v", ok, h.Searcher)
		}
		if _, ok := e.b.(memento.ReadMarker); ok != h.ReadMarker {
			e.Errorf("the backend is a ReadMarker: %v, promised %v", ok, h.ReadMarker)
		}
		if _, ok := e.b.(memento.KeyKeeper); ok != h.KeyKeeper {
			e.Errorf("the backend is a KeyKeeper: %v, promised %v", ok, h.KeyKeeper)
		}
		if _, ok := e.b.(memento.BackupWriter); ok != h.BackupWriter {
			e.Errorf("the backend is a BackupWriter: %v, promised %v", ok, h.BackupWriter)
		}
	})
	h.run(t, "read times", readTimes)
	h.run(t, "read times for others", syncReads)
}

func readTimes(e *env) {
	e.put("/a", "x")
	m := e.get("/a")
	if !m.ReadAt.IsZero() {
		e.Errorf("never marked, but read at %v", m.ReadAt)
	}
	marker, ok := e.b.(memento.ReadMarker)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	before := e.everything()
	marker.MarkRead(e.store, m.ID)
	marker.MarkRead(e.store, "mem_unknown")
	marker.MarkRead("memstore_unknown", m.ID)
	e.reopen() // it may be written late, but at the end
	if e.get("/a").ReadAt.IsZero() {
		e.Fatal("marked, but never read")
	}
	read := e.get("/a").ReadAt
	if since := time.Since(read); since > time.Hour+time.Minute || since < -time.Second || read.Location() != time.UTC {
		e.Errorf("read at %v", read)
	}
	if x := e.list(memento.ListOptions{})[0]; !x.Memory.ReadAt.Equal(read) {
		e.Errorf("List says read at %v, Get %v", x.Memory.ReadAt, read)
	}
	e.same("store after MarkRead", before, e.everything())

	e.put("/a", "edited")
	e.apply(memento.Move{From: "/a", To: "/b"})
	e.reopen()
	if got := e.get("/b").ReadAt; !got.Equal(read) {
		e.Errorf("after edit and move read at %v, want %v", got, read)
	}
}

// syncReads checks that noted reads can be made known to others at once.
func syncReads(e *env) {
	e.put("/a", "x")
	marker, ok := e.b.(memento.ReadMarker)
	if !ok {
		return // "as promised" has checked that it need not be one
	}
	marker.MarkRead(e.store, e.get("/a").ID)
	if err := marker.SyncReads(e.Context()); err != nil {
		e.Fatal(err)
	}
	m, err := e.another().Get(e.Context(), e.store, memento.ByPath("/a"))
	if err != nil || m.ReadAt.IsZero() {
		e.Errorf("another handle says read at %v, %v", m.ReadAt, err)
	}
	if err := marker.SyncReads(e.Context()); err != nil {
		e.Errorf("with nothing to write: %v", err)
	}
}
