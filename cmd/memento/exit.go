package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"memento"
	"memento/backend"
	"memento/cmd/memento/internal/chat"
	"memento/cmd/memento/internal/clientconfig"
	"memento/exchange/archive"
	"memento/exchange/foldersync"
	"memento/exchange/importer"
	"memento/exchange/transfer"
	"memento/maintenance"

	"github.com/spf13/cobra"
)

// The exit codes. The package comment and "memento help exit-codes" describe them too.
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
	exitPartial  = 9

	exitInterrupted = 130 // as shells report a process that SIGINT ended
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Meaning of the exit codes",
		Long: `Every command exits with one of these codes:

  0  success
  1  the tool refused the command ("tool view" and so on), the versions differ
     ("diff"), sensitive information was found and not removed ("scan"), or another
     error
  2  the command line is wrong
  3  a memory, directory, version, store or file does not exist
  4  conflict: it already exists, is of another kind, is read-only, is in use by
     another process, or was changed by another process; or an undo has conflicts
  5  a limit would be exceeded, or an answer was cut off ("chat")
  6  a value, path or archive is invalid, or contains sensitive information
  7  storage error: it is full, read-only, damaged or unreachable, or denies access
  8  "expire", "gc", "maintain" or "sync" removed nothing, because a clock is wrong or
     because it would have removed more than usual; --force overrides this
  9  "import --partial" left out files that cannot be imported; the rest is imported

  130  it was interrupted, with Ctrl-C or a signal

"tool" without arguments exits with 0 at the end of its input, even if commands failed:
their results contain the errors. "maintain" and "sync --watch" exit with 0 when they are
interrupted.`,
	}
}

// An outcome maps an error to an exit code and a hint.
type outcome struct {
	err  error // matched with errors.Is
	code int
	hint string // what the user can do next; "" for none
}

// outcomes is the table of all outcomes. The first matching row wins.
func outcomes() []outcome {
	return []outcome{
		{archive.ErrNotEmpty, exitConflict, `choose another store with --store or another folder, or import only the contents with "import --contents-only"`},
		{transfer.ErrDiffers, exitConflict, "the target store was not changed; copy to another target, or delete the target store and copy again"},
		{transfer.ErrDamaged, exitStorage, `write the memory again, remove the damaged version with "memento redact", and run the copy again to resume; or restore a backup of the source`},
		{transfer.ErrEncrypted, exitStorage, "give the keys of the source with --from-encryption-keys; or leave out --to-encryption-keys to copy it in its encrypted form"},
		{memento.ErrDamaged, exitStorage, `"memento doctor" lists the damage and the undamaged versions; "memento doctor --repair" restores them`},
		{archive.ErrNoHistory, exitInvalid, "import only the contents, with --contents-only"},
		{archive.ErrTooLarge, exitLimit, "if you trust the archive, allow more with --max-bytes"},
		{maintenance.ErrHeld, exitHeld, ""},
		{foldersync.ErrManyDeletions, exitHeld, "nothing was deleted; check that the folder and the store are the right ones; --force deletes the notes"},
		{memento.ErrSensitive, exitInvalid, `remove the sensitive text; if it only looks sensitive, see "memento stores settings --help" for how to allow it`},
		{memento.ErrNoDetector, exitInvalid, `"memento stores settings --sensitive off" turns off the detection of secrets`},
		{memento.ErrNoStore, exitMissing, `"memento stores list" lists the stores; "memento stores create" or the first write creates one`},
		{memento.ErrNotExist, exitMissing, `"memento ls -R" lists the memories, "memento log" lists their history`},
		{memento.ErrExist, exitConflict, "choose another name, or remove the existing one first"},
		{memento.ErrConflict, exitConflict, "look at the current state, then try again"},
		{memento.ErrIsDir, exitConflict, "give the path of a memory in this directory"},
		{memento.ErrNotDir, exitConflict, "choose a path that does not go through this memory"},
		{memento.ErrProtected, exitConflict, `"memento stores settings" shows the read-only patterns; "memento unprotect" removes one`},
		{memento.ErrForeign, exitConflict, "nothing was changed; move the other file away, or choose another path"},
		{backend.ErrInUse, exitConflict, `nothing was changed; stop the processes that use it, such as "memento serve", then try again`},
		{memento.ErrArchived, exitConflict, "an archived store is read-only; choose another with --store"},
		{memento.ErrHead, exitConflict, "write a new version of the memory first, or remove the memory"},
		{memento.ErrTooLarge, exitLimit, `"memento stats" shows the usage; "memento stores limits" changes the limits`},
		{memento.ErrInvalidPath, exitInvalid, "use a path such as /notes/todo.md"},
		{memento.ErrUnsupported, exitInvalid, "choose another backend with --backend"},
		{memento.ErrNoSpace, exitStorage, "nothing was changed; free some space, then try again"},
		{memento.ErrReadOnly, exitStorage, "nothing was changed; make it writable, or choose another backend with --backend"},
		{memento.ErrFormat, exitStorage, "check --backend; it may need a newer version of memento; if it is damaged, restore a backup"},
		{memento.ErrDenied, exitStorage, `use a key with the required role, in MEMENTO_KEY or with --key-file; an admin can create one with "memento keys create"`},
		{memento.ErrUnavailable, exitStorage, "nothing was changed; check the address and that the server is running, then try again"},
		{memento.ErrDecrypt, exitStorage, "give the file with the right encryption keys with --encryption-keys; without these keys the data cannot be read"},
		{memento.ErrUncertain, exitStorage, "check the current state before you try again"},
		{memento.ErrClosed, exitStorage, ""},
		{memento.ErrInvalid, exitInvalid, ""},
		{importer.ErrProblems, exitInvalid, "to leave these files out, add --partial"},
		{chat.ErrNoSession, exitMissing, `"memento chat sessions" lists the sessions`},
		{chat.ErrCutOff, exitLimit, "allow longer answers with --max-tokens, or ask to go on"},
		{chat.ErrRefused, exitFailure, "ask in another way; what you wrote last was not kept"},
		{chat.ErrBroken, exitFailure, `check the connection; "memento chat --continue" goes on with the conversation`},
		{clientconfig.ErrBroken, exitInvalid, "nothing was changed; correct the file, or remove it"},
		{clientconfig.ErrForm, exitInvalid, "nothing was changed; change the file by hand: the server is this program with the argument mcp"},
		{clientconfig.ErrTooLarge, exitLimit, "nothing was changed; give another file with --file"},
		{clientconfig.ErrName, exitInvalid, "choose another name with --name"},
		{clientconfig.ErrOther, exitConflict, "nothing was changed; choose another name with --name, or remove that server first"},
		{clientconfig.ErrLink, exitConflict, "nothing was changed; give the file that it leads to with --file"},
		{clientconfig.ErrChanged, exitConflict, "nothing was changed; close the client, then try again"},
		{context.Canceled, exitInterrupted, ""},
		{fs.ErrNotExist, exitMissing, "check the name of the file"},
		{fs.ErrExist, exitConflict, "choose another name; existing files are not overwritten"},
		{fs.ErrPermission, exitFailure, "check the permissions of the file"},
	}
}

// A usageError is an error of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// A silence is an exit code without a message: everything was printed already.
type silence int

func (s silence) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// A hinted error has a hint that replaces the one of the table.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

func hint(err error, format string, args ...any) error {
	return hinted{err, fmt.Sprintf(format, args...)}
}

// A reword error has a text of its own instead of that of the error it wraps.
type reword struct {
	error
	text string
}

func (e reword) Error() string { return e.text }
func (e reword) Unwrap() error { return e.error }

func reworded(err error, format string, args ...any) error {
	return reword{err, fmt.Sprintf(format, args...)}
}

// report prints an error with its hint, and returns the exit code.
func (a *app) report(err error) int {
	if err == nil {
		return exitOK
	}
	if code, ok := errors.AsType[silence](err); ok {
		return int(code)
	}
	if isClosedPipe(err) {
		return exitFailure // there is no reader for a message
	}
	code, next := a.classify(err)
	if damage, ok := errors.AsType[*memento.DamageError](err); ok && damage.Whole != "" && !errors.Is(err, transfer.ErrDamaged) {
		next = fmt.Sprintf(`"memento restore %s" restores that version; "memento doctor" checks for more damage`, damage.Whole)
	}
	if refused, ok := errors.AsType[*chat.APIError](err); ok && refused.Status == http.StatusUnauthorized {
		next = "check the key in ANTHROPIC_API_KEY"
	}
	if better, ok := errors.AsType[hinted](err); ok {
		next = better.hint
	}
	text := err.Error()
	if at, ok := errors.AsType[*memento.Error](err); ok && text == at.Error() && at.Path != "" && (at.Op == "get" || at.Op == "list") {
		text = string(at.Path) + " " + at.Err.Error() // without the operation, which the user knows
	}
	if newer, ok := errors.AsType[*backend.NewerFormatError](err); ok {
		text, next = newer.Error(), "nothing was changed; use the newer version of memento, or another backend with --backend"
	}
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	if a.json {
		return a.reportJSON(code, text, next)
	}
	fmt.Fprintf(a.stderr, "memento: %s\n", printable(strings.TrimPrefix(text, "memento: ")))
	if next != "" {
		fmt.Fprintf(a.stderr, "memento: hint: %s\n", printable(next))
	}
	return code
}

// An errorJSON is an error of a command with --json, on standard error.
type errorJSON struct {
	Type  string `json:"type"` // "error"
	Error struct {
		Type    string `json:"type"` // see errorTypes
		Message string `json:"message"`
		Hint    string `json:"hint,omitempty"`
	} `json:"error"`
	ExitCode int `json:"exit_code"`
}

// errorTypes names the exit codes in errorJSON.
var errorTypes = map[int]string{
	exitFailure: "failure", exitUsage: "usage", exitMissing: "not_found", exitConflict: "conflict", exitLimit: "limit",
	exitInvalid: "invalid", exitStorage: "storage", exitHeld: "held", exitInterrupted: "interrupted",
}

// reportJSON prints an error as one line of JSON, and returns its exit code.
func (a *app) reportJSON(code int, text, next string) int {
	j := errorJSON{Type: "error", ExitCode: code}
	j.Error.Type, j.Error.Message, j.Error.Hint = errorTypes[code], strings.TrimPrefix(text, "memento: "), next
	e := json.NewEncoder(a.stderr)
	e.SetEscapeHTML(false)
	_ = e.Encode(j)
	return code
}

// classify returns the exit code and the hint for an error.
func (a *app) classify(err error) (code int, next string) {
	if _, ok := errors.AsType[usageError](err); ok || !a.running {
		return exitUsage, `run the command with --help to see its usage`
	}
	_, ours := errors.AsType[*memento.Error](err)
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
