package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

// largestShown is the number of largest memories that are listed.
const largestShown = 10

func (a *app) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show the usage and limits of a store",
		Long: `Stats shows the usage of a store with its limits, the number and total size of the
versions in its history, its settings, and its largest memories. An exclamation mark means
that more than 80 % of a limit is used.`,
		Example: `  memento stats
  memento stats --store team --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withReadStore(cmd.Context(), func(s *memento.Store) error {
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
	versions, redacted, bytes := 0, 0, int64(0)
	for v, err := range s.Versions(ctx, memento.VersionListOptions{}) {
		if err != nil {
			return err
		}
		versions++
		bytes += v.Size
		if v.Redacted() {
			redacted++
		}
	}
	var largest []memento.Memory
	for e, err := range s.List(ctx, memento.ListOptions{}) {
		if err != nil {
			return err
		}
		if !e.Foreign {
			largest = append(largest, e.Memory)
		}
	}
	slices.SortStableFunc(largest, func(a, b memento.Memory) int { return cmp.Compare(b.Size, a.Size) })
	largest = largest[:min(len(largest), largestShown)]
	if a.json {
		j := statsJSON{Type: "memory_store_stats", Store: wire.FromStore(info), Versions: versions, Redacted: redacted,
			VersionBytes: bytes, Largest: []wire.Memory{}, Near: nearLimits(info, largest)}
		for _, m := range largest {
			j.Largest = append(j.Largest, wire.FromMemory(info.ID, m, false))
		}
		return a.writeJSON(j)
	}
	l, u := info.Limits, info.Usage
	rows := [][2]string{
		{"store", fmt.Sprintf("%s (%s)", info.Name, info.ID)},
		{"memories", fmt.Sprintf("%d of %d (%s)", u.Memories, l.Memories, percent(u.Memories, l.Memories))},
		{"contents", fmt.Sprintf("%s of %s (%s)", humanSize(u.Bytes), humanSize(l.Bytes), percent(u.Bytes, l.Bytes))},
		{"versions", fmt.Sprintf("%d (%s), %d of them redacted", versions, humanSize(bytes), redacted)},
	}
	if err := a.printRows(append(rows, settingRows(info.Settings)...)); err != nil || len(largest) == 0 {
		return err
	}
	if err := a.print("%-13s of at most %s each:\n", "largest", humanSize(l.MemoryBytes)); err != nil {
		return err
	}
	for _, m := range largest {
		mark := ""
		if memento.NearLimit(m.Size, l.MemoryBytes) {
			mark = a.paint(red, " !")
		}
		if err := a.print("%11s   %s%s\n", humanSize(m.Size), line(string(m.Path)), mark); err != nil {
			return err
		}
	}
	return nil
}

// percent formats how much of a limit is used, with a mark near the limit.
func percent(used, limit int64) string {
	text := strconv.FormatFloat(100*float64(used)/float64(limit), 'f', 1, 64) + "%"
	if memento.NearLimit(used, limit) {
		text += " !"
	}
	return text
}

// nearLimits lists the limits of which more than 80 % is used.
func nearLimits(s memento.StoreInfo, largest []memento.Memory) []memento.Limit {
	found := []memento.Limit{}
	if memento.NearLimit(s.Usage.Memories, s.Limits.Memories) {
		found = append(found, memento.LimitMemories)
	}
	if memento.NearLimit(s.Usage.Bytes, s.Limits.Bytes) {
		found = append(found, memento.LimitBytes)
	}
	if len(largest) > 0 && memento.NearLimit(largest[0].Size, s.Limits.MemoryBytes) {
		found = append(found, memento.LimitMemoryBytes)
	}
	return found
}
