// Package powercut tests that backends lose nothing when a machine loses its power.
//
// A disk is a file system that can be cut: what was not flushed is then gone. There
// are two: [Volume], a strict file system in memory, served through FUSE, on which
// only what fsync has confirmed is durable; and [Ext4], a real one on a loop device,
// which its shutdown ioctl stops at once. Writers are child processes, which tell
// before and after each operation what they do. After each cut a new process opens
// the same store, and what it finds is compared with what was acknowledged.
//
// It is a module of its own, so that the FUSE library is nobody's dependency. It
// needs Linux and root, or at least user namespaces with /dev/fuse:
//
//	go run ./internal/suites crash
//	go test -C internal/powercut . -run 'TestStrict/dir' -cuts 500
//
// MEMENTO_POWERCUT_SEED repeats a campaign with a seed that a failure has printed.
package powercut
