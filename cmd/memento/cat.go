package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"memento"
	"memento/history"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type catFlags struct {
	asOf     string
	annotate bool
}

func (a *app) catCommand() *cobra.Command {
	var f catFlags
	c := &cobra.Command{
		Use:   "cat PATH|VERSION...",
		Short: "Print the contents of memories or versions",
		Long: `Cat prints the contents of memories to standard output, byte for byte. On a terminal,
control characters are escaped. With --as-of it prints what was at PATH at that time.
Given the ID of a version, or its beginning, it prints that version.

With --annotate it prints for each line the version that last changed it, the time and
the actor of that version, the line number and the text. "memento diff" shows what a
version changed. Renames change no lines. A "<" before the time marks a line that may
be older than shown, because earlier versions were pruned or redacted.`,
		Example: `  memento cat /notes/a.md
  memento cat /notes/a.md --as-of yesterday
  memento cat memver_01kb... > old.md
  memento cat /notes/a.md --annotate`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completePathOrVersion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.asOf != "" && slices.ContainsFunc(args, isVersionID) {
				return usage("give a version or --as-of, not both")
			}
			return a.withReadStore(cmd.Context(), func(s *memento.Store) error {
				return a.cat(cmd.Context(), s, args, f)
			})
		},
	}
	a.addAsOf(c, &f.asOf, "print what was there at this `time`: "+timeForms)
	c.Flags().BoolVar(&f.annotate, "annotate", false, "show the version, time and actor of each line")
	return c
}

func (a *app) cat(ctx context.Context, s *memento.Store, args []string, f catFlags) error {
	var past *history.Snapshot
	var err error
	if f.asOf != "" {
		if past, err = a.asOf(ctx, s, f.asOf); err != nil {
			return err
		}
	}
	for _, typed := range args {
		if err := a.catOne(ctx, s, past, typed, f); err != nil {
			return err
		}
	}
	return nil
}

// catOne prints one version or memory, or what past has at its path.
func (a *app) catOne(ctx context.Context, s *memento.Store, past *history.Snapshot, typed string, f catFlags) error {
	if isVersionID(typed) {
		return a.catVersion(ctx, s, typed, f)
	}
	p, err := storePath(ctx, s, typed)
	if err != nil {
		return err
	}
	if past == nil {
		return a.catNow(ctx, s, p, f)
	}
	v, err := past.Get(ctx, p)
	if err != nil {
		return err
	}
	return a.catVersion(ctx, s, string(v.ID), f)
}

// catNow prints a memory as it is.
func (a *app) catNow(ctx context.Context, s *memento.Store, p memento.Path, f catFlags) error {
	if f.annotate {
		lines, err := history.Annotate(ctx, s, memento.ByPath(p))
		if err != nil {
			return err
		}
		return a.showAnnotated(ctx, s, lines)
	}
	m, err := s.Get(ctx, memento.ByPath(p))
	if err != nil {
		return err
	}
	if a.json {
		id, err := s.ID(ctx)
		if err != nil {
			return err
		}
		return a.writeJSON(wire.FromMemory(id, m, true))
	}
	return a.print("%s", a.contents(m.Content))
}

// catVersion prints a version, given by its ID or the beginning of it.
func (a *app) catVersion(ctx context.Context, s *memento.Store, typed string, f catFlags) error {
	id, err := versionID(ctx, s, typed)
	if err != nil {
		return err
	}
	v, err := s.Version(ctx, id)
	switch {
	case err != nil:
		return versionError(err, id)
	case v.Redacted():
		return fmt.Errorf("%w: version %s is redacted and has no contents", memento.ErrInvalid, id)
	case v.Operation == memento.Deleted:
		return hint(fmt.Errorf("%w: version %s is a deletion and has no contents", memento.ErrInvalid, id), `"memento log %s" lists the earlier versions`, v.Path)
	case f.annotate:
		lines, err := history.AnnotateVersion(ctx, s, id)
		if err != nil {
			return versionError(err, id)
		}
		return a.showAnnotated(ctx, s, lines)
	case a.json:
		store, err := s.ID(ctx)
		if err != nil {
			return err
		}
		return a.writeJSON(wire.FromVersion(store, v, true))
	}
	return a.print("%s", a.contents(v.Content))
}

// noVersion words the error of a version that does not exist.
func noVersion(err error, id memento.VersionID) error {
	if errors.Is(err, memento.ErrNotExist) {
		return reworded(err, "there is no version %s", id)
	}
	return fmt.Errorf("version %q: %w", id, err)
}

// versionError adds the ID and a hint to the error of a version lookup.
func versionError(err error, id memento.VersionID) error {
	return hint(noVersion(err, id), `"memento log" lists the versions`)
}
