package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

type lsFlags struct {
	recursive bool
	depth     int
	bytes     bool
}

func (a *app) lsCommand() *cobra.Command {
	var f lsFlags
	c := &cobra.Command{
		Use:     "ls [PATH]",
		Aliases: []string{"list"},
		Short:   "List memories and directories",
		Long: `Ls lists the memories and directories in a directory as a tree, two levels deep, with
size, time of the last change and name. The size of a directory is the total of everything
below it, and its time is the newest.`,
		Example: `  memento ls
  memento ls -R /projects
  memento ls --depth 1 --bytes`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(1, a.completePaths),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.depth < 1 {
				return usage("--depth is %d; it must be at least 1", f.depth)
			}
			dir := memento.Root
			if len(args) > 0 {
				var err error
				if dir, err = memento.ParseDir(args[0]); err != nil {
					return err
				}
			}
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.ls(cmd.Context(), s, dir, f)
			})
		},
	}
	c.Flags().BoolVarP(&f.recursive, "recursive", "R", false, "list all levels")
	c.Flags().IntVar(&f.depth, "depth", 2, "number of levels to list")
	c.Flags().BoolVar(&f.bytes, "bytes", false, "show sizes in bytes")
	c.MarkFlagsMutuallyExclusive("recursive", "depth")
	return c
}

func (a *app) ls(ctx context.Context, s *memento.Store, dir memento.Path, f lsFlags) error {
	opts := memento.ListOptions{Dir: dir, Depth: f.depth, Brief: !a.json}
	if f.recursive {
		opts.Depth = 0
	}
	var entries []memento.Entry
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
	if a.json {
		return a.lsJSON(ctx, s, entries)
	}
	if len(entries) == 0 {
		a.say("there are no memories yet")
		return nil
	}
	for _, n := range layOut(dir, entries) {
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
		if err := a.print("%8s  %s  %s%s\n", size, a.paint(dim, minute(n.at)), strings.Repeat("  ", n.level), name); err != nil {
			return err
		}
	}
	return nil
}

// A node is one line of a tree.
type node struct {
	name  string // of a directory with a slash
	level int
	dir   bool
	bytes int64
	at    time.Time

	foreign bool // not a memory: see memento.Entry
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
			nodes = append(nodes, node{name: dirs[level] + "/", level: level, dir: true})
		}
		for _, i := range open {
			nodes[i].bytes += e.Usage.Bytes
			if e.UpdatedAt.After(nodes[i].at) {
				nodes[i].at = e.UpdatedAt
			}
		}
		n := node{name: names[len(names)-1], level: len(dirs), dir: e.Dir, bytes: e.Usage.Bytes, at: e.UpdatedAt, foreign: e.Foreign}
		if e.Dir {
			n.name += "/"
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func (a *app) lsJSON(ctx context.Context, s *memento.Store, entries []memento.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	id, err := s.ID(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.Foreign:
			err = a.writeJSON(wire.FromForeign(e))
		case e.Dir:
			err = a.writeJSON(wire.FromDirectory(e))
		default:
			err = a.writeJSON(wire.FromMemory(id, e.Memory, false))
		}
		if err != nil {
			return fmt.Errorf("write output: %w", err)
		}
	}
	return nil
}
