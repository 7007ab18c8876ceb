// Package powercut tests that backends lose no acknowledged data in a power cut.
//
// A disk is a file system that a test can cut: data that was not flushed is then gone.
// There are two: [Volume], a strict file system in memory, served through FUSE, on which
// only data that fsync has confirmed is durable; and [Ext4], a real one on a loop device,
// which its shutdown ioctl stops at once. Writers are child processes, which report
// each operation before and after it. After each cut a new process opens the same store,
// and its contents are compared with the acknowledged operations.
//
// It is a module of its own, so that memento does not depend on the FUSE library. It
// needs Linux and root, or at least user namespaces with /dev/fuse:
//
//	go run ./test/suites crash
//	go test -C test/powercut . -run 'TestStrict/dir' -cuts 500
//
// MEMENTO_POWERCUT_SEED repeats a campaign with a seed that a failure has printed.
package powercut
