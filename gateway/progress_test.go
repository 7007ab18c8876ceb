package gateway_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/gateway"
)

// open sends a streaming request, and returns the lines of the answer as they come.
func (w *world) open(body string) *bufio.Scanner {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("X-Api-Key", upstreamKey)
	client := &http.Client{Transport: &http.Transport{}}
	w.t.Cleanup(client.CloseIdleConnections)
	response, err := client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { response.Body.Close() })
	return bufio.NewScanner(response.Body)
}

// The first text of the first round is not held back, although a memory call comes after
// it: the application reads it while the upstream waits for that.
func TestTextIsNotHeldBack(t *testing.T) {
	whole := streamOf(t, savesNote)
	at := strings.Index(whole, "event: content_block_stop")
	read := make(chan struct{})
	up := &moody{moods: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		saying(whole[:at])(w, r)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-read:
			saying(whole[at:])(w, r)
		case <-r.Context().Done(): // the gateway has given it up
		}
	}, saying(streamOf(t, saysDone))}}
	w := newWorld(t, up, func(c *gateway.Config) { c.Timeout = time.Minute })
	lines := w.open(request)
	text := ""
	for lines.Scan() && !strings.Contains(text, "I save.") {
		text += lines.Text()
	}
	if !strings.Contains(text, "I save.") || strings.Contains(text, "event: error") {
		t.Fatalf("before the call the application has read %s", text)
	}
	close(read)
	for lines.Scan() {
		text += lines.Text()
	}
	if !strings.Contains(text, "Done.") || w.file("/a.md") != "a\n" {
		t.Errorf("the application has read %s; the memory is %q", text, w.file("/a.md"))
	}
}

// A heldBackend waits in the first write until it is released.
type heldBackend struct {
	memento.Backend
	held     atomic.Bool
	released chan struct{}
}

func (b *heldBackend) Apply(ctx context.Context, s memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	if b.held.CompareAndSwap(false, true) {
		<-b.released
	}
	return b.Backend.Apply(ctx, s, by, changes)
}

// While a memory call takes its time, the application gets pings.
func TestPingsWhileItWorks(t *testing.T) {
	b := &heldBackend{released: make(chan struct{})}
	w := newWorld(t, &moody{moods: []http.HandlerFunc{saying(streamOf(t, savesNote)), saying(streamOf(t, saysDone))}}, func(c *gateway.Config) {
		b.Backend = c.Backend
		c.Backend, c.Ping = b, time.Millisecond
	})
	lines := w.open(request)
	var names []string
	pings := 0 // while the call is executed
	for lines.Scan() {
		name, ok := strings.CutPrefix(lines.Text(), "event: ")
		if !ok {
			continue
		}
		names = append(names, name)
		if name == "ping" && b.held.Load() {
			pings++
		}
		if pings == 3 {
			close(b.released)
			break
		}
	}
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok && name != "ping" {
			names = append(names, name)
		}
	}
	if got := strings.Join(names, " "); !strings.HasSuffix(got, " ping content_block_start content_block_delta content_block_stop message_delta message_stop") || w.file("/a.md") != "a\n" {
		t.Errorf("the events are %s; the memory is %q", got, w.file("/a.md"))
	}
}

// An error that the upstream sends within a stream ends that of the application as it was
// sent, in the first round and in a later one. Nothing is executed of a round that did not
// end.
func TestErrorWithinAStream(t *testing.T) {
	overloaded := events("error", `{"type":"error","error":{"type":"overloaded_error","details":null,"message":"Overloaded \u00e4"},"request_id":"req_1"}`)
	cut := func(answer string) string {
		whole := streamOf(t, answer)
		return whole[:strings.Index(whole, "event: message_delta")] + overloaded
	}
	for name, test := range map[string]struct {
		answers  []string
		versions int
	}{
		"first": {[]string{cut(savesNote)}, 0},
		"later": {[]string{streamOf(t, savesNote), cut(saysDone)}, 1},
	} {
		up := &tape{answers: test.answers}
		w := newWorld(t, up)
		response, got := w.post("/v1/messages", request)
		wellFormed(t, response, got)
		if !strings.HasSuffix(got, overloaded) || strings.Count(got, "message_start") != 2 || w.versions() != test.versions || len(up.bodies) != len(test.answers) {
			t.Errorf("%s round: got %s after %d rounds and %d versions", name, got, len(up.bodies), w.versions())
		}
		if len(w.turns) != 1 || w.turns[0].Outcome != "upstream_error" || w.turns[0].InputTokens == 0 {
			t.Errorf("%s round: observed %+v", name, w.turns)
		}
	}
	// What is not an error of the API becomes one.
	for _, answer := range []http.HandlerFunc{saying("<html>\nbusy"), hangUp, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no\nJSON", http.StatusBadGateway) }} {
		w := newWorld(t, &moody{moods: []http.HandlerFunc{saying(streamOf(t, savesNote)), answer}})
		response, got := w.post("/v1/messages", request)
		wellFormed(t, response, got)
		if !strings.Contains(got, "I save.") || w.versions() != 1 {
			t.Errorf("got %s and %d versions", got, w.versions())
		}
	}
}
