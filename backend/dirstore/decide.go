package dirstore

import "memento"

// A presence says what is found at a path on disk.
type presence int

const (
	absent  presence = iota // nothing, or a folder
	file                    // a regular file
	linked                  // a regular file with a second hard link, which may be anywhere
	special                 // a symbolic link, a FIFO, a socket, a device
)

// A situation is what is known about one path.
type situation struct {
	disk presence
	same bool            // whether the file on disk is unchanged since the row was written
	row  *row            // from the index; nil if it has none
	head *memento.Memory // from the database; nil if there is no memory
	lost bool            // whether the row's version is not in the database
}

// An action is what has to be done about a path.
type action int

const (
	keep    action = iota // nothing
	forget                // remove the row: neither file nor memory exists
	write                 // write the file: it is older than the database
	unlink                // remove the file: its memory was removed
	refresh               // update the row: the file has the contents of the database
	add                   // make a memory: a file was added by hand
	edit                  // make a version: a file was changed by hand
	drop                  // remove the memory: its file was removed by hand
	leave                 // record that something other than a regular file is at the path
)

// decide compares the file on disk, the row in the index, which says what memento last
// wrote or saw there, and the memory in the database. Two of the three show what has
// changed the third. If file and index agree, the database is newer. If index and
// database agree, the file was changed by hand. If all three differ the file wins, since
// the text in the database is in the history in any case. The file also wins if the
// database does not have the version that the row names: then the database was replaced
// by an older one.
//
// hash returns the hash of the file's contents. older reports whether an earlier version
// of the memory had contents with a hash. Both are called only if needed.
func decide(s situation, hash func() string, older func(hash string) bool) action {
	isManaged := s.row != nil && s.row.status.kind == managed
	s.same = s.same && !s.lost
	current := s.row != nil && s.head != nil && s.row.version == s.head.Version
	if s.row != nil && !isManaged && s.same {
		return keep
	}
	if s.head == nil {
		switch {
		case s.disk == file && isManaged && s.same:
			return unlink
		case s.disk == file:
			return add
		case s.row != nil:
			return forget
		}
		return keep
	}
	switch s.disk {
	case absent:
		if current {
			return drop
		}
		return write
	case special:
		return leave
	}
	if isManaged && s.same {
		if current {
			return keep
		}
		return write
	}
	h := hash()
	switch {
	case h == s.head.SHA256:
		return refresh
	case s.disk == linked:
		return leave
	case !current && isManaged && !s.lost && h == s.row.sha256:
		return write // only its times were changed
	case s.row == nil && older(h):
		return write // it was not yet up to date when the index was lost
	}
	return edit
}
