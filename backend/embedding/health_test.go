package embedding

import (
	"testing"
	"time"

	"memento/test/memories"
)

// A service is left alone as long as it asks for, up to an hour: longer than after failures
// for which it has not said so. The time begins with its answer.
func TestPauseAskedFor(t *testing.T) {
	for asked, want := range map[string]time.Duration{"1800": 30 * time.Minute, "36000": time.Hour, "": time.Second} {
		w := newErasing(t)
		w.service.Fail(429, "Retry-After", asked)
		memories.Put(t, w.store, "/a.md", "The car.")
		begun := time.Now()
		if err := w.searcher.CatchUp(t.Context(), w.id); err == nil {
			t.Fatal("caught up without a service")
		}
		w.searcher.health.mu.Lock()
		until := w.searcher.health.until
		w.searcher.health.mu.Unlock()
		if until.Before(begun.Add(want)) || until.After(time.Now().Add(want)) {
			t.Errorf("Retry-After %q: a pause of %v instead of %v", asked, until.Sub(begun), want)
		}
	}
}
