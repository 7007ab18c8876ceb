package httpapi_test

import (
	"cmp"
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
	"memento/test/proctest"
)

// A telling backend tells its positions, and counts how often it was asked for them, and for
// versions.
type telling struct {
	polled
	lister backend.PositionLister
	asked  atomic.Int64
	most   int // stores that it tells of; 0 means as many as are asked for
}

func (b *telling) Positions(ctx context.Context, ws memento.Workspace, limit int) ([]backend.Position, error) {
	b.asked.Add(1)
	return b.lister.Positions(ctx, ws, min(limit, cmp.Or(b.most, limit)))
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
	// 21 streams of 20 intervals: if each asked for itself, it would be 420 times.
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

// A store that is found because there are fewer newer ones now is not news: only what happens
// in it from then on, or since it was followed before.
func TestStreamWorkspaceFindsOldStores(t *testing.T) {
	s := newSite(t, nil)
	b := &telling{polled: polled{Backend: s.backend, counts: map[memento.StoreID]int{}}, lister: s.backend, most: 2}
	watching, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(s.backend, s.clock.time), Detector: sensitive.Default(), Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Close()
	server := httptest.NewServer(watching)
	defer server.Close()
	c := s.as("a", apikey.RoleWrite) // another process
	oldest := c.newStore(t, "oldest")
	c.put(t, oldest, "/old.md", "text")
	c.newStore(t, "second")
	newest := c.newStore(t, "newest")
	l, _ := (&caller{url: server.URL, key: c.key}).watch(t, "?recent=1")
	defer l.close()
	polls := func(t *testing.T, what string) {
		t.Helper()
		asked := b.asked.Load()
		proctest.Until(t, what, func() bool { return b.asked.Load() > asked+1 })
	}
	for i := range 3 {
		c.delete(t, newest)
		same(t, "event", l.must().name, "memory_store.deleted")
		polls(t, "the oldest store is found")
		path := fmt.Sprintf("/%d.md", i)
		c.put(t, oldest, path, "text")
		same(t, "store", l.must().data["name"], "oldest")
		same(t, "path", l.must().data["path"], path)
		newest = c.newStore(t, fmt.Sprint("newest ", i))
		c.put(t, newest, "/new.md", "text")
		same(t, "store", l.must().data["name"], fmt.Sprint("newest ", i))
		same(t, "path", l.must().data["path"], "/new.md")
		polls(t, "the oldest store is left")
		c.put(t, oldest, fmt.Sprintf("/%d-unseen.md", i), "text")
		c.delete(t, newest)
		same(t, "store", l.must().data["name"], "oldest")
		same(t, "path", l.must().data["path"], fmt.Sprintf("/%d-unseen.md", i))
		same(t, "event", l.must().name, "memory_store.deleted")
		newest = c.newStore(t, fmt.Sprint("another ", i))
		c.put(t, newest, "/new.md", "text")
		l.must()
		l.must()
	}
}
