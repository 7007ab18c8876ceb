package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"memento/httpapi"
	"memento/test/proctest"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const hookSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// A hook is somebody's endpoint.
type hook struct {
	*httptest.Server
	answer func(attempt int) int // the status; attempts count from 1

	mu       sync.Mutex
	received []*http.Request
	bodies   [][]byte
}

func newHook(t *testing.T, answer func(int) int) *hook {
	h := &hook{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.received, h.bodies = append(h.received, r), append(h.bodies, body)
		n := len(h.received)
		h.mu.Unlock()
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(h.answer(n))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.received)
}

// config is the webhook that calls h.
func (h *hook) config(t *testing.T, events ...string) Webhook {
	t.Helper()
	w := Webhook{URL: h.URL + "/canary-path?canary", Secret: hookSecret, Events: events, AllowPrivate: true}
	if err := w.findSecret(env()); err != nil {
		t.Fatal(err)
	}
	return w
}

// An outbox is webhooks with short waits.
func outbox(t *testing.T, hooks ...Webhook) (*webhooks, *proctest.Buffer) {
	t.Helper()
	log := &proctest.Buffer{}
	logger, _ := newLogger(log, Log{Format: "text", Level: "debug"})
	w := newWebhooks(nil, time.Now, logger, newMetrics("test"))
	w.wait = func(int) time.Duration { return time.Millisecond }
	w.set(hooks)
	t.Cleanup(func() { w.close(t.Context()) })
	return w, log
}

// counted returns how many messages had an outcome.
func (w *webhooks) counted(t *testing.T, outcome string) int {
	t.Helper()
	families, err := w.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "memento_webhook_deliveries_total" && m.GetLabel()[0].GetValue() == outcome {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

func happened(kind string) httpapi.StoreEvent {
	return httpapi.StoreEvent{Type: "memory_store." + kind, Store: "memstore_1", Workspace: "team", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))}
}

// Events of a store are sent to the webhooks that want them, signed as Standard
// Webhooks says.
func TestWebhooks(t *testing.T) {
	all := newHook(t, func(int) int { return 204 })
	some := newHook(t, func(int) int { return 200 })
	c := testConfig()
	c.Webhooks = []Webhook{all.config(t), some.config(t, "memory_store.deleted")}
	r := start(t, c)
	store := r.newStore()
	r.do("POST", store+"/archive", "")
	r.do("POST", store+"/archive", "")
	r.do("DELETE", store, "")
	proctest.Until(t, "all is told", func() bool { return all.count() == 3 && some.count() == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	verifier, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for i, q := range all.received {
		if err := verifier.Verify(all.bodies[i], q.Header); err != nil {
			t.Errorf("the signature: %v", err)
		}
		var got event
		if err := json.Unmarshal(all.bodies[i], &got); err != nil {
			t.Fatal(err)
		}
		if got.Type != "event" || got.ID != q.Header.Get("webhook-id") || !strings.HasPrefix(got.ID, "whe_") || time.Since(got.CreatedAt) > time.Minute || q.Header.Get("Content-Type") != "application/json" {
			t.Errorf("message %s, %v", all.bodies[i], q.Header)
		}
		want := eventData{Type: got.Data.Type, ID: strings.TrimPrefix(store, "/v1/memory_stores/"), Organization: "memento", Workspace: "default"}
		if diff := cmp.Diff(want, got.Data); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		told[got.Data.Type] = true
	}
	for _, kind := range webhookEvents() {
		if !told[kind] {
			t.Errorf("%s was not told", kind)
		}
	}
	if !strings.Contains(string(some.bodies[0]), "memory_store.deleted") {
		t.Errorf("who asked for deletions got %s", some.bodies[0])
	}
	if strings.Contains(r.log.String(), "canary") {
		t.Errorf("the log has the URL:\n%s", r.log)
	}
}

// The message has these members and no others.
func TestWebhookMessage(t *testing.T) {
	h := newHook(t, func(int) int { return 200 })
	w, _ := outbox(t, h.config(t))
	w.tell(happened("created"))
	proctest.Until(t, "it is told", func() bool { return h.count() == 1 })
	id := h.received[0].Header.Get("webhook-id")
	want := `{"type":"event","id":"` + id + `","created_at":"2026-01-02T02:04:05Z","data":{"type":"memory_store.created","id":"memstore_1","organization_id":"memento","workspace_id":"team"}}`
	if got := string(h.bodies[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A message has three attempts, all with its ID, each with its time and signature.
func TestWebhookRetries(t *testing.T) {
	h := newHook(t, func(n int) int {
		if n < 3 {
			return 503
		}
		return 200
	})
	w, log := outbox(t, h.config(t))
	clock := time.Now()
	var mu sync.Mutex
	w.now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		clock = clock.Add(time.Second)
		return clock
	}
	w.tell(happened("created"))
	proctest.Until(t, "it is delivered", func() bool { return w.counted(t, "delivered") == 1 })
	verifier, err := standardwebhooks.NewWebhook(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for i, q := range h.received {
		at, _ := strconv.ParseInt(q.Header.Get("webhook-timestamp"), 10, 64)
		if at <= last || q.Header.Get("webhook-id") != h.received[0].Header.Get("webhook-id") {
			t.Errorf("attempt %d: %v", i+1, q.Header)
		}
		if err := verifier.VerifyIgnoringTimestamp(h.bodies[i], q.Header); err != nil {
			t.Errorf("attempt %d: %v", i+1, err)
		}
		last = at
	}
	if h.count() != 3 || w.counted(t, "retried") != 2 {
		t.Errorf("%d attempts, %d counted as repeated", h.count(), w.counted(t, "retried"))
	}
	if strings.Contains(log.String(), "canary") {
		t.Errorf("the log has the URL:\n%s", log)
	}
}

// After three failed attempts a message is dropped. After twenty such messages in a row
// the endpoint is disabled until the configuration is read again.
func TestWebhookGivesUp(t *testing.T) {
	h := newHook(t, func(int) int { return 500 })
	w, log := outbox(t, h.config(t))
	for range maxFailures {
		w.tell(happened("created"))
	}
	proctest.Until(t, "it is left alone", func() bool { return strings.Contains(log.String(), "20 messages in a row failed") })
	if h.count() != maxFailures*maxAttempts {
		t.Errorf("%d attempts; want %d", h.count(), maxFailures*maxAttempts)
	}
	w.tell(happened("deleted"))
	proctest.Until(t, "more is dropped", func() bool { return w.counted(t, "dropped") == 1 })
	if h.count() != maxFailures*maxAttempts {
		t.Error("it is still called")
	}
	w.set([]Webhook{h.config(t)})
	w.tell(happened("deleted"))
	proctest.Until(t, "it has another chance", func() bool { return h.count() > maxFailures*maxAttempts })
}

// A redirect disables the endpoint at once, and is not followed. The status 410 does
// the same.
func TestWebhookNotMeant(t *testing.T) {
	for _, status := range []int{301, 302, 307, 308, 410} {
		h := newHook(t, func(int) int { return status })
		w, log := outbox(t, h.config(t))
		w.tell(happened("created"))
		proctest.Until(t, "it is left alone", func() bool { return strings.Contains(log.String(), "webhook disabled") })
		w.tell(happened("deleted"))
		proctest.Until(t, "more is dropped", func() bool { return w.counted(t, "dropped") == 1 })
		if h.count() != 1 {
			t.Errorf("%d: %d attempts", status, h.count())
		}
	}
}

// A host name that resolves to this machine is refused when the connection is made,
// whatever it resolved to before.
func TestWebhookPrivateAddress(t *testing.T) {
	h := newHook(t, func(int) int { return 200 })
	_, port, _ := net.SplitHostPort(h.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		hook := h.config(t)
		hook.AllowPrivate, hook.URL = false, "http://"+host+":"+port+"/"
		w, log := outbox(t, hook)
		w.tell(happened("created"))
		proctest.Until(t, host+" is refused", func() bool { return strings.Contains(log.String(), errNotPublic.Error()) })
		w.close(t.Context())
	}
	if h.count() != 0 {
		t.Errorf("%d messages arrived", h.count())
	}
}

func TestIsPublic(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111", "2a00:1450::1", "192.0.1.1", "172.32.0.1", "100.128.0.1"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
		"255.255.255.255", "240.0.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fec0::1", "100::1",
	} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// An endpoint that does not answer delays neither the sources of events nor other
// endpoints. Its queue and the time for its shutdown are bounded.
func TestWebhookHangs(t *testing.T) {
	release := make(chan struct{})
	h := newHook(t, func(int) int { <-release; return 200 })
	defer close(release)
	other := newHook(t, func(int) int { return 200 })
	w, log := outbox(t, h.config(t), other.config(t, "memory_store.deleted"))
	const extra = 50
	w.tell(happened("created"))
	proctest.Until(t, "it hangs", func() bool { return h.count() == 1 })
	began := time.Now()
	for range maxQueued + extra {
		w.tell(happened("created"))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("telling took %v", took)
	}
	if n := w.counted(t, "dropped"); n != extra {
		t.Errorf("%d dropped; want %d", n, extra)
	}
	w.tell(happened("deleted"))
	proctest.Until(t, "the other is told", func() bool { return other.count() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began = time.Now()
	w.close(ctx)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	if !strings.Contains(log.String(), "messages dropped") {
		t.Errorf("the log is %s", log)
	}
	w.tell(happened("created")) // which is nobody's any more
}

// At shutdown, a message that waits for its next attempt is sent at once.
func TestWebhooksAtTheEnd(t *testing.T) {
	h := newHook(t, func(n int) int {
		if n == 1 {
			return 500
		}
		return 200
	})
	w, _ := outbox(t, h.config(t))
	w.wait = func(int) time.Duration { return time.Hour }
	w.tell(happened("created"))
	proctest.Until(t, "the first attempt", func() bool { return w.counted(t, "retried") == 1 })
	w.close(t.Context())
	if h.count() != 2 || w.counted(t, "delivered") != 1 {
		t.Errorf("%d attempts, %d delivered", h.count(), w.counted(t, "delivered"))
	}
}

// An endpoint that is removed from the configuration gets its queued messages, and no
// new ones.
func TestWebhooksLeave(t *testing.T) {
	h := newHook(t, func(int) int { return 200 })
	w, _ := outbox(t, h.config(t))
	w.tell(happened("created"))
	w.set(nil)
	w.tell(happened("deleted"))
	proctest.Until(t, "it is delivered", func() bool { return w.counted(t, "delivered") == 1 })
	w.close(t.Context())
	if h.count() != 1 {
		t.Errorf("%d messages", h.count())
	}
}

// Waits are those of Anthropic's webhooks.
func TestJitteredWait(t *testing.T) {
	for range 1000 {
		if first, second := jitteredWait(1), jitteredWait(2); first < 5*time.Second || first >= 30*time.Second || second < 30*time.Second || second >= 2*time.Minute {
			t.Fatalf("waits of %v and %v", first, second)
		}
	}
}

// Errors of the network do not repeat the URL.
func TestWebhookErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	hook := Webhook{URL: "http://" + address + "/canary", Secret: hookSecret, AllowPrivate: true}
	w, _ := outbox(t, hook)
	err = w.endpoints[0].send(t.Context(), &message{id: "whe_1"})
	if err == nil || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), address) {
		t.Errorf("nobody there: %v", err)
	}
	var permanent *permanentError
	w.endpoints[0].hook.URL = "http://\x7f/"
	if err := w.endpoints[0].send(t.Context(), &message{}); !errors.As(err, &permanent) {
		t.Errorf("no URL: %v", err)
	}
}
