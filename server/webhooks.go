package server

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"memento/httpapi"
)

// webhooks sends events to the configured endpoints. Messages follow Standard Webhooks,
// and the rules of Anthropic's webhooks for memory stores: up to three attempts, in no
// particular order. An endpoint that rejects messages permanently is disabled until the
// configuration is read again. Queued messages are lost when the process dies. webhooks
// is safe for concurrent use.
type webhooks struct {
	client  func(allowPrivate bool) *http.Client
	wait    func(attempt int) time.Duration // before the next attempt, after the attempt-th has failed
	now     func() time.Time
	logger  *slog.Logger
	metrics *metrics

	mu        sync.Mutex
	endpoints []*endpoint
	leaving   []*endpoint // no longer in the configuration, but not finished
	closed    bool
}

const (
	maxAttempts  = 3
	maxQueued    = 1000 // messages queued for one endpoint; more are dropped
	maxFailures  = 20   // consecutive failed messages after which the endpoint is disabled
	webhookLimit = 10 * time.Second
)

func newWebhooks(hooks []Webhook, now func() time.Time, logger *slog.Logger, m *metrics) *webhooks {
	w := &webhooks{client: webhookClient, wait: jitteredWait, now: now, logger: logger, metrics: m}
	w.set(hooks)
	return w
}

// set replaces the endpoints. Remaining ones are enabled again if they were disabled.
// Removed ones still send their queued messages.
func (w *webhooks) set(hooks []Webhook) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	old := w.endpoints
	w.endpoints = nil
	for _, hook := range hooks {
		i := slices.IndexFunc(old, func(e *endpoint) bool { return e.hook.same(&hook) })
		if i < 0 {
			w.endpoints = append(w.endpoints, startEndpoint(hook, w))
			continue
		}
		old[i].enable()
		w.endpoints = append(w.endpoints, old[i])
		old = slices.Delete(old, i, i+1)
	}
	for _, e := range old {
		e.finish()
	}
	w.leaving = slices.DeleteFunc(append(w.leaving, old...), (*endpoint).ended)
}

// event is the body of a message. Source: Anthropic's webhooks.
type event struct {
	Type      string    `json:"type"` // "event"
	ID        string    `json:"id"`   // "whe_…"
	CreatedAt time.Time `json:"created_at"`
	Data      eventData `json:"data"`
}

type eventData struct {
	Type         string `json:"type"`
	ID           string `json:"id"` // the store's ID
	Organization string `json:"organization_id"`
	Workspace    string `json:"workspace_id"`
}

// organization is the value of the field in which Anthropic names the account: a server
// here counts as one account.
const organization = "memento"

// tell queues the message of an event. It does not block.
func (w *webhooks) tell(e httpapi.StoreEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.endpoints) == 0 {
		return
	}
	id := newEventID()
	body, err := json.Marshal(event{
		Type: "event", ID: id, CreatedAt: e.At.UTC(),
		Data: eventData{Type: e.Type, ID: string(e.Store), Organization: organization, Workspace: string(e.Workspace)},
	})
	if err != nil {
		return // strings and a time can always be encoded
	}
	for _, to := range w.endpoints {
		if to.hook.wants(e.Type) {
			to.add(&message{id: id, body: body, due: w.now()})
		}
	}
}

func newEventID() string {
	var bits [15]byte
	rand.Read(bits[:]) // crypto/rand never returns an error
	return "whe_" + strings.ToLower(base32.StdEncoding.EncodeToString(bits[:]))
}

// close makes one more attempt for each queued message, until ctx ends.
func (w *webhooks) close(ctx context.Context) {
	w.mu.Lock()
	w.closed = true
	endpoints := slices.Concat(w.endpoints, w.leaving)
	w.mu.Unlock()
	for _, e := range endpoints {
		e.finish()
	}
	for _, e := range endpoints {
		select {
		case <-e.done:
		case <-ctx.Done():
			e.stop()
			<-e.done
		}
	}
}
