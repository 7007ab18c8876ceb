package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"

	"memento"
	"memento/internal/privatetemp"

	"github.com/spf13/cobra"
)

func (a *app) editCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "edit PATH",
		Short: "Edit a memory in your editor",
		Long: `Edit opens a memory in $VISUAL or $EDITOR and writes back what you saved. These
variables may contain arguments. If the path does not exist, the editor starts with an
empty file.

If another user or agent changed the memory in the meantime, nothing is overwritten, and
your text is kept in a file. If you did not change the text, nothing is written.

The editor works on a temporary file that only you can read: in memory where the system
has a file system there ($XDG_RUNTIME_DIR or /dev/shm), else in the folder for temporary
files. It is removed at the end, also after a hangup; the next "memento edit" removes the
files of one that was killed. Swap and backup files that an editor writes elsewhere are
not under memento's control.`,
		Example: `  memento edit /notes/a.md
  VISUAL="code --wait" memento edit /notes/a.md`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := memento.ParsePath(slashed(args[0])); err != nil {
				return err
			}
			return a.withNewStore(cmd.Context(), func(s *memento.Store) error {
				p, err := storePath(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				return a.edit(cmd.Context(), s, p)
			})
		},
	}
}

func (a *app) edit(ctx context.Context, s *memento.Store, p memento.Path) error {
	put := memento.Put{Path: p}
	m, err := s.Get(ctx, memento.ByPath(p))
	switch {
	case err == nil:
		put.If = memento.IfVersion(m.Version)
	case errors.Is(err, memento.ErrNotExist):
		put.If = memento.IfAbsent()
	default:
		return err
	}
	for _, path := range privatetemp.Sweep() {
		a.say("note: removed %s, the text of an edit that was killed", line(path))
	}
	folder, err := privatetemp.New()
	if err != nil {
		return err
	}
	keep := false
	defer func() {
		if !keep {
			_ = folder.Remove()
		}
	}()
	file := filepath.Join(folder.Path, editName(p))
	if err := os.WriteFile(file, []byte(m.Content), 0o600); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // an interrupt is for the editor
	failed, ended := a.runEditor(file, folder.Lock)

	text, err := os.ReadFile(file)
	if err != nil {
		return errors.Join(failed, err)
	}
	put.Content = string(text)
	if put.Content == m.Content {
		if failed != nil {
			return failed
		}
		a.say("nothing changed")
		return nil
	}
	// After a hangup, nobody can be told where the text is, so what was saved is written.
	if failed == nil || ended {
		if err := a.apply(ctx, s, put); err == nil {
			return failed
		} else if failed == nil {
			failed = err
		}
	}
	keep = folder.Keep() == nil
	if !keep {
		return failed
	}
	until := ""
	if folder.InMemory {
		until = ", in memory: until you log out or the system restarts"
	}
	return hint(failed, "your text is kept in %s%s", filepath.Join(folder.Path, editName(p)), until)
}

// runEditor runs the user's editor on a file until it ends. The editor inherits the lock,
// if there is one. ended says that a signal ended it, or this process: a hangup of the
// terminal, or the end of the system.
func (a *app) runEditor(file string, lock *os.File) (err error, ended bool) {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"))
	fallback := "vi"
	if runtime.GOOS == "windows" {
		fallback = "notepad"
	}
	if strings.TrimSpace(editor) == "" {
		editor = fallback
	}
	cmd := exec.Command("sh", "-c", editor+` "$@"`, editor, file)
	if runtime.GOOS == "windows" {
		words := strings.Fields(editor)
		cmd = exec.Command(words[0], append(words[1:], file)...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.stdin, a.stdout, a.stderr
	if lock != nil {
		cmd.ExtraFiles = []*os.File{lock}
	}
	// Ctrl-C in the editor must not end this process, and nothing else may end it before
	// the file is removed.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGHUP, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return editorError(editor, err), false
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if s != os.Interrupt {
				ended = true
				_ = cmd.Process.Signal(s) // the editor has it already if it came from the terminal
			}
		case err := <-done:
			if err != nil {
				return editorError(editor, err), ended
			}
			return nil, ended
		}
	}
}

func editorError(editor string, err error) error {
	return hint(fmt.Errorf("the editor %q failed: %w", editor, err), "set VISUAL or EDITOR to an editor that waits until you are done")
}

var plainExtension = regexp.MustCompile(`^\.[A-Za-z0-9]{1,8}$`)

// editName returns a file name that is valid on every system and keeps the extension, so
// that editors recognize the file type.
func editName(p memento.Path) string {
	if ext := filepath.Ext(p.Base()); plainExtension.MatchString(ext) {
		return "memory" + ext
	}
	return "memory"
}
