package httpapi_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/httpapi"
	"memento/sensitive"
)

// A telling backend tells its positions, and counts how often it was asked for them, and for
// versions.
type telling struct {
	polled
	lister backend.PositionLister
	asked  atomic.Int64
}

func (b *telling) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	b.asked.Add(1)
	return b.lister.Positions(ctx, ws, limit)
}

// Whatever another process does, in whichever of many stores, is sent within the interval of
// polling and a half; stores in which nothing happens cost nothing, and many streams no more
// than one.
func TestStreamWorkspaceOfPositions(t *testing.T) {
	s := newSite(t, nil)
	b := &telling{polled: polled{Backend: s.backend, counts: map[memento.StoreID]int{}}, lister: s.backend}
	const poll = 50 * time.Millisecond
	watching, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, s.clock.time), Detector: sensitive.Default(), Poll: poll})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Close()
	server := httptest.NewServer(watching)
	defer server.Close()
	c := s.as("a", apikey.RoleWrite) // another process
	var names []string
	for i := range 200 {
		names = append(names, c.newStore(t, fmt.Sprint("store ", i)))
	}
	id := func(i int) memento.StoreID { return memento.StoreID(strings.TrimPrefix(names[i], stores+"/")) }
	c.put(t, names[3], "/old.md", "text")
	c.put(t, names[7], "/new.md", "text")
	here := &caller{url: server.URL, key: c.key}
	l, before := here.watch(t, "?recent=1")
	defer l.close()
	same(t, "the newest version", before[len(before)-1].data["path"], "/new.md")
	if n := b.count(id(100)); n != 0 {
		t.Errorf("the versions of a store without any were listed %d times", n)
	}
	if n := b.count(id(3)); n != 0 {
		t.Errorf("the versions of a store that changed earlier were listed %d times", n)
	}
	for i, store := range []string{names[0], names[199], names[100], names[0]} {
		path := fmt.Sprintf("/%d.md", i)
		c.put(t, store, path, "text")
		same(t, "event", l.must().name, "memory_store")
		same(t, "path", l.must().data["path"], path)
	}
	c.delete(t, names[5])
	e := l.must()
	same(t, "event", e.name, "memory_store.deleted")
	same(t, "store", e.data["id"], string(id(5)))
	late := c.newStore(t, "late")
	c.put(t, late, "/late.md", "text")
	same(t, "name", l.must().data["name"], "late")
	same(t, "path", l.must().data["path"], "/late.md")

	// The newest version of a store can be gone: a deletion that was pruned.
	m := c.put(t, late, "/gone.md", "text")
	for range 2 {
		l.must()
	}
	c.delete(t, late+"/memories/"+text(t, m, "id"))
	for range 2 {
		l.must()
	}
	s.as("a", apikey.RoleAdmin).post(t, late+"/prune", object{"before": memento.EndOfTime})

	for range 20 {
		another, _ := here.watch(t, "?recent=1")
		defer another.close()
	}
	asked, listed, quiet := b.asked.Load(), b.count(memento.StoreID(strings.TrimPrefix(late, stores+"/"))), b.count(id(100))
	time.Sleep(20 * poll)
	// 21 streams of 20 intervals: if each asked for itself, it were 420 times.
	if n := b.asked.Load() - asked; n < 3 || n > 60 {
		t.Errorf("21 streams asked for positions %d times in 20 intervals", n)
	}
	if n := b.count(id(100)) - quiet; n != 0 {
		t.Errorf("the versions of a quiet store were listed %d times", n)
	}
	if n := b.count(memento.StoreID(strings.TrimPrefix(late, stores+"/"))) - listed; n != 0 {
		t.Errorf("the versions of a store whose newest one is pruned were listed %d times", n)
	}
}
