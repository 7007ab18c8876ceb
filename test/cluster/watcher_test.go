package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"memento"
)

// A watcher follows a store's changes. When its stream ends, it continues from there at
// the next server.
type watcher struct {
	c *cluster

	mu   sync.Mutex
	seen []memento.VersionID
	last string // ID of the newest event
}

func (w *watcher) work(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		w.follow(ctx, w.c.servers[n%len(w.c.servers)].address)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// follow reads one stream to its end.
func (w *watcher) follow(ctx context.Context, address string) {
	ctx, cancel := context.WithTimeout(ctx, impatience) // a silent stream may stay silent for ever
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+w.c.path("/changes"), nil)
	if err != nil {
		w.c.t.Error(err)
		return
	}
	req.Header.Set("x-api-key", w.c.key)
	req.Header.Set("Last-Event-ID", w.position())
	resp, err := w.c.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	id := ""
	for in := bufio.NewReader(resp.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSuffix(text, "\n")
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			var v struct{ ID memento.VersionID }
			if err := json.Unmarshal([]byte(text), &v); err != nil || id == "" {
				w.c.t.Errorf("an event is %q, with the ID %q: %v", text, id, err)
				return
			}
			w.mu.Lock()
			w.seen, w.last = append(w.seen, v.ID), id
			w.mu.Unlock()
			id = ""
		}
	}
}

func (w *watcher) position() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.last == "" {
		return "0"
	}
	return w.last
}

// audit waits until all versions have been seen, and compares them.
func (w *watcher) audit(versions []memento.Version) (problems []string) {
	if len(versions) == 0 {
		return nil
	}
	newest := fmt.Sprint(versions[len(versions)-1].Seq)
	for end := time.Now().Add(recovery); w.position() != newest; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return []string{fmt.Sprintf("the stream of changes has come to %s, not to %s", w.position(), newest)}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, v := range versions {
		if i >= len(w.seen) || w.seen[i] != v.ID {
			return []string{fmt.Sprintf("the stream of changes has %d versions, and differs from the %d of the history at number %d, %s of %s", len(w.seen), len(versions), i, v.ID, v.Path)}
		}
	}
	if more := slices.Clone(w.seen[len(versions):]); len(more) > 0 {
		return []string{fmt.Sprintf("the stream of changes has %d versions more than the history: %s", len(more), more[0])}
	}
	return nil
}
