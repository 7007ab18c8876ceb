package maintenance

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/backend"
)

// versionTimes returns the times at which versions were made, between from and to, in
// order, at most one for each hour. It reads at most maxVersionTimes versions of a
// workspace's stores; fewer times are weaker evidence, so the error is on the safe side.
func (r *Runner) versionTimes(ctx context.Context, from, to time.Time) ([]time.Time, error) {
	spaces := []memento.Workspace{memento.DefaultWorkspace}
	if lister, ok := r.backend.(backend.WorkspaceLister); ok {
		var err error
		if spaces, err = lister.Workspaces(ctx); err != nil {
			return nil, err
		}
	}
	hours := map[int64]time.Time{}
	seen := 0
	for _, ws := range spaces {
		var stores []memento.StoreID
		for info, err := range r.backend.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return nil, err
			}
			stores = append(stores, info.ID)
		}
		for _, id := range stores {
			for v, err := range r.backend.ListVersions(ctx, id, memento.VersionListOptions{CreatedFrom: from, CreatedTo: to}) {
				if errors.Is(err, memento.ErrNoStore) { // deleted meanwhile
					break
				}
				if err != nil {
					return nil, err
				}
				hours[v.CreatedAt.Unix()/3600] = v.CreatedAt
				if seen++; seen >= maxVersionTimes {
					break
				}
			}
		}
	}
	times := make([]time.Time, 0, len(hours))
	for _, t := range hours {
		times = append(times, t)
	}
	slices.SortFunc(times, time.Time.Compare)
	return times, nil
}

// newElapsed returns a clock that cannot be set. strict reports whether it continues while
// the machine sleeps.
func newElapsed() (elapsed func() time.Duration, strict bool) {
	if _, ok := uptime(); ok {
		return func() time.Duration {
			up, _ := uptime()
			return up
		}, true
	}
	began := time.Now()
	return func() time.Duration { return time.Since(began) }, false
}

// uptime returns the time since the machine was started, sleep included, if the system
// reports it.
//
// Source: proc_uptime(5); CLOCK_BOOTTIME in clock_gettime(2).
func uptime() (time.Duration, bool) {
	if runtime.GOOS != "linux" {
		return 0, false
	}
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	return time.Duration(seconds * float64(time.Second)), err == nil
}
