package dirstore

import (
	"maps"

	"memento"
)

// A dirtyState says which dirty mark a store's lock file has to carry.
//
// The mark is a random number, 0 if there is none. It is set before the database and
// the files begin to differ, and cleared once every file is as the database says. A
// process that finds a mark which it does not know compares all files of the store:
// the process that set it has died, or could not bring all files up to date.
//
// If files stay stale, because the disk does not allow the write, the mark stays too.
// The process that left it there acknowledges it: it knows which files are stale, and
// does not compare all files whenever it finds the same mark again. An acknowledged
// mark is replaced before the next change, so that others notice if that is not
// finished, and is put back after it, so that they need not look at everything for
// what they have acknowledged themselves.
//
// Only the holder of the store's lock uses it, except for the field stale.
type dirtyState struct {
	mark       uint64                    // set in the lock file, or about to be set
	prevMark   uint64                    // acknowledged mark that begin has replaced; 0 if none
	ackedMark  uint64                    // mark that this process has left in the lock file
	ackedPaths map[memento.Path]struct{} // stale files at the time ackedMark was acknowledged

	stale          map[memento.Path]struct{} // files known to be older than the database; changed under folder.mu
	scanIncomplete bool                      // whether the last comparison of all files left some out
}

// load takes over the mark that is in the lock file when the lock is acquired. It
// reports whether all files must be compared because another process left the mark.
func (d *dirtyState) load(mark uint64) (unknown bool) {
	d.mark, d.prevMark = mark, 0
	return mark != 0 && mark != d.ackedMark
}

// begin is called before a change, with a new random mark. It reports whether that is
// now to be set; otherwise a mark that this process has not acknowledged is already there.
func (d *dirtyState) begin(newMark uint64) (set bool) {
	if d.mark != 0 && d.mark != d.ackedMark {
		return false
	}
	d.prevMark, d.mark = d.mark, newMark
	return true
}

// cancel takes back begin: the new mark could not be set, and nothing was changed.
func (d *dirtyState) cancel() { d.mark = d.prevMark }

// end is called after a change. durable says that the index has all changes, and that
// all folders are flushed. mark is then what the lock file should carry.
func (d *dirtyState) end(durable bool) {
	if durable && !d.scanIncomplete {
		switch {
		case len(d.stale) == 0:
			d.mark = 0
		case d.prevMark != 0 && d.allAcked():
			d.mark = d.prevMark
		}
	}
	if d.mark != d.ackedMark {
		d.ackedMark, d.ackedPaths = d.mark, maps.Clone(d.stale)
	}
}

// allAcked reports whether every stale file was already stale when ackedMark was
// acknowledged.
func (d *dirtyState) allAcked() bool {
	for p := range d.stale {
		if _, ok := d.ackedPaths[p]; !ok {
			return false
		}
	}
	return true
}
