package main

import (
	"cmp"
	"context"
	"errors"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) putCommand() *cobra.Command {
	var (
		ifAbsent  bool
		ifVersion string
	)
	c := &cobra.Command{
		Use:   "put PATH [FILE]",
		Short: "Write a memory from a file, or from standard input",
		Long: `Put writes a memory from a file or from standard input. It replaces existing contents,
which stay in the history. Secrets are masked or rejected, depending on the store settings.`,
		Example: `  memento put /notes/a.md a.md
  date | memento put /notes/today.md
  memento put /notes/a.md a.md --if-absent
  memento put /notes/a.md a.md --if-version memver_01kb...`,
		Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return first(1, a.completePaths)(cmd, args, typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if _, err := memento.ParsePath(slashed(args[0])); err != nil {
				return err
			}
			file := "-"
			if len(args) > 1 {
				file = args[1]
			}
			text, err := a.readInput(ctx, file)
			if err != nil {
				return err
			}
			return a.withNewStore(ctx, func(s *memento.Store) error {
				put := memento.Put{Content: text}
				if put.Path, err = storePath(ctx, s, args[0]); err != nil {
					return err
				}
				switch {
				case ifAbsent:
					put.If = memento.IfAbsent()
				case ifVersion != "":
					id, err := versionID(ctx, s, ifVersion)
					if err != nil {
						return err
					}
					put.If = memento.IfVersion(id)
				}
				return a.apply(ctx, s, put)
			})
		},
	}
	c.Flags().BoolVar(&ifAbsent, "if-absent", false, "only if the memory does not exist")
	c.Flags().StringVar(&ifVersion, "if-version", "", "only if the version with this `ID` is the newest of the memory")
	c.MarkFlagsMutuallyExclusive("if-absent", "if-version")
	_ = c.RegisterFlagCompletionFunc("if-version", a.completeVersionsOfPath)
	return c
}

// noteMasked prints which secrets were masked in a write.
func (a *app) noteMasked(found []memento.FindingLocation) {
	const max = 10
	for _, f := range found[:min(len(found), max)] {
		a.say("note: masked %s on line %d of %s", f.Kind, f.Line, f.Path)
	}
	if n := len(found) - max; n > 0 {
		a.say("note: masked %d more", n)
	}
}

// noteMarked prints which instructions were marked in a write.
func (a *app) noteMarked(found []memento.FindingLocation) {
	const max = 10
	for _, f := range found[:min(len(found), max)] {
		a.say("note: marked %s on line %d of %s", f.Kind, f.Line, line(string(f.Path)))
	}
	if n := len(found) - max; n > 0 {
		a.say("note: marked %d more", n)
	}
}

// apply makes changes as the current user, and prints the results.
func (a *app) apply(ctx context.Context, s *memento.Store, changes ...memento.Change) error {
	return a.applyUnnamed(ctx, s, nil, changes...)
}

// applyUnnamed is apply that prints the IDs in ids instead of the paths, for memories that
// the user selected by ID.
func (a *app) applyUnnamed(ctx context.Context, s *memento.Store, ids map[memento.Path]memento.MemoryID, changes ...memento.Change) error {
	r, err := s.Apply(ctx, person(), changes...)
	if err != nil {
		if at, ok := errors.AsType[*memento.Error](err); ok && ids[at.Path] != "" {
			return &memento.Error{Op: at.Op + " " + string(ids[at.Path]), Err: at.Err}
		}
		return err
	}
	a.noteMasked(r.Masked)
	a.noteMarked(r.Marked)
	for _, c := range changes {
		switch c := c.(type) {
		case memento.Put:
			a.noteAgentPath(c.Path)
		case memento.Move:
			a.noteAgentPath(c.To)
		}
	}
	versions := r.Versions
	if len(versions) == 0 {
		a.say("nothing changed")
		return nil
	}
	if !a.json {
		if len(versions) > 10 {
			a.say("%d memories %s", len(versions), versions[0].Operation)
			return nil
		}
		for _, v := range versions {
			a.say("%s %s (%s)", v.Operation, cmp.Or(string(ids[v.Path]), string(v.Path)), v.ID)
		}
		return nil
	}
	id, err := s.ID(ctx)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if err := a.writeJSON(wire.FromVersion(id, v, false)); err != nil {
			return err
		}
	}
	return nil
}
