package pgstore

import (
	"context"
	"os"
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
	l := &commitQueue{leader: make(chan struct{}, 1)}
	l.leader <- struct{}{}
	others := &job{plan: func(*session) error { return nil }, done: make(chan struct{})}
	l.jobs = []*job{others}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.lead(ctx, "apply", info.ID, l, new(job))
	<-others.done
	if others.err != nil {
		t.Errorf("a job of another's: %v", others.err)
	}
}
