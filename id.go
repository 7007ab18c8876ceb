package memento

import "memento/internal/ids"

// SeqHint returns the Seq with which the version was made, or 0 if the ID does
// not contain it: a hint where a backend finds the version without an index of IDs. A
// version that was imported has another Seq, so the hint must be verified.
func (id VersionID) SeqHint() int64 { return ids.Seq(string(id)) }

// isLocal reports whether a version was made in its store. The time of an imported version
// is that of another clock, and says nothing about the versions before and after it.
func (v *Version) isLocal() bool { return v.ID.SeqHint() == v.Seq }
