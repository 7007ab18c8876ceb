package pgstore

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/textindex/storagetest"
	"memento/test/services"
)

// openTest opens the schema of a test, which its end drops.
func openTest(t *testing.T) *Backend {
	t.Helper()
	schema := os.Getenv("MEMENTO_TEST_SCHEMAS") + strings.ToLower(t.Name())
	b, err := Open(t.Context(), os.Getenv(services.PostgresVariable), &Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func TestIndexStorage(t *testing.T) {
	b := openTest(t)
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	storagetest.Run(t, indexStorage{b}, info.ID)
}

// Words of versions that were pruned leave the index although the process that pruned them
// has ended before it purged the index.
func TestPurgeOfAnotherProcess(t *testing.T) {
	b := openTest(t)
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	put := func(path memento.Path, text string) memento.MemoryID {
		t.Helper()
		done, err := b.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: path, Content: text}})
		if err != nil {
			t.Fatal(err)
		}
		return done.Versions[0].Memory
	}
	count := func(query string, args ...any) (n int) {
		t.Helper()
		if err := b.pool.QueryRow(t.Context(), b.sql(query), args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	blocks := func() int {
		return count(`SELECT count(*) FROM memento.search_blocks WHERE position('zzconfidential'::bytea IN data) > 0`)
	}
	b.index.Close() // what is done in the background is done here
	id := put("/doomed", "zzconfidential remarks")
	for i := range 3 {
		var changes []memento.Change
		for j := range 400 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%d/%d", i, j)), Content: "other things"})
		}
		if _, err := b.Apply(t.Context(), info.ID, memento.Actor{}, changes); err != nil {
			t.Fatal(err)
		}
	}
	for more := true; more; {
		if more, err = b.index.Keep(t.Context(), info.ID); err != nil {
			t.Fatal(err)
		}
	}
	if blocks() == 0 {
		t.Fatal("the index does not have the word: nothing is tested")
	}
	put("/doomed", "harmless")
	pruned, err := b.Prune(t.Context(), info.ID, memento.PruneOptions{Memory: id, Before: memento.EndOfTime})
	if err != nil || pruned.Versions != 1 {
		t.Fatalf("pruned %+v, %v", pruned, err)
	}
	if blocks() == 0 || count(`SELECT count(*) FROM memento.indexed WHERE requested > purged`) != 1 {
		t.Fatal("the process has purged the index: nothing is tested")
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	b = openTest(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ; count(`SELECT count(*) FROM memento.indexed WHERE requested > purged`) > 0; time.Sleep(10 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("the request is never carried out")
		}
	}
	if blocks() > 0 {
		t.Error("the word is still in the index")
	}
}
