package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"memento"

	"github.com/spf13/cobra"
)

// runTool executes one command of the tool and prints its result: the text or, with --json,
// the tool_result block.
func (a *app) runTool(ctx context.Context, f *toolFlags, do func(*memento.Tool) (string, error)) error {
	return a.withTool(ctx, f, func(t *memento.Tool) error {
		text, err := do(t)
		refusal, refused := errors.AsType[*memento.ToolError](err)
		switch {
		case err != nil && !refused:
			return err
		case a.json:
			block := memento.ResultBlock{Type: "tool_result", Content: text}
			if refused {
				block.Content, block.IsError = refusal.Text, true
			}
			err = a.writeJSON(block)
		case refused && a.stderrTTY:
			fmt.Fprintln(a.stderr, printable(refusal.Text))
		case refused:
			fmt.Fprintln(a.stderr, refusal.Text)
		default:
			err = a.print("%s\n", a.contents(text))
		}
		if refused {
			a.explain(refusal.Err)
			return silence(exitFailure)
		}
		return err
	})
}

// explain prints the error of the storage that caused a refusal, for a person: the
// agent's sentence says only that the storage failed.
func (a *app) explain(cause error) {
	if code, next := a.classify(cause); code == exitStorage {
		fmt.Fprintf(a.stderr, "memento: %s\n", printable(cause.Error()))
		if next != "" {
			fmt.Fprintf(a.stderr, "memento: hint: %s\n", next)
		}
	}
}

func (a *app) toolViewCommand(f *toolFlags) *cobra.Command {
	var lines string
	c := &cobra.Command{
		Use:   "view PATH",
		Short: "Show a file with line numbers, or list a directory",
		Example: `  memento tool view /memories
  memento tool view /memories/notes.md --lines 1:20
  memento tool view /memories/notes.md --lines 40:`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines == "" {
				return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
					return t.View(cmd.Context(), args[0])
				})
			}
			start, end, err := parseLines(lines)
			if err != nil {
				return err
			}
			return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
				return t.ViewLines(cmd.Context(), args[0], start, end)
			})
		},
	}
	c.Flags().StringVar(&lines, "lines", "", "only these lines, as START:END; the first line is 1; without END up to the last line")
	return c
}

// parseLines parses "1:20", "40:" or "40:-1".
func parseLines(s string) (start, end int, err error) {
	from, to, ok := strings.Cut(s, ":")
	start, err1 := strconv.Atoi(from)
	end = -1
	var err2 error
	if to != "" {
		end, err2 = strconv.Atoi(to)
	}
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, usage("--lines is %q; write START:END, as in 1:20, or START: for the rest", s)
	}
	return start, end, nil
}

func (a *app) toolCreateCommand(f *toolFlags) *cobra.Command {
	var text string
	c := &cobra.Command{
		Use:   "create PATH",
		Short: "Create a file from a text, or from standard input",
		Example: `  memento tool create /memories/notes.md --text "first line"
  memento tool create /memories/notes.md < notes.md`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("text") {
				var err error
				if text, err = a.readInput(cmd.Context(), "-"); err != nil {
					return err
				}
			}
			return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
				return t.Create(cmd.Context(), args[0], text)
			})
		},
	}
	c.Flags().StringVar(&text, "text", "", "text of the file, instead of standard input")
	return c
}

func (a *app) toolReplaceCommand(f *toolFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "str_replace PATH OLD [NEW]",
		Short: "Replace the only occurrence of a text in a file",
		Long:  "Str_replace replaces the only occurrence of OLD in a file by NEW; without NEW it removes\nit. Both are literal texts. Put \"--\" before a text that begins with a dash.",
		Example: `  memento tool str_replace /memories/notes.md "blue" "green"
  memento tool str_replace /memories/notes.md -- "- old item" "- new item"`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
				return t.StrReplace(cmd.Context(), args[0], args[1], strings.Join(args[2:], ""))
			})
		},
	}
}

func (a *app) toolInsertCommand(f *toolFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "insert PATH LINE TEXT",
		Short: "Insert text after a line of a file (0: at the top)",
		Example: `  memento tool insert /memories/notes.md 0 "# Notes"
  memento tool insert /memories/notes.md 3 -- "- another item"`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			line, err := strconv.Atoi(args[1])
			if err != nil {
				return usage("LINE is %q; it must be a whole number", args[1])
			}
			return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
				return t.Insert(cmd.Context(), args[0], line, args[2])
			})
		},
	}
}

func (a *app) toolDeleteCommand(f *toolFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "delete PATH",
		Short:   "Delete a file, or a directory with everything in it",
		Example: `  memento tool delete /memories/old`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
				return t.Delete(cmd.Context(), args[0])
			})
		},
	}
}

func (a *app) toolRenameCommand(f *toolFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "rename OLD NEW",
		Short:   "Rename or move a file or a directory",
		Example: `  memento tool rename /memories/draft.md /memories/done/final.md`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runTool(cmd.Context(), f, func(t *memento.Tool) (string, error) {
				return t.Rename(cmd.Context(), args[0], args[1])
			})
		},
	}
}
