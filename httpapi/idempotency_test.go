package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/httpapi"
)

// A call of the tool that a client repeats, not having read its answer, is executed
// once.
func TestRepeatedCalls(t *testing.T) {
	s := newSite(t, nil)
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	tool := store + "/tool"
	c.post(t, tool, object{"command": "create", "path": "/memories/log.md", "file_text": ""})
	line := func(id string) object {
		return toolUse(id, object{"command": "insert", "path": "/memories/log.md", "insert_line": 0, "insert_text": "again\n"})
	}
	lines := func() int {
		t.Helper()
		m := c.get(t, store+"/memories/by-path?path=/log.md")
		return strings.Count(text(t, m, "content"), "again\n")
	}
	check := func(what string, want int) {
		t.Helper()
		if got := lines(); got != want {
			t.Errorf("%s: %d lines, want %d", what, got, want)
		}
	}
	retry := c.with("X-Stainless-Retry-Count", "1")

	first := c.with("X-Stainless-Retry-Count", "0").post(t, tool, line("toolu_1"))
	same(t, "repeated answer", retry.post(t, tool, line("toolu_1")), first)
	check("a retry", 1)
	c.post(t, tool, line("toolu_1"))
	check("the same once more, which is no retry", 2)
	retry.post(t, tool, line("toolu_2"))
	check("a retry of what never came", 3)
	retry.post(t, tool, line("toolu_2"))
	check("its retry", 3)
	s.as("a", apikey.RoleWrite).with("X-Stainless-Retry-Count", "1").post(t, tool, line("toolu_2"))
	check("another key's", 4)
	other := c.newStore(t, "others") + "/tool"
	same(t, "is_error in another store", retry.post(t, other, line("toolu_2"))["is_error"], true)

	named := c.with("Idempotency-Key", "one")
	named.post(t, tool, line("toolu_3"))
	named.post(t, tool, line("toolu_3"))
	check("an idempotency key", 5)
	c.with("Idempotency-Key", "two").post(t, tool, line("toolu_3"))
	check("another", 6)
	s.clock.add(time.Hour)
	named.post(t, tool, line("toolu_3"))
	check("an hour later", 7)

	// What cannot be told from another call that looks the same is executed.
	bare := line("")["input"]
	retry.post(t, tool, bare)
	retry.post(t, tool, bare)
	check("bare inputs", 9)

	// Views are always as of now.
	view := object{"command": "view", "path": "/memories/log.md"}
	before := retry.post(t, tool, view)
	c.post(t, tool, line("toolu_4"))
	if after := retry.post(t, tool, view); text(t, after, "content") == text(t, before, "content") {
		t.Error("a view was answered from what is kept")
	}
}

// A call whose client is gone is finished, and its repetition waits for it.
func TestRepeatedWhileUnderWay(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := newSite(t, func(o *httpapi.Options) {
		o.Observe = func(_ context.Context, x memento.Observation) {
			if x.Op == "apply" && len(x.Receipt.Versions) > 0 {
				once.Do(func() { close(entered); <-leave })
			}
		}
	})
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	const body = `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"create","path":"/memories/a.md","file_text":"x"}}`

	ctx, gone := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+store+"/tool", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", c.key)
	lost := make(chan error, 1)
	go func() {
		r, err := http.DefaultTransport.RoundTrip(request)
		if err == nil {
			r.Body.Close()
			err = fmt.Errorf("answered %d", r.StatusCode)
		}
		lost <- err
	}()
	<-entered
	gone()
	if err := <-lost; ctx.Err() == nil || err == nil {
		t.Fatal(err)
	}
	answers := make(chan object, 1)
	go func() {
		r, err := c.with("X-Stainless-Retry-Count", "1").send(t, http.MethodPost, store+"/tool", body)
		if err != nil {
			t.Error(err)
			answers <- nil
			return
		}
		answers <- r.body
	}()
	close(leave)
	same(t, "answer", <-answers, object{"type": "tool_result", "tool_use_id": "toolu_1", "content": "File created successfully at: /memories/a.md"})
}

// What was answered at length is not kept.
func TestLargeAnswersAreNotKept(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) {
		at := time.Date(2026, 9, 26, 12, 0, 0, 0, time.UTC)
		o.Now = func() time.Time { return at } // so that nothing is forgotten for its age
	})
	c := s.as("a", apikey.RoleWrite)
	store := c.newStore(t, "notes")
	c.put(t, store, "/a.md", strings.Repeat("a line\n", 2000))
	// One call writes: what only views is never kept.
	calls := []object{{"command": "str_replace", "path": "/memories/a.md", "old_str": "none"}}
	for range 40 {
		calls = append(calls, object{"command": "view", "path": "/memories/a.md"})
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, answered := heap(), 0
	for i := range 10 {
		r := c.with("Idempotency-Key", fmt.Sprint(i)).do(t, http.MethodPost, store+"/tool", object{"calls": calls})
		r.ok(t)
		answered += len(r.text)
	}
	if grown := heap() - before; grown > int64(answered/2) {
		t.Errorf("%d bytes are kept of %d that were answered", grown, answered)
	}
}
