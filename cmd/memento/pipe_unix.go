//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// isClosedPipe reports whether a write failed because its reader has gone.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
