package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"memento"
	"memento/archive"
	"memento/transfer"

	"github.com/spf13/cobra"
)

// The exit codes. The package comment and "memento help exit-codes" say the same.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitMissing  = 3
	exitConflict = 4
	exitLimit    = 5
	exitInvalid  = 6
	exitStorage  = 7
	exitHeld     = 8
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Every command ends with one of these exit codes:

  0  done
  1  the tool refused the command ("tool view" and so on), the versions differ
     ("diff"), something sensitive was found and is still there ("scan"), or another
     failure
  2  the command line is wrong
  3  what was named does not exist: a memory, a directory, a version, a store, a file
  4  something exists already, is of another kind, is read-only by the store's
     settings, is in use by another process, or changed meanwhile; or others' changes
     stand in the way of an undo
  5  a limit would be exceeded
  6  a value, a path or an archive is not valid, or holds sensitive information
  7  the storage failed: it is full, read-only or damaged, cannot be reached, or denies
     access
  8  what is old was not removed, because a clock is not believed or it is more than
     usual ("expire", "gc", "maintain"); --force removes it

"tool" without arguments ends with 0 once its input has ended, even if commands
failed: their results say so. "maintain" ends with 0 when it is interrupted.`,
	}
}

// An outcome is what an error means to the caller of the program.
type outcome struct {
	err  error // the row is for errors that are this one
	code int
	hint string // the next step
}

// outcomes is the table. The first row that fits counts.
func outcomes() []outcome {
	return []outcome{
		{archive.ErrNotEmpty, exitConflict, `choose another with --store or another folder, or take the contents only with "import --contents-only"`},
		{transfer.ErrDiffers, exitConflict, "nothing was done to it; copy to another place, or delete that store in the target and copy again"},
		{transfer.ErrDamaged, exitStorage, `write the memory anew and remove the damaged version with "memento redact", then copy again: it goes on from there; or restore a backup of the source`},
		{transfer.ErrEncrypted, exitStorage, "name its keys with --from-encryption-keys; or leave out --to-encryption-keys, and it is copied as it is"},
		{memento.ErrDamaged, exitStorage, `"memento doctor" says what is damaged and which versions are whole, and "memento doctor --repair" brings those back`},
		{archive.ErrNoHistory, exitInvalid, "take its contents with --contents-only"},
		{archive.ErrTooLarge, exitLimit, "if you trust it, allow more with --max-bytes"},
		{memento.ErrHeld, exitHeld, ""},
		{memento.ErrSensitive, exitInvalid, `leave it out, and note where it can be found instead; "memento stores settings --help" says how to allow what only looks sensitive`},
		{memento.ErrNoDetector, exitInvalid, `"memento stores settings --sensitive off" has nothing looked for`},
		{memento.ErrNoStore, exitMissing, `see "memento stores list"; "memento stores create" makes a store, and so does the first write to it`},
		{memento.ErrNotExist, exitMissing, `"memento ls -R" shows what there is, "memento log" what there was`},
		{memento.ErrExist, exitConflict, "choose another name, or remove what is there first"},
		{memento.ErrConflict, exitConflict, "look at what is there now, then try again"},
		{memento.ErrIsDir, exitConflict, "name a memory in it"},
		{memento.ErrNotDir, exitConflict, "choose a path that does not lead through it"},
		{memento.ErrProtected, exitConflict, `"memento stores settings" shows what is read-only, "memento unprotect" lets it be changed`},
		{memento.ErrForeign, exitConflict, "nothing was changed; move what is there out of the way, or choose another path"},
		{memento.ErrInUse, exitConflict, `nothing was changed; stop the programs that use it, such as "memento serve", then try again`},
		{memento.ErrArchived, exitConflict, "an archived store can be read, but takes nothing new; choose another with --store"},
		{memento.ErrHead, exitConflict, "write something else to the memory first, or remove it"},
		{memento.ErrTooLarge, exitLimit, `"memento stats" shows what is used, "memento stores limits" changes the limits`},
		{memento.ErrInvalidPath, exitInvalid, "a path is written like /notes/todo.md"},
		{memento.ErrUnsupported, exitInvalid, "choose another backend with --backend"},
		{memento.ErrNoSpace, exitStorage, "nothing was changed; make room, then try again"},
		{memento.ErrReadOnly, exitStorage, "nothing was changed; allow writing there, or choose another place with --backend"},
		{memento.ErrFormat, exitStorage, "check that --backend names the right place; a newer memento may understand it, and if it is damaged, a backup has it"},
		{memento.ErrDenied, exitStorage, `give a key that may do this in MEMENTO_KEY, or in a file with --key-file; an admin's "memento keys create" makes one`},
		{memento.ErrUnavailable, exitStorage, "nothing was changed; check its address and that it runs, then try again"},
		{memento.ErrDecrypt, exitStorage, "give the keys that it was encrypted with: --encryption-keys names their file; without them nothing can be read"},
		{memento.ErrUncertain, exitStorage, "look at what is there now, before you repeat it"},
		{memento.ErrClosed, exitStorage, ""},
		{memento.ErrInvalid, exitInvalid, ""},
		{context.Canceled, exitFailure, ""},
		{fs.ErrNotExist, exitMissing, "check the name of the file"},
		{fs.ErrExist, exitConflict, "choose another name; nothing is overwritten"},
		{fs.ErrPermission, exitFailure, "check the permissions of the file"},
	}
}

// A usageError is of a command line that is wrong.
type usageError struct{ error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// A silence ends the program with a code; all is said.
type silence int

func (s silence) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// A hinted error has a better next step than the table's.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

func hint(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// report says what went wrong, and returns the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	if code, ok := errors.AsType[silence](err); ok {
		return int(code)
	}
	if isClosedPipe(err) {
		return exitFailure // nobody is left to be told
	}
	code, next := a.judge(err)
	if damage, ok := errors.AsType[*memento.DamageError](err); ok && damage.Whole != "" && !errors.Is(err, transfer.ErrDamaged) {
		next = fmt.Sprintf(`"memento restore %s" brings that version back; "memento doctor" looks for more damage, and says what can be done`, damage.Whole)
	}
	if better, ok := errors.AsType[hinted](err); ok {
		next = better.hint
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(a.stderr, "memento: %s\n", printable(strings.TrimPrefix(text, "memento: ")))
	if next != "" {
		fmt.Fprintf(a.stderr, "memento: hint: %s\n", printable(next))
	}
	return code
}

// judge finds the exit code and the next step for an error.
func (a *app) judge(err error) (code int, next string) {
	if _, ok := errors.AsType[usageError](err); ok || !a.running {
		return exitUsage, `add --help to the command to see how it is used`
	}
	at, ours := errors.AsType[*memento.Error](err)
	if ours && errors.Is(err, memento.ErrNotExist) && strings.HasPrefix(string(at.Path)+"/", "/memories/") {
		return exitMissing, "these commands take paths of the store: leave out /memories, which only agents write"
	}
	for _, o := range outcomes() {
		if errors.Is(err, o.err) {
			return o.code, o.hint
		}
	}
	if ours {
		return exitStorage, ""
	}
	return exitFailure, ""
}
