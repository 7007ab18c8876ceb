package main

import (
	"context"
	"fmt"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type catFlags struct {
	version  string
	annotate bool
}

func (a *app) catCommand() *cobra.Command {
	var f catFlags
	c := &cobra.Command{
		Use:   "cat PATH",
		Short: "Write the contents of a memory",
		Long: `Cat writes the contents of a memory, byte for byte, to standard output; on a
terminal, what could do harm there is escaped. With --version it writes what the
memory was then; PATH must be where that version was.

With --annotate it shows where each line comes from: the version that last wrote
it, its time, who made it, then the line's number and text. "memento diff" shows
what a version changed. Renames write no lines. A "<" before the time marks a line
that may be older: the version is the oldest known to have it, and what there was
before is not known any more.`,
		Example: `  memento cat /notes/a.md
  memento cat /notes/a.md --version memver_01kb... > old.md
  memento cat /notes/a.md --annotate`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := memento.ParsePath(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.cat(cmd.Context(), s, p, f)
			})
		},
	}
	c.Flags().StringVar(&f.version, "version", "", "the version to show")
	c.Flags().BoolVar(&f.annotate, "annotate", false, "show who wrote each line, and when")
	_ = c.RegisterFlagCompletionFunc("version", a.completeVersions)
	return c
}

func (a *app) cat(ctx context.Context, s *memento.Store, p memento.Path, f catFlags) error {
	if f.version != "" {
		return a.catVersion(ctx, s, p, f)
	}
	if f.annotate {
		lines, err := s.Annotate(ctx, memento.ByPath(p))
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

func (a *app) catVersion(ctx context.Context, s *memento.Store, p memento.Path, f catFlags) error {
	id := memento.VersionID(f.version)
	v, err := s.Version(ctx, id)
	switch {
	case err != nil:
		return versionError(err, id)
	case v.Redacted():
		return fmt.Errorf("%w: version %s is redacted; its contents are gone", memento.ErrInvalid, id)
	case v.Path != p:
		return hint(fmt.Errorf("%w: version %s is not of %s", memento.ErrInvalid, id, p), "it is of %s", v.Path)
	case v.Operation == memento.Deleted:
		return hint(fmt.Errorf("%w: version %s is a deletion and has no contents", memento.ErrInvalid, id), `"memento log %s" shows the one before it`, p)
	case f.annotate:
		lines, err := s.AnnotateVersion(ctx, id)
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

// versionError is the error of looking for a version.
func versionError(err error, id memento.VersionID) error {
	return hint(fmt.Errorf("version %q: %w", id, err), `"memento log" lists the versions`)
}
