package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/history"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type lsFlags struct {
	recursive bool
	depth     int
	bytes     bool
	long      bool
	sort      string
	asOf      string
}

func (a *app) lsCommand() *cobra.Command {
	var f lsFlags
	c := &cobra.Command{
		Use:     "ls [PATH]",
		Aliases: []string{"list"},
		Short:   "List memories and directories",
		Long: `Ls lists the memories and directories in a directory as a tree, two levels deep, with
size, time of the last change and name. The size of a directory is the total of everything
below it, and its time is the newest.

With --sort it lists them without the tree, with their whole paths: by name, by size
(largest first) or by time (newest first). With -l it also shows the newest version of
each memory, and when it was last read. With --as-of it lists what was there at a time;
--json then prints versions.

A name that a person or a model could take for another one in the same directory, such as
Policies beside policies, is listed with that name, as far as both are listed; so is one
that only looks read-only.`,
		Example: `  memento ls
  memento ls -R /projects
  memento ls -R --sort time
  memento ls --as-of yesterday
  memento ls --depth 1 --bytes`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.depth < 1 {
				return usage("--depth is %d; it must be at least 1", f.depth)
			}
			if f.sort != "" && !slices.Contains(sortOrders, f.sort) {
				return usage("--sort is %q; it must be one of %s", f.sort, strings.Join(sortOrders, ", "))
			}
			return a.withReadStore(cmd.Context(), func(s *memento.Store) error {
				dir := memento.Root
				if len(args) > 0 {
					var err error
					if dir, err = storeDir(cmd.Context(), s, args[0]); err != nil {
						return err
					}
				}
				return a.ls(cmd.Context(), s, dir, f)
			})
		},
	}
	c.Flags().BoolVarP(&f.recursive, "recursive", "R", false, "list all levels")
	c.Flags().IntVar(&f.depth, "depth", 2, "number of levels to list")
	c.Flags().BoolVar(&f.bytes, "bytes", false, "show sizes in bytes")
	c.Flags().BoolVarP(&f.long, "long", "l", false, "also show the newest version, and when it was last read")
	c.Flags().StringVar(&f.sort, "sort", "", "list whole paths by `ORDER`: name, size or time")
	a.addAsOf(c, &f.asOf, "list what was there at this `time`: "+timeForms)
	c.MarkFlagsMutuallyExclusive("recursive", "depth")
	_ = c.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(sortOrders, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// sortOrders are the values of --sort.
var sortOrders = []string{"name", "size", "time"}

func (a *app) ls(ctx context.Context, s *memento.Store, dir memento.Path, f lsFlags) error {
	opts := memento.ListOptions{Dir: dir, Depth: f.depth, Brief: !a.json && !f.long}
	if f.recursive {
		opts.Depth = 0
	}
	var entries []memento.Entry
	var past *history.Snapshot
	if f.asOf != "" {
		var err error
		if past, err = a.asOf(ctx, s, f.asOf); err != nil {
			return err
		}
		entries = pastEntries(past, opts)
		switch {
		case len(entries) == 0 && !dir.IsRoot():
			return &memento.Error{Op: "list", Path: dir, Err: memento.ErrNotExist}
		case len(entries) == 1 && entries[0].Path == dir:
			dir = dir.Parent()
		}
		alike, err := findAlike(ctx, s, entries)
		if err != nil {
			return err
		}
		if len(entries) == 0 && !a.json {
			a.say("there were no memories then")
			return nil
		}
		sortEntries(entries, f.sort)
		if a.json {
			return a.lsPastJSON(ctx, s, past, entries, alike)
		}
		return a.showEntries(dir, entries, alike, f)
	}
	for e, err := range s.List(ctx, opts) {
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 && !dir.IsRoot() {
		m, err := s.Stat(ctx, memento.ByPath(dir))
		if err != nil {
			return err
		}
		entries = append(entries, memento.Entry{Path: m.Path, Memory: m, Usage: memento.Usage{Memories: 1, Bytes: m.Size}, UpdatedAt: m.UpdatedAt})
		dir = dir.Parent()
	}
	alike, err := findAlike(ctx, s, entries)
	if err != nil {
		return err
	}
	sortEntries(entries, f.sort)
	if a.json {
		return a.lsJSON(ctx, s, entries, alike)
	}
	return a.showEntries(dir, entries, alike, f)
}

// sortEntries sorts entries, which are in the order of their paths.
func sortEntries(entries []memento.Entry, order string) {
	slices.SortStableFunc(entries, func(x, y memento.Entry) int {
		switch order {
		case "size":
			return cmp.Compare(y.Usage.Bytes, x.Usage.Bytes)
		case "time":
			return y.UpdatedAt.Compare(x.UpdatedAt)
		}
		return 0
	})
}

// showEntries prints entries as a tree or, if they are sorted, with their whole paths.
func (a *app) showEntries(dir memento.Path, entries []memento.Entry, alike lookalikes, f lsFlags) error {
	if len(entries) == 0 {
		a.say("there are no memories yet")
		return nil
	}
	nodes := []node{}
	if f.sort == "" {
		nodes = layOut(dir, entries)
	} else {
		for _, e := range entries {
			nodes = append(nodes, node{name: e.Cursor(), path: e.Path, dir: e.Dir, bytes: e.Usage.Bytes, at: e.UpdatedAt, foreign: e.Foreign, memory: e.Memory})
		}
	}
	long := ""
	if f.long {
		long = fmt.Sprintf("%-16s  %-33s  ", "READ", "VERSION")
	}
	if err := a.header("%8s  %-16s  %sNAME", "SIZE", "CHANGED", long); err != nil {
		return err
	}
	for _, n := range nodes {
		size := humanSize(n.bytes)
		if f.bytes {
			size = strconv.FormatInt(n.bytes, 10)
		}
		name := line(n.name)
		switch {
		case n.dir:
			name = a.paint(blue, name)
		case n.foreign:
			name += a.paint(dim, "  (not a memory)")
		}
		if like := alike.of(n.path, f.sort != ""); like.text() != "" {
			name += a.paint(red, "  ("+like.text()+")")
		}
		long := ""
		if f.long {
			read := "-"
			if !n.memory.ReadAt.IsZero() {
				read = minute(n.memory.ReadAt)
			}
			long = fmt.Sprintf("%-16s  %-33s  ", read, cmp.Or(n.memory.Version, "-"))
		}
		if err := a.print("%8s  %s  %s%s%s\n", size, a.paint(dim, minute(n.at)), a.paint(dim, long), strings.Repeat("  ", n.level), name); err != nil {
			return err
		}
	}
	return nil
}

// A node is one line of a tree.
type node struct {
	name  string // of a directory with a slash
	path  memento.Path
	level int
	dir   bool
	bytes int64
	at    time.Time

	foreign bool // not a memory: see memento.Entry
	memory  memento.Memory
}

// layOut arranges entries, which are in byte order of their paths, as a tree. It adds a
// node for each directory with the totals of everything below it.
func layOut(dir memento.Path, entries []memento.Entry) []node {
	var nodes []node
	var open []int // indexes in nodes of the directories above the current entry
	var above []string
	for _, e := range entries {
		names := strings.Split(string(e.Path[len(dir.Prefix()):]), "/")
		dirs := names[:len(names)-1]
		same := 0
		for same < len(dirs) && same < len(above) && dirs[same] == above[same] {
			same++
		}
		open, above = open[:same], dirs
		for level := same; level < len(dirs); level++ {
			open = append(open, len(nodes))
			path := memento.Path(dir.Prefix() + strings.Join(dirs[:level+1], "/"))
			nodes = append(nodes, node{name: dirs[level] + "/", path: path, level: level, dir: true})
		}
		for _, i := range open {
			nodes[i].bytes += e.Usage.Bytes
			if e.UpdatedAt.After(nodes[i].at) {
				nodes[i].at = e.UpdatedAt
			}
		}
		n := node{name: names[len(names)-1], path: e.Path, level: len(dirs), dir: e.Dir, bytes: e.Usage.Bytes, at: e.UpdatedAt, foreign: e.Foreign, memory: e.Memory}
		if e.Dir {
			n.name += "/"
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (a *app) lsJSON(ctx context.Context, s *memento.Store, entries []memento.Entry, alike lookalikes) error {
	if len(entries) == 0 {
		return nil
	}
	id, err := s.ID(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		like := alike.of(e.Path, true)
		switch {
		case e.Foreign:
			err = a.writeJSON(struct {
				wire.Foreign
				looks
			}{wire.FromForeign(e), like})
		case e.Dir:
			err = a.writeJSON(struct {
				wire.Directory
				looks
			}{wire.FromDirectory(e), like})
		default:
			err = a.writeJSON(struct {
				wire.Memory
				looks
			}{wire.FromMemory(id, e.Memory, false), like})
		}
		if err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}
