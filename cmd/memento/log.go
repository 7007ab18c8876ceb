package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend/storeurl"
	"memento/history"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type logFlags struct {
	limit          int
	since, until   string
	actor, session string
	follow         bool
}

func (a *app) logCommand() *cobra.Command {
	var f logFlags
	c := &cobra.Command{
		Use:   "log [PATH]",
		Short: "Show the history of a memory, a directory or the store",
		Long: `Log lists versions, newest first: the ID, the time, the operation, the size and path
after the change, the path before a rename, and the actor. If the store settings look for
instructions, it also says which versions have some.

The history of a memory includes its renames, and is still available after the memory was
removed. The history of a directory includes everything that was ever in it.

With --follow it lists the last versions (10, or --limit) in the order in which they were
made, and then every new one until it is interrupted.`,
		Example: `  memento log
  memento log /notes/a.md
  memento log --follow
  memento log --session sesn_01kb... --since yesterday
  memento log --actor user/ann --limit 20
  memento log --since "2026-11-01 09:00" --until 2026-11-02T09:00:00Z`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.limit < 0 {
				return usage("--limit is %d; it must not be negative", f.limit)
			}
			opts := memento.VersionListOptions{Limit: f.limit}
			by, err := actorFlags(f.actor, f.session)
			if err != nil {
				return err
			}
			opts.CreatedBy = by
			if opts.CreatedFrom, err = optionalTime(f.since, a.now()); err != nil {
				return err
			}
			if opts.CreatedTo, err = optionalTime(f.until, a.now()); err != nil {
				return err
			}
			return a.withReadStore(cmd.Context(), func(s *memento.Store) error {
				p := memento.Root
				if len(args) > 0 {
					if p, err = storeDir(cmd.Context(), s, args[0]); err != nil {
						return err
					}
				}
				if f.follow {
					return a.follow(cmd.Context(), s, p, opts)
				}
				err := a.log(cmd.Context(), s, p, opts)
				if len(args) > 0 && isVersionID(args[0]) && errors.Is(err, memento.ErrNotExist) {
					err = hint(err, `log takes a path; "memento cat %s" prints a version`, args[0])
				}
				return err
			})
		},
	}
	c.Flags().IntVarP(&f.limit, "limit", "n", 0, "maximum number of versions to list; 0 for all")
	c.Flags().StringVar(&f.since, "since", "", "only versions created at this `time` or later: "+timeForms)
	c.Flags().StringVar(&f.until, "until", "", "only versions created at this `time` or earlier")
	_ = c.RegisterFlagCompletionFunc("since", completeTimes)
	_ = c.RegisterFlagCompletionFunc("until", completeTimes)
	c.Flags().StringVar(&f.actor, "actor", "", "only versions by this actor, `KIND/ID` or KIND; the kinds are session, api_key, user, service_account and system")
	c.Flags().StringVar(&f.session, "session", "", "only versions by the session with this `ID`")
	c.Flags().BoolVarP(&f.follow, "follow", "f", false, "wait for new versions, and list them as they are made")
	c.MarkFlagsMutuallyExclusive("follow", "until")
	c.MarkFlagsMutuallyExclusive("actor", "session")
	return c
}

func (a *app) log(ctx context.Context, s *memento.Store, p memento.Path, opts memento.VersionListOptions) error {
	versions, err := versionsAt(ctx, s, p, opts)
	if err != nil {
		return err
	}
	defer a.page()()
	page, none := []memento.Version{}, true
	for v, err := range versions {
		if err != nil {
			return err
		}
		if page = append(page, v); len(page) == logPage {
			if err := a.showVersions(ctx, s, opts, page, none); err != nil {
				return err
			}
			page, none = page[:0], false
		}
	}
	if len(page) == 0 && none {
		a.say("there are no such versions")
		return nil
	}
	return a.showVersions(ctx, s, opts, page, none)
}

// logPage is the number of versions of which the renames are found at once.
const logPage = 5000

// showVersions prints versions that were listed with opts.
func (a *app) showVersions(ctx context.Context, s *memento.Store, opts memento.VersionListOptions, versions []memento.Version, first bool) error {
	renamed, err := history.RenamedFrom(ctx, s, opts, versions)
	if err != nil {
		return err
	}
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	id, looked := info.ID, info.Settings.Sensitive.Instructions != memento.IgnoreInstructions
	if first {
		if err := a.header("%-33s  %-19s  %-8s  %7s  PATH", "VERSION", "CREATED", "CHANGE", "SIZE"); err != nil {
			return err
		}
	}
	for _, v := range versions {
		var marked []memento.FindingLocation
		if looked {
			if marked, err = instructionsOf(ctx, s, v); err != nil {
				return err
			}
		}
		if a.json {
			object := wire.FromVersion(id, v, false)
			object.RenamedFrom = renamed[v.ID]
			if len(marked) > 0 {
				object.Marked = wire.FromFindings(marked)
			}
			err = a.writeJSON(object)
		} else {
			err = a.logLine(v, renamed[v.ID], marked)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// instructionsOf returns what in a version, which comes without its contents, addresses the
// model. Contents are read one by one, since a page of them could be large.
func instructionsOf(ctx context.Context, s *memento.Store, v memento.Version) ([]memento.FindingLocation, error) {
	if v.Operation == memento.Deleted || v.Redacted() {
		return nil, nil
	}
	full, err := s.Version(ctx, v.ID)
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrDamaged): // pruned since; not to be read
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.Instructions(ctx, full)
}

// followEvery is how often "log --follow" looks for new versions.
const followEvery = time.Second

// follow prints the last versions at a path, oldest first, and then new ones until the
// context ends.
func (a *app) follow(ctx context.Context, s *memento.Store, p memento.Path, opts memento.VersionListOptions) error {
	opts.Limit = cmp.Or(opts.Limit, 10)
	last, err := versionsAt(ctx, s, p, opts)
	if err != nil {
		return err
	}
	var page []memento.Version
	ids := map[memento.MemoryID]bool{} // memories of the path, wherever they are renamed to
	for v, err := range last {
		if err != nil {
			return err
		}
		page = append(page, v)
		ids[v.Memory] = v.Path == p || ids[v.Memory]
	}
	slices.Reverse(page)
	next := opts
	next.OldestFirst, next.Limit = true, 0
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Limit: 1}) { // what is older was listed
		if err != nil {
			return err
		}
		next.After = v.Seq
	}
	if len(page) > 0 {
		next.After = min(next.After, page[len(page)-1].Seq)
	}
	for first := true; ; first = false {
		if len(page) > 0 {
			if err := a.showVersions(ctx, s, memento.VersionListOptions{Path: p}, page, first); err != nil {
				return err
			}
		}
		if err := a.out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return silence(exitInterrupted)
		case <-time.After(followEvery):
		}
		page = page[:0]
		for v, err := range s.Versions(ctx, next) {
			switch {
			case ctx.Err() != nil:
				return silence(exitInterrupted)
			case err != nil:
				return err
			}
			next.After = v.Seq
			if p.IsRoot() || v.Path == p || p.Contains(v.Path) || ids[v.Memory] {
				page = append(page, v)
			}
		}
	}
}

// actorFlags returns the actor that --actor or --session names; zero for any.
func actorFlags(actor, session string) (memento.Actor, error) {
	if session != "" {
		return memento.Actor{Kind: memento.ActorSession, ID: session}, nil
	}
	kind, id, _ := strings.Cut(actor, "/")
	by := memento.Actor{Kind: memento.ActorKind(kind), ID: id}
	if actor != "" && !by.Kind.Known() {
		return by, usage("--actor is %q; write KIND/ID, as in user/ann, or a kind: session, api_key, user, service_account or system", actor)
	}
	return by, nil
}

// logLine prints a version. from is the path before a rename, or "".
func (a *app) logLine(v memento.Version, from memento.Path, marked []memento.FindingLocation) error {
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
	if from != "" {
		path += a.paint(dim, " (renamed from "+line(string(from))+")")
	}
	if len(marked) > 0 {
		path += a.paint(red, "  (reads like instructions: "+kindsOf(marked)+")")
	}
	return a.print("%s  %s  %s  %7s  %s%s\n", v.ID, a.paint(dim, second(v.CreatedAt)),
		a.paint(tints[v.Operation], fmt.Sprintf("%-8s", v.Operation)), size, path, a.paint(dim, by))
}

// versionsAt yields the versions of the memories at a path, including their renames, or of
// everything that is or was in a directory.
//
// Several memories may belong to a path: the current one, and those that were removed
// there. If there are none, it is the last memory that was renamed from this path.
//
// Errors: ErrNotExist if there never was a memory.
func versionsAt(ctx context.Context, s *memento.Store, p memento.Path, opts memento.VersionListOptions) (iter.Seq2[memento.Version, error], error) {
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
