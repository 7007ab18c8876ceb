package main

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"memento"

	"github.com/spf13/cobra"
)

// How many of the largest memories are shown.
const largestShown = 10

func (a *app) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show what a store uses of its limits",
		Long:  "Stats shows what a store holds and what of its limits that uses, how many versions\nits history has, and its largest memories.",
		Example: `  memento stats
  memento stats --store team --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.stats(cmd.Context(), s)
			})
		},
	}
}

func (a *app) stats(ctx context.Context, s *memento.Store) error {
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	versions, redacted := 0, 0
	for v, err := range s.Versions(ctx, memento.VersionListOptions{}) {
		if err != nil {
			return err
		}
		versions++
		if v.Redacted() {
			redacted++
		}
	}
	var largest []memento.Memory
	for e, err := range s.List(ctx, memento.ListOptions{}) {
		if err != nil {
			return err
		}
		largest = append(largest, e.Memory)
	}
	slices.SortStableFunc(largest, func(a, b memento.Memory) int { return cmp.Compare(b.Size, a.Size) })
	largest = largest[:min(len(largest), largestShown)]
	if a.json {
		j := statsJSON{Type: "memory_store_stats", Store: wireStore(info), Versions: versions, Redacted: redacted, Largest: []memoryJSON{}}
		for _, m := range largest {
			j.Largest = append(j.Largest, wireMemory(info.ID, m, false))
		}
		return a.writeJSON(j)
	}
	l, u := info.Limits, info.Usage
	err = a.print("store      %s (%s)\nmemories   %d of %d (%s)\ncontents   %s of %s (%s)\nversions   %d, %d of them redacted\n",
		line(info.Name), info.ID,
		u.Memories, l.Memories, percent(u.Memories, l.Memories),
		humanSize(u.Bytes), humanSize(l.Bytes), percent(u.Bytes, l.Bytes),
		versions, redacted)
	if err != nil || len(largest) == 0 {
		return err
	}
	if err := a.print("largest    of at most %s each:\n", humanSize(l.MemoryBytes)); err != nil {
		return err
	}
	for _, m := range largest {
		if err := a.print("%8s   %s\n", humanSize(m.Size), line(string(m.Path))); err != nil {
			return err
		}
	}
	return nil
}

func percent(used, limit int64) string {
	return strconv.FormatFloat(100*float64(used)/float64(limit), 'f', 1, 64) + "%"
}
