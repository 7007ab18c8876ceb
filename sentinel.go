package memento

// A sentinel is an error that is another one as well: one of package io/fs, so that
// programs that know only those, and helpers written for files, work with memories.
type sentinel struct {
	text string
	of   error
}

func sentinelOf(of error, text string) error { return &sentinel{text, of} }

func (e *sentinel) Error() string { return e.text }

// Is reports whether target is the other error; errors.Is compares with e itself.
func (e *sentinel) Is(target error) bool { return target == e.of }
