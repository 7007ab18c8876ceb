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

	"memento"

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
your text is kept in a file. If you did not change the text, nothing is written.`,
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
	dir, err := os.MkdirTemp("", "memento-edit-") // mode 0700
	if err != nil {
		return err
	}
	file := filepath.Join(dir, editName(p))
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(dir)
		}
	}()
	if err := os.WriteFile(file, []byte(m.Content), 0o600); err != nil {
		return err
	}
	// Ctrl-C in the editor must not end this process.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx = context.WithoutCancel(ctx)
	failed := a.runEditor(file)

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
	if failed == nil {
		failed = a.apply(ctx, s, put)
	}
	if failed != nil {
		keep = true
		return hint(failed, "your text is kept in %s", file)
	}
	return nil
}

// runEditor runs the user's editor on a file until it ends.
func (a *app) runEditor(file string) error {
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
	if err := cmd.Run(); err != nil {
		return hint(fmt.Errorf("the editor %q failed: %w", editor, err), "set VISUAL or EDITOR to an editor that waits until you are done")
	}
	return nil
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
