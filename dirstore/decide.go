package dirstore

import "memento"

// A presence is what is found at a path.
type presence int

const (
	absent  presence = iota // nothing, or a folder
	file                    // a plain file
	linked                  // a plain file with another name, which may lie anywhere
	special                 // a symbolic link, a FIFO, a socket, a device
)

// A situation is what is known about one path.
type situation struct {
	disk presence
	same bool            // whether what is there is what the row is about, unchanged
	row  *row            // nil if the index has none
	head *memento.Memory // nil if the database has none
	lost bool            // whether the database knows nothing of the row's version
}

// A action is what is to be done about a path.
type action int

const (
	keep    action = iota // nothing
	forget                // the row is about what is no more
	write                 // the file is behind the database
	unlink                // the file should be gone: the database has removed the memory
	refresh               // the file has the contents of the database: the index takes note
	add                   // a file was added: it becomes a memory
	edit                  // a file was changed: it becomes a version
	drop                  // a file was removed: so is the memory
	leave                 // something else is in the memory's place
)

// decide compares what is on disk, what memento has last put or seen there, and
// what the database says. Two of the three tell who has changed the third: if disk
// and record agree, the database is ahead; if index and database do, a hand was at
// the file. If none agree the hand has the last word, for what the database has is
// in the history in any case. So it has if the database knows nothing of the version in
// the file: they were replaced by older ones.
//
// hash returns that of the file's contents, and older whether an earlier version of
// the memory had contents of a hash. They are asked only if it matters.
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
		return write // it was only touched
	case s.row == nil && older(h):
		return write // it was not yet brought up to date when the index was lost
	}
	return edit
}
