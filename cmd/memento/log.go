package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"memento"
	"memento/backend/storeurl"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type logFlags struct {
	limit        int
	since, until string
}

func (a *app) logCommand() *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use:   "log [PATH]",
		Short: "Show the history of a memory, a directory or the store",
		Long: `Log lists versions, newest first: the ID, the time, the operation, the size and path
after the change, and the actor.

The history of a memory includes its renames, and is still available after the memory was
removed. The history of a directory includes everything that was ever in it.`,
		Example: `  memento log
  memento log /notes/a.md
  memento log --since 3d --limit 20
  memento log --since "2026-11-01 09:00" --until 2026-11-02T09:00:00Z`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 0 {
				return usage("--limit is %d; it must not be negative", f.limit)
			}
			opts := memento.VersionListOptions{Limit: f.limit}
			var err error
			if opts.CreatedFrom, err = optionalTime(f.since, a.now()); err != nil {
				return err
			}
			if opts.CreatedTo, err = optionalTime(f.until, a.now()); err != nil {
				return err
			}
			p := memento.Root
			if len(args) > 0 {
				if p, err = memento.ParseDir(args[0]); err != nil {
					return err
				}
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.log(cmd.Context(), s, p, opts)
			})
		},
	}
	c.Flags().IntVarP(&f.limit, "limit", "n", 0, "maximum number of versions to list; 0 for all")
	c.Flags().StringVar(&f.since, "since", "", "only versions created at this `time` or later: "+timeForms)
	c.Flags().StringVar(&f.until, "until", "", "only versions created at this `time` or earlier")
	return c
}

func (a *app) log(ctx context.Context, s *memento.Store, p memento.Path, opts memento.VersionListOptions) error {
	versions, err := history(ctx, s, p, opts)
	if err != nil {
		return err
	}
	id, err := s.ID(ctx)
	if err != nil {
		return err
	}
	none := true
	for v, err := range versions {
		if err != nil {
			return err
		}
		none = false
		if a.json {
			err = a.writeJSON(wire.FromVersion(id, v, false))
		} else {
			err = a.logLine(v)
		}
		if err != nil {
			return err
		}
	}
	if none {
		a.say("there are no such versions")
	}
	return nil
}

func (a *app) logLine(v memento.Version) error {
	size, path := humanSize(v.Size), line(string(v.Path))
	if v.Operation == memento.Deleted {
		size = "-"
	}
	if v.Redacted() {
		size, path = "-", "[redacted]"
	}
	tints := map[memento.Operation]colour{memento.Created: green, memento.Deleted: red}
	by := ""
	if v.CreatedBy != (memento.Actor{}) {
		by = "  " + line(storeurl.Author(v.CreatedBy))
	}
	return a.print("%s  %s  %s  %7s  %s%s\n", v.ID, a.paint(dim, second(v.CreatedAt)),
		a.paint(tints[v.Operation], fmt.Sprintf("%-8s", v.Operation)), size, path, a.paint(dim, by))
}

// history yields the versions of the memories at a path, including their renames, or of
// everything that is or was in a directory.
//
// Several memories may belong to a path: the current one, and those that were removed
// there. If there are none, it is the last memory that was renamed from this path.
//
// Errors: ErrNotExist if there never was a memory.
func history(ctx context.Context, s *memento.Store, p memento.Path, opts memento.VersionListOptions) (iter.Seq2[memento.Version, error], error) {
	if p.IsRoot() {
		return s.Versions(ctx, opts), nil
	}
	var ids, passed []memento.MemoryID
	m, err := s.Stat(ctx, memento.ByPath(p))
	switch {
	case err == nil:
		ids = append(ids, m.ID)
	case errors.Is(err, memento.ErrIsDir):
		opts.Path = p
		return s.Versions(ctx, opts), nil
	case !errors.Is(err, memento.ErrNotExist):
		return nil, err
	}
	missing := err
	below := false
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Path: p}) {
		switch {
		case err != nil:
			return nil, err
		case v.Path != p:
			below = true
		case v.Operation == memento.Deleted && !slices.Contains(ids, v.Memory):
			ids = append(ids, v.Memory)
		default:
			passed = append(passed, v.Memory)
		}
	}
	switch {
	case len(ids) == 0 && len(passed) > 0:
		ids = passed[:1]
	case len(ids) == 0 && below:
		opts.Path = p
		return s.Versions(ctx, opts), nil
	case len(ids) == 0:
		return nil, missing
	}
	if len(ids) == 1 {
		opts.Memory = ids[0]
		return s.Versions(ctx, opts), nil
	}
	return merged(ctx, s, ids, opts)
}

// merged yields the versions of several memories, newest first.
func merged(ctx context.Context, s *memento.Store, ids []memento.MemoryID, opts memento.VersionListOptions) (iter.Seq2[memento.Version, error], error) {
	var all []memento.Version
	for _, id := range ids {
		opts.Memory = id
		for v, err := range s.Versions(ctx, opts) {
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	}
	slices.SortFunc(all, func(a, b memento.Version) int { return cmp.Compare(b.Seq, a.Seq) })
	if opts.Limit > 0 {
		all = all[:min(opts.Limit, len(all))]
	}
	return func(yield func(memento.Version, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}, nil
}
