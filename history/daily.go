package history

import (
	"context"
	"time"

	"memento"
)

// maxDailyVersions is how many versions [Daily] reads at most.
const maxDailyVersions = 100_000

// A Day is what happened in a store on one day, in UTC.
type Day struct {
	Start   time.Time
	Changes int64         // versions made on it
	Usage   memento.Usage // at its end; of today: now
}

// Daily returns the last days of a store, today included, the oldest first. It starts with
// the present usage and goes back, so the past is known as far as the history goes: a memory
// whose older versions are pruned counts as if it had not changed in size before. Of a store
// with a very long history there are fewer days than asked for, those of its newest 100,000
// versions.
func Daily(ctx context.Context, s *memento.Store, now time.Time, days int) ([]Day, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return nil, err
	}
	today := now.UTC().Truncate(24 * time.Hour)
	list := make([]Day, days)
	for i := range list {
		list[i].Start = today.AddDate(0, 0, i-days+1)
	}
	dayOf := func(at time.Time) int { // negative before the first day; a time ahead of the clock is today's
		if at.Before(list[0].Start) {
			return -1
		}
		return min(int(at.Sub(list[0].Start)/(24*time.Hour)), days-1)
	}
	grown := make([]memento.Usage, days) // by how much, on each day
	// The size that a memory got, and the day, until the version before that is found.
	type change struct {
		day  int
		size int64
	}
	open := map[memento.MemoryID]change{}
	first, read := 0, 0
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Limit: maxDailyVersions}) {
		if err != nil {
			return nil, err
		}
		day := dayOf(v.CreatedAt)
		if read++; read == maxDailyVersions {
			first = min(max(day, 0)+1, days-1) // the rest of that day is not known
		}
		if day >= 0 {
			list[day].Changes++
		}
		if v.Redacted() && v.Operation == memento.Modified {
			continue // its size is not known: that of the version before is taken
		}
		if later, ok := open[v.Memory]; ok {
			grown[later.day].Bytes += later.size - v.Size
			delete(open, v.Memory)
		}
		if day < 0 {
			continue
		}
		switch v.Operation {
		case memento.Created:
			grown[day].Memories++
			grown[day].Bytes += v.Size
		case memento.Deleted:
			grown[day].Memories--
			open[v.Memory] = change{day, 0}
		default:
			open[v.Memory] = change{day, v.Size}
		}
	}
	usage := info.Usage
	for i := days - 1; i >= 0; i-- {
		list[i].Usage = usage
		usage.Memories = max(usage.Memories-grown[i].Memories, 0)
		usage.Bytes = max(usage.Bytes-grown[i].Bytes, 0)
	}
	return list[first:], nil
}
