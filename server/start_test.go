package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/sensitive"
	"memento/test/leaks"
	"memento/test/proctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	leaks.Main(m, nil,
		// Connections that clients of tests keep open.
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// A running server of a test.
type running struct {
	*Server
	t       *testing.T
	url     string
	key     string // of an admin in the default workspace
	backend memento.Backend
	log     *proctest.Buffer
	client  *http.Client
	end     context.CancelFunc
	ended   chan error
}

// testConfig is a configuration that takes free ports.
func testConfig() Config {
	c := Default()
	c.Address, c.Metrics = "127.0.0.1:0", "127.0.0.1:0"
	c.Maintenance.Interval = 0
	c.Shutdown.Grace = 10 * time.Second
	return c
}

// start runs a server over memstore until the test ends.
func start(t *testing.T, c Config) *running {
	t.Helper()
	return startOn(t, c, memstore.New(nil))
}

func startOn(t *testing.T, c Config, b memento.Backend) *running {
	t.Helper()
	return startAt(t, c, b, time.Now)
}

// startAt is startOn with another clock.
func startAt(t *testing.T, c Config, b memento.Backend, now func() time.Time) *running {
	t.Helper()
	r := &running{t: t, backend: b, log: &proctest.Buffer{}, client: http.DefaultClient, ended: make(chan error, 1)}
	r.key = r.addKey(memento.DefaultWorkspace, apikey.RoleAdmin)
	var err error
	if r.Server, err = New(c, Deps{Backend: b, Detector: sensitive.Default(), Log: r.log, Version: "v0.0.0-test", Now: now}); err != nil {
		t.Fatal(err)
	}
	r.url = r.Addresses().URL()
	var ctx context.Context
	ctx, r.end = context.WithCancel(context.Background())
	go func() { r.ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		r.stop()
		_ = b.Close()
	})
	return r
}

// stop ends the server and returns what Run did.
func (r *running) stop() error {
	r.end()
	err := <-r.ended
	r.ended <- err // for who asks again
	return err
}

// addKey adds a key to the backend.
func (r *running) addKey(ws memento.Workspace, role apikey.Role) string {
	r.t.Helper()
	_, secret := storetest.NewKey(r.t, r.backend.(apikey.Keeper), ws, role, time.Now())
	return secret
}

// An answer to a request, read whole.
type answer struct {
	*http.Response
	text string
}

// ask sends a request with a credential, "" for none.
func (r *running) ask(method, path, credential, body string, headers ...string) answer {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if credential != "" {
		q.Header.Set("Authorization", "Bearer "+credential)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	res, err := r.client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return answerOf(r.t, res)
}

func answerOf(t *testing.T, res *http.Response) answer {
	t.Helper()
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res, string(text)}
}

// do is ask with the admin's key, for requests that succeed.
func (r *running) do(method, path, body string) map[string]any {
	r.t.Helper()
	a := r.ask(method, path, r.key, body)
	if a.StatusCode != http.StatusOK {
		r.t.Fatalf("%s %s: %d %s", method, path, a.StatusCode, a.text)
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(a.text), &object); err != nil {
		r.t.Fatalf("%s %s: %v in %s", method, path, err, a.text)
	}
	return object
}

// newStore makes a store and returns its path.
func (r *running) newStore() string {
	r.t.Helper()
	return "/v1/memory_stores/" + r.do("POST", "/v1/memory_stores", `{"name":"notes"}`)["id"].(string)
}
