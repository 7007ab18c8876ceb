//go:build !linux

package main

// unmapProgram does nothing.
func unmapProgram() error { return nil }
