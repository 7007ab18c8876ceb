package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/claude/claudetest"
	"memento/gateway"
)

// remembering plays a model that saves a note and then says so.
func remembering(key string) *claudetest.Server {
	return claudetest.New(claudetest.Script(
		claudetest.Turn{Say: "I note it.", Calls: []claudetest.Call{{Tool: "memory", Input: map[string]any{"command": "create", "path": "/memories/tea.md", "file_text": "tea\n"}}}},
		claudetest.Turn{Say: "Noted.", Expect: []string{"."}},
	), &claudetest.Options{Key: key})
}

const remember = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"I like tea"}]}`

// gatewayConfig is a configuration with a gateway for an upstream.
func gatewayConfig(t *testing.T, upstream http.Handler) Config {
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	c := testConfig()
	c.Gateway.URL = up.URL
	return c
}

// The key of memento selects the workspace, and the server holds the upstream's key.
func TestGatewayHoldsTheKey(t *testing.T) {
	keys := t.TempDir()
	if err := os.WriteFile(filepath.Join(keys, "default"), []byte("sk-held-canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	up := remembering("sk-held-canary")
	c := gatewayConfig(t, up)
	c.Gateway.KeyFile = keys
	c.Log.Level = "debug"
	r := start(t, c)
	version := []string{"Anthropic-Version", "2023-06-01"}
	if a := r.ask("POST", "/v1/messages", "wrong", remember, version...); a.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong key got %d %s", a.StatusCode, a.text)
	}
	other := r.addKey("other", apikey.RoleAdmin)
	if a := r.ask("POST", "/v1/messages", other, remember, version...); a.StatusCode != http.StatusForbidden || !strings.Contains(a.text, "holds no key") {
		t.Errorf("a workspace without a key got %d %s", a.StatusCode, a.text)
	}
	a := r.ask("POST", "/v1/messages", r.key, remember, version...)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.text, "Noted.") || a.Header.Get("Request-Id") == "" || !strings.HasPrefix(a.Header.Get("Server-Timing"), "memento;dur=") {
		t.Fatalf("got %d %s %v", a.StatusCode, a.text, a.Header)
	}
	s := memento.OpenNamed(r.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
	if m, err := s.Get(t.Context(), memento.ByPath("/tea.md")); err != nil || m.Content != "tea\n" {
		t.Errorf("the memory is %q, %v", m.Content, err)
	}
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{}) {
		if err != nil || v.CreatedBy.Kind != memento.ActorAPIKey {
			t.Errorf("the version is by %v, %v", v.CreatedBy, err)
		}
	}
	for _, text := range []string{"sk-held-canary", r.key, "I like tea", "Noted."} {
		if strings.Contains(r.log.String(), text) {
			t.Errorf("the log has %q", text)
		}
	}
	if metrics := r.scrape(); !strings.Contains(metrics, `memento_gateway_turns_total{model="claude-sonnet-4-5",outcome="ok"} 1`) ||
		!strings.Contains(metrics, `memento_gateway_rounds_total{model="claude-sonnet-4-5"} 2`) ||
		!strings.Contains(metrics, `memento_gateway_memory_calls_total{model="claude-sonnet-4-5",outcome="ok"} 1`) ||
		!strings.Contains(metrics, `memento_gateway_memory_calls_total{model="claude-sonnet-4-5",outcome="failed"} 0`) ||
		!regexp.MustCompile(`memento_gateway_tokens_total\{kind="input",model="claude-sonnet-4-5"\} [1-9]`).MatchString(metrics) ||
		!strings.Contains(metrics, `route="/v1/messages",status="200"`) {
		t.Errorf("the metrics lack the gateway's:\n%s", metrics)
	}
	// The API is still there, and so is what the gateway passes on.
	if a := r.ask("GET", "/v1/whoami", r.key, ""); a.StatusCode != http.StatusOK {
		t.Errorf("whoami: %d %s", a.StatusCode, a.text)
	}
	if a := r.ask("GET", "/v1/models", r.key, ""); a.StatusCode != http.StatusNotFound || len(a.Header.Values("Request-Id")) != 1 {
		t.Errorf("the upstream's 404 came as %d %s", a.StatusCode, a.text)
	}
}

// Callers that send the upstream's key themselves send memento's in a header of its own.
func TestGatewayPassesTheKeyOn(t *testing.T) {
	up := remembering("sk-own-canary")
	r := start(t, gatewayConfig(t, up))
	headers := []string{"Anthropic-Version", "2023-06-01", "Memento-Key", r.key, "Memento-Store", "notes"}
	a := r.ask("POST", "/v1/messages", "sk-own-canary", remember, headers...)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.text, "Noted.") {
		t.Fatalf("got %d %s", a.StatusCode, a.text)
	}
	for _, name := range badStoreNames {
		headers[5] = name
		if a := r.ask("POST", "/v1/messages", "sk-own-canary", remember, headers...); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.text, "Memento-Store") {
			t.Errorf("the store %q got %d %s", name, a.StatusCode, a.text)
		}
	}
	for _, q := range up.Requests() {
		for name := range q.Header {
			if strings.HasPrefix(name, "Memento-") {
				t.Errorf("the upstream got the header %s", name)
			}
		}
	}
	s := memento.OpenNamed(r.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "notes"}, nil)
	if _, err := s.Get(t.Context(), memento.ByPath("/tea.md")); err != nil {
		t.Error(err)
	}
	if a := r.ask("POST", "/v1/messages", r.key, remember, "Anthropic-Version", "2023-06-01"); a.StatusCode != http.StatusForbidden {
		t.Errorf("without a key for the upstream: %d %s", a.StatusCode, a.text)
	}
	// A key that may only read gives the model a memory that it cannot change.
	reader := r.addKey(memento.DefaultWorkspace, apikey.RoleRead)
	headers[3], headers[5] = reader, "read"
	if a := r.ask("POST", "/v1/messages", "sk-own-canary", remember, headers...); a.StatusCode != http.StatusOK {
		t.Errorf("a reader got %d %s", a.StatusCode, a.text)
	}
	s = memento.OpenNamed(r.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "read"}, nil)
	if _, err := s.ID(t.Context()); err == nil {
		t.Error("a reader made a store")
	}
}

// A key has at most as many requests in progress as is allowed; other keys are not affected.
func TestGatewayConcurrency(t *testing.T) {
	arrived, release := make(chan struct{}), make(chan struct{})
	c := gatewayConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Wait") != "" {
			arrived <- struct{}{}
			<-release
		}
		io.WriteString(w, "{}")
	}))
	c.Gateway.MaxConcurrent = 1
	r := start(t, c)
	other := r.addKey(memento.DefaultWorkspace, apikey.RoleWrite)
	ask := func(key string, headers ...string) answer {
		return r.ask("POST", "/v1/messages", "sk-own", "{}", append(headers, "Memento-Key", key)...)
	}
	ended := make(chan answer)
	go func() { ended <- ask(r.key, "Wait", "yes") }()
	<-arrived
	if a := ask(r.key); a.StatusCode != http.StatusTooManyRequests || !strings.Contains(a.text, `"rate_limit_error"`) || a.Header.Get("X-Should-Retry") != "true" || a.Header.Get("Retry-After") == "" {
		t.Errorf("the second request got %d %s", a.StatusCode, a.text)
	}
	if a := ask(other); a.StatusCode != http.StatusOK {
		t.Errorf("another key got %d %s", a.StatusCode, a.text)
	}
	close(release)
	if a := <-ended; a.StatusCode != http.StatusOK {
		t.Errorf("the first request got %d %s", a.StatusCode, a.text)
	}
	for ask(r.key).StatusCode != http.StatusOK {
		// The place is free a moment after the answer has arrived.
		if t.Context().Err() != nil {
			t.Fatal("the place of the first request is never free again")
		}
	}
}

// Names of models are labels once an upstream has answered for them, and not too many.
func TestModelLabels(t *testing.T) {
	var m modelLabels
	for i := range 2 * maxModels {
		if got := m.label(fmt.Sprint("wrong-", i), false); got != "other" {
			t.Errorf("a wrong name is the label %q", got)
		}
	}
	for i := range 2 * maxModels {
		name := fmt.Sprint("model-", i)
		want := name
		if i >= maxModels {
			want = "other"
		}
		if got := m.label(name, true); got != want {
			t.Errorf("%s is the label %q, want %q", name, got, want)
		}
	}
	if got := m.label("model-0", false); got != "model-0" {
		t.Errorf("a known name is the label %q when its request fails", got)
	}
	for _, name := range []string{strings.Repeat("x", 65), "a b", "a\nb", "ä"} {
		if got := m.label(name, true); got != "other" {
			t.Errorf("%q is the label %q", name, got)
		}
	}
}

// The workspaces with the gateway's own data are nobody's.
func TestReservedWorkspaces(t *testing.T) {
	r := start(t, testConfig())
	for _, ws := range []memento.Workspace{gateway.StateWorkspace, gateway.KeysWorkspace} {
		if a := r.ask("GET", "/v1/memory_stores", r.addKey(ws, apikey.RoleAdmin), ""); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("a key of the workspace %s got %d %s", ws, a.StatusCode, a.text)
		}
	}
}

func TestGatewaySettings(t *testing.T) {
	c := testConfig()
	c.Gateway.URL = "ftp://x"
	c.Gateway.KeyFile = filepath.Join(t.TempDir(), "none")
	err := c.Check(time.Now())
	for _, want := range []string{"gateway.url", "gateway.key_file"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %s: %v", want, err)
		}
	}
	for _, path := range []string{"/v1/memory_stores", "/v1/memory_stores/x/memories", "/v1/admin/keys", "/v1/whoami", "/openapi.json", "/healthz"} {
		if isGatewayPath(path) {
			t.Errorf("%s goes to the upstream", path)
		}
	}
}

// The store of requests that name none can be one of each key, or none.
func TestGatewayStoreOfTheKey(t *testing.T) {
	for setting, want := range map[string]string{"agent {key}": "agent ", "none": ""} {
		up := remembering("")
		c := gatewayConfig(t, up)
		c.Gateway.Store = setting
		r := start(t, c)
		var me struct{ ID string }
		if a := r.ask("GET", "/v1/whoami", r.key, ""); json.Unmarshal([]byte(a.text), &me) != nil || me.ID == "" {
			t.Fatalf("got %s", a.text)
		}
		if a := r.ask("POST", "/v1/messages", "sk-own", remember, "Memento-Key", r.key, "Anthropic-Version", "2023-06-01"); (a.StatusCode == http.StatusOK) != (want != "") { // the script needs the tool
			t.Errorf("%s: got %d %s", setting, a.StatusCode, a.text)
		}
		var names []string
		for info, err := range r.backend.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, info.Name)
		}
		if want != "" {
			want += me.ID
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: the stores are %q, want %q", setting, got, want)
		}
		asked := string(up.Requests()[0].Body)
		if strings.Contains(asked, "memory_20250818") != (want != "") {
			t.Errorf("%s: the upstream got %s", setting, asked)
		}
	}
}
