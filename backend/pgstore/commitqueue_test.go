package pgstore

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"memento"
	"memento/test/services"
)

// If the leader gives up, the jobs of other callers are still carried out.
func TestLeaderGivesUp(t *testing.T) {
	schema := os.Getenv("MEMENTO_TEST_SCHEMAS") + strings.ToLower(t.Name())
	b, err := Open(t.Context(), os.Getenv(services.PostgresVariable), &Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	q := b.queues.Acquire(info.ID)
	defer b.queues.Release(info.ID)
	q.Lock()
	others := make(chan error)
	go func() {
		others <- b.run(t.Context(), "apply", info.ID, &job{plan: func(*session) error { return nil }})
	}()
	for q.Len() == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.lead(ctx, "apply", info.ID, q, new(job))
	if err := <-others; err != nil {
		t.Errorf("a job of another's: %v", err)
	}
}
