//go:build unix

package main

import (
	"syscall"
	"testing"
)

func hangup(t *testing.T, s *serving) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
}
