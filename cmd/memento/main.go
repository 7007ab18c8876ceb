// Memento keeps what Claude remembers, and executes its memory tool.
//
// "memento tool" answers the calls of an agent, a line of JSON each; the other
// commands are for people who want to see, mend and move what was remembered.
// "memento help" lists them, and each has examples under --help.
//
// # Where memories are
//
// The flag --backend, or MEMENTO_BACKEND, names the backend as a URL; without it
// memories are in the SQLite file memento/memento.db below the user's data
// directory ($XDG_DATA_HOME or ~/.local/share on Unix, ~/Library/Application
// Support on macOS, %LocalAppData% on Windows). The flag --store, or
// MEMENTO_STORE, names a store in it, by its name or its ID; "default" is the
// default. A store is made when something is first written to it.
//
// A store has settings; "memento stores settings" shows and changes them. Unless
// they say otherwise, what looks like a secret is replaced before it is written,
// and history is kept for 30 days. "memento maintain", for as long as it runs,
// removes the history and the memories whose time is over.
//
// # Output
//
// Data goes to standard output, talk to standard error. With --json, commands
// write a JSON object a line, with the field names of the Memory Stores API.
// Colours and progress appear on terminals only, and colours not if NO_COLOR is
// set. What contents could do to a terminal is escaped.
//
// # Exit codes
//
//	0  done
//	1  the tool refused the command, the versions differ, a scan found something
//	   that is still there, or another failure
//	2  the command line is wrong
//	3  what was named does not exist
//	4  something exists already, is read-only or in use, or changed meanwhile, or
//	   is in the way of an undo
//	5  a limit would be exceeded
//	6  a value, or a path, is not valid, or holds sensitive information
//	7  the storage failed
//	8  what is old was not removed, because a clock is not believed or it is more than usual
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	// A reader that goes away makes writes fail, rather than ending the process.
	// Nobody listens; but to ignore the signal would pass on to editors.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
