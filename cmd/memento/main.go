// Memento stores the memories of Claude and executes its memory tool.
//
// "memento tool" executes the calls of an agent, one line of JSON each. The other commands
// are for users: they list, change, repair and move memories. "memento help" lists the
// commands; --help shows the details and examples of one.
//
// # Where memories are
//
// The flag --backend, or MEMENTO_BACKEND, selects the backend by its URL. The default is
// the SQLite file memento/memento.db below the user's data
// directory ($XDG_DATA_HOME or ~/.local/share on Unix, ~/Library/Application
// Support on macOS, %LocalAppData% on Windows). The flag --store, or
// MEMENTO_STORE, selects a store by its name or ID. The default is "default". The first
// write to a store creates it.
//
// A store has settings; "memento stores settings" shows and changes them. By default,
// secrets are masked before they are written, and history is kept for 30 days. "memento
// maintain" deletes expired memories and prunes old history while it runs.
//
// # Output
//
// Data goes to standard output, messages to standard error. With --json, commands print
// one JSON object per line, with the field names of the Memory Stores API. Colours and
// progress appear only on terminals; NO_COLOR turns off colours. On terminals, control
// characters in contents are escaped.
//
// # Exit codes
//
//	0  success
//	1  the tool refused the command, the versions differ, a scan found sensitive
//	   information that was not removed, or another error
//	2  the command line is wrong
//	3  a memory, directory, version, store or file does not exist
//	4  conflict: it already exists, is read-only or in use, or was changed by another
//	   process, or an undo has conflicts
//	5  a limit would be exceeded, or an answer was cut off
//	6  a value, path or archive is invalid, or contains sensitive information
//	7  storage error
//	8  maintenance removed nothing, because a clock is wrong or because it would have
//	   removed more than usual
//
// 130 means that it was interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupts
		// A second signal ends the process at once: from before anything can tell that the
		// first has arrived.
		signal.Stop(interrupts)
		cancel()
	}()
	// A closed pipe makes writes fail instead of ending the process. The signal is not
	// ignored with signal.Ignore, because editors would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
