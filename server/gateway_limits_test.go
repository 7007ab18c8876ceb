package server

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/sqlitestore"
	"memento/claude/claudetest"
	"memento/gateway"
)

// A key that has taken its tokens waits; other keys do not. Messages count whether they
// have memory or not.
func TestGatewayTokens(t *testing.T) {
	for name, body := range map[string]string{"with memory": remember, "without": strings.Replace(remember, "claude-sonnet-4-5", "claude-3-opus", 1)} {
		up := claudetest.New(claudetest.Script(claudetest.Turn{Say: "Hello."}), nil)
		c := gatewayConfig(t, up)
		c.Gateway.Tokens = 10
		r := start(t, c)
		other := r.addKey(memento.DefaultWorkspace, apikey.RoleWrite)
		ask := func(key, path string) answer {
			return r.ask("POST", path, "sk-own", body, "Memento-Key", key, "Anthropic-Version", "2023-06-01")
		}
		if a := ask(r.key, "/v1/messages"); a.StatusCode != http.StatusOK {
			t.Fatalf("%s: got %d %s", name, a.StatusCode, a.text)
		}
		a := ask(r.key, "/v1/messages")
		wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.StatusCode != http.StatusTooManyRequests || !strings.Contains(a.text, "10 tokens per minute") || a.Header.Get("X-Should-Retry") != "true" || err != nil || wait < 2 {
			t.Errorf("%s: the second message got %d %s %v", name, a.StatusCode, a.text, a.Header)
		}
		if a := ask(r.key, "/v1/messages/count_tokens"); a.StatusCode == http.StatusTooManyRequests {
			t.Errorf("%s: counting got %d %s", name, a.StatusCode, a.text)
		}
		if a := ask(other, "/v1/messages"); a.StatusCode != http.StatusOK {
			t.Errorf("%s: another key got %d %s", name, a.StatusCode, a.text)
		}
		// The metrics have the messages that the gateway has answered itself.
		turns := `memento_gateway_turns_total{model="claude-sonnet-4-5",outcome="ok"} 2`
		if metrics := r.scrape(); strings.Contains(metrics, turns) != (name == "with memory") || strings.Contains(metrics, "memento_gateway_turns_total{") != (name == "with memory") {
			t.Errorf("%s: the metrics are wrong:\n%s", name, metrics)
		}
	}
}

func TestTokenLimiter(t *testing.T) {
	l := &tokenLimiter{perMinute: 60}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(after time.Duration, take int64, want time.Duration) {
		t.Helper()
		at = at.Add(after)
		l.take("a", take, at)
		if got := l.wait("a", at); got != want {
			t.Errorf("at %v after taking %d: waits %v, want %v", at.Format("04:05"), take, got, want)
		}
	}
	step(0, 0, 0)
	step(0, 59, 0)
	step(0, 1, time.Second)
	step(0, 120, 121*time.Second)
	step(20*time.Second, 0, 101*time.Second)
	step(101*time.Second, 0, 0)
	step(time.Hour, 60, time.Second) // no more than those of one minute are saved
	step(-time.Hour, 0, time.Second) // a clock that was set back gives nothing
	if l.wait("b", at) != 0 {
		t.Error("another key waits")
	}
	for i := range maxTokenCallers {
		l.take(fmt.Sprint(i), 1, at)
	}
	l.take("one more", 1, at.Add(24*time.Hour))
	if n := len(l.left); n != 1 {
		t.Errorf("%d callers are remembered", n)
	}
	none := &tokenLimiter{}
	none.take("a", 1<<40, at)
	if none.wait("a", at) != 0 || len(none.left) != 0 {
		t.Error("without a limit a key waits")
	}
}

// The requests of a key per minute are limited as those to the API are.
func TestGatewayRate(t *testing.T) {
	c := gatewayConfig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
	c.Rate.Writes, c.Rate.Burst = 0.001, 2
	r := start(t, c)
	var got []int
	for range 3 {
		got = append(got, r.ask("POST", "/v1/messages", "sk-own", "{}", "Memento-Key", r.key).StatusCode)
	}
	if fmt.Sprint(got) != "[200 200 429]" {
		t.Errorf("got %v", got)
	}
}

// With zero retention no words of a conversation are in any log, trace or file, and nothing
// is kept of it, not even sealed. The spans of messages have the attributes of the
// conventions for generative AI.
func TestGatewayZeroRetention(t *testing.T) {
	for _, zero := range []bool{true, false} {
		to := receive(t)
		up := claudetest.New(claudetest.Script(
			claudetest.Turn{Thinking: "canary of thinking", Say: "canary of an answer", Calls: []claudetest.Call{{Tool: "memory", Input: map[string]any{"command": "create", "path": "/memories/tea.md", "file_text": "tea\n"}}}},
			claudetest.Turn{Say: "canary at the end", Expect: []string{"."}},
		), nil)
		c := gatewayConfig(t, up)
		c.Gateway.ZeroRetention = zero
		c.Log.Level = "debug"
		c.Traces.Endpoint = to.URL
		folder := t.TempDir()
		b, err := sqlitestore.Open(t.Context(), filepath.Join(folder, "memories.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := startOn(t, c, b)
		for _, stream := range []string{"", `"stream":true,`} {
			body := strings.Replace(strings.Replace(remember, "I like tea", "canary of a question", 1), "{", "{"+stream, 1)
			a := r.ask("POST", "/v1/messages", "sk-canary", body, "Memento-Key", r.key, "Anthropic-Version", "2023-06-01")
			if a.StatusCode != http.StatusOK || !strings.Contains(a.text, "canary") {
				t.Fatalf("got %d %s", a.StatusCode, a.text)
			}
		}
		kept := 0
		for _, err := range b.ListStores(t.Context(), gateway.StateWorkspace, memento.StoreListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			kept++
		}
		if (kept == 0) != zero {
			t.Errorf("zero retention: %v, and %d stores with hidden rounds", zero, kept)
		}
		remembered := false
		err = fs.WalkDir(os.DirFS(folder), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(filepath.Join(folder, path))
			if strings.Contains(string(data), "canary") {
				t.Errorf("words of the conversation are in %s", path)
			}
			remembered = remembered || strings.Contains(string(data), "tea.md")
			return err
		})
		if err != nil || !remembered {
			t.Errorf("the memory is in no file; %v", err)
		}
		if err := r.stop(); err != nil { // which sends the last spans
			t.Fatal(err)
		}
		if log := r.log.String(); strings.Contains(log, "canary") || !strings.Contains(log, "/v1/messages") {
			t.Errorf("the log is %s", log)
		}
		to.mu.Lock()
		messages := 0
		for _, s := range to.spans {
			if strings.Contains(s.String(), "canary") {
				t.Errorf("a span has words of the conversation: %s", s)
			}
			about := attributes(s)
			if about["gen_ai.request.model"] == "" {
				continue
			}
			messages++
			in, _ := strconv.Atoi(about["gen_ai.usage.input_tokens"])
			out, _ := strconv.Atoi(about["gen_ai.usage.output_tokens"])
			if about["gen_ai.request.model"] != "claude-sonnet-4-5" || about["gen_ai.operation.name"] != "chat" || about["gen_ai.provider.name"] != "anthropic" ||
				in < 1 || out < 1 || about["memento.gateway.rounds"] != "2" || about["memento.gateway.memory_calls"] != "1" {
				t.Errorf("the span has %v", about)
			}
		}
		to.mu.Unlock()
		if messages != 2 {
			t.Errorf("%d spans of messages", messages)
		}
	}
}
