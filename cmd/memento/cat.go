package main

import (
	"context"
	"fmt"

	"memento"

	"github.com/spf13/cobra"
)

func (a *app) catCommand() *cobra.Command {
	var version string
	c := &cobra.Command{
		Use:   "cat PATH",
		Short: "Write the contents of a memory",
		Long: `Cat writes the contents of a memory, byte for byte, to standard output; on a
terminal, what could do harm there is escaped. With --version it writes what the
memory was then; PATH must be where that version was.`,
		Example: `  memento cat /notes/a.md
  memento cat /notes/a.md --version memver_01kb... > old.md`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := memento.ParsePath(args[0])
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				if version != "" {
					return a.catVersion(cmd.Context(), s, p, memento.VersionID(version))
				}
				return a.cat(cmd.Context(), s, p)
			})
		},
	}
	c.Flags().StringVar(&version, "version", "", "the version to show")
	_ = c.RegisterFlagCompletionFunc("version", a.completeVersions)
	return c
}

func (a *app) cat(ctx context.Context, s *memento.Store, p memento.Path) error {
	m, err := s.Get(ctx, memento.ByPath(p))
	if err != nil {
		return err
	}
	if a.json {
		id, err := s.ID(ctx)
		if err != nil {
			return err
		}
		return a.writeJSON(wireMemory(id, m, true))
	}
	return a.print("%s", a.contents(m.Content))
}

func (a *app) catVersion(ctx context.Context, s *memento.Store, p memento.Path, id memento.VersionID) error {
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
	case a.json:
		store, err := s.ID(ctx)
		if err != nil {
			return err
		}
		return a.writeJSON(wireVersion(store, v, true))
	}
	return a.print("%s", a.contents(v.Content))
}

// versionError is the error of looking for a version.
func versionError(err error, id memento.VersionID) error {
	return hint(fmt.Errorf("version %q: %w", id, err), `"memento log" lists the versions`)
}
