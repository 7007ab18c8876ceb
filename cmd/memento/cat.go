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
		Short: "Print the contents of a memory",
		Long: `Cat prints the contents of a memory to standard output, byte for byte. On a terminal,
control characters are escaped. With --version it prints that version; PATH must be
the path the version has.

With --annotate it prints for each line the version that last changed it, the time and
the actor of that version, the line number and the text. "memento diff" shows what a
version changed. Renames change no lines. A "<" before the time marks a line that may
be older than shown, because earlier versions were pruned or redacted.`,
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
	c.Flags().StringVar(&f.version, "version", "", "ID of the version to print")
	c.Flags().BoolVar(&f.annotate, "annotate", false, "show the version, time and actor of each line")
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
		return fmt.Errorf("%w: version %s is redacted and has no contents", memento.ErrInvalid, id)
	case v.Path != p:
		return hint(fmt.Errorf("%w: version %s does not belong to %s", memento.ErrInvalid, id, p), "it belongs to %s", v.Path)
	case v.Operation == memento.Deleted:
		return hint(fmt.Errorf("%w: version %s is a deletion and has no contents", memento.ErrInvalid, id), `"memento log %s" lists the earlier versions`, p)
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

// versionError adds the ID and a hint to the error of a version lookup.
func versionError(err error, id memento.VersionID) error {
	return hint(fmt.Errorf("version %q: %w", id, err), `"memento log" lists the versions`)
}
