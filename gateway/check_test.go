package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"memento/backend/memstore"
	"memento/claude/claudetest"
	"memento/gateway"
	"memento/sensitive"
)

// checked is an upstream that plays what a check asks for.
func checked(t *testing.T, o *claudetest.Options) *claudetest.Server {
	t.Helper()
	data, err := os.ReadFile("testdata/check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := claudetest.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return claudetest.New(scenario, o)
}

// lacking is an upstream that refuses requests whose body has a text.
func lacking(upstream http.Handler, texts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		for _, text := range texts {
			if err == nil && bytes.Contains(body, []byte(text)) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				io.WriteString(w, `{"error":{"message":"unknown variant of `+text+`, `+r.Header.Get("X-Api-Key")+`"}}`)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		upstream.ServeHTTP(w, r)
	})
}

// check returns the steps of a check, a line each, and the steps themselves.
func check(t *testing.T, upstream http.Handler, o gateway.CheckOptions, change ...func(*gateway.Config)) (lines string, steps []gateway.Step) {
	t.Helper()
	server := httptest.NewServer(upstream)
	defer server.Close()
	b := memstore.New(nil)
	defer b.Close()
	c := gateway.Config{Backend: b}
	c.Stores.Detector = sensitive.Default()
	c.Upstream, _ = url.Parse(server.URL)
	for _, f := range change {
		f(&c)
	}
	for s := range gateway.Check(t.Context(), c, o) {
		lines += s.Name + " " + s.Result + "\n"
		steps = append(steps, s)
		if strings.Contains(s.Detail+s.Next, upstreamKey) {
			t.Errorf("the key is in %+v", s)
		}
		if s.Result == gateway.StepFailed && (s.Next == "" || s.Detail == "") {
			t.Errorf("the step does not say what to do: %+v", s)
		}
	}
	return lines, steps
}

func TestCheck(t *testing.T) {
	key := gateway.CheckOptions{Key: upstreamKey, Model: "claude-opus-4-6"}
	const before, after = "upstream ok\nmodels missing\nkey ok\nmessage ok\ncount_tokens ok\n", "memory_round ok\nstream ok\nmemory_count ok\n"
	native := claudetest.Options{Key: upstreamKey}
	got, steps := check(t, checked(t, &native), key)
	if want := before + "memory ok\ncontext_editing ok\ncompaction ok\n" + after; got != want {
		t.Errorf("native:\n%s\nwant\n%s\n%v", got, want, steps)
	}

	// What the upstream refuses is emulated, or missing.
	refusing := lacking(checked(t, &native), `memory_20250818`, `context_management`)
	got, steps = check(t, refusing, key)
	if want := before + "memory failed\n"; got != want || !strings.Contains(steps[5].Next, "--emulate memory") {
		t.Errorf("without memory:\n%s\nwant\n%s\n%v", got, want, steps)
	}
	got, steps = check(t, refusing, key, emulating(gateway.Emulation{Memory: true, ContextEditing: true}))
	if want := before + "memory ok\ncontext_editing ok\ncompaction missing\n" + after; got != want || !strings.Contains(steps[7].Next, "--emulate compaction") {
		t.Errorf("emulated:\n%s\nwant\n%s\n%v", got, want, steps)
	}

	// An upstream that takes edits and ignores them does not have them.
	got, steps = check(t, ignoring(checked(t, &native)), key)
	if want := before + "memory ok\ncontext_editing missing\ncompaction missing\n" + after; got != want {
		t.Errorf("ignored:\n%s\nwant\n%s\n%v", got, want, steps)
	}

	// A busy upstream says nothing about what it has.
	busy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte("memory_20250818")) {
			failing(529)(w, r)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		checked(t, &native).ServeHTTP(w, r)
	})
	got, steps = check(t, busy, key)
	if last := steps[len(steps)-1]; last.Name != "memory" || last.Result != gateway.StepFailed || last.Next != "try again later" {
		t.Errorf("busy:\n%s\n%v", got, steps)
	}

	// So it is with what is emulated: nothing is claimed of an upstream that did not say it,
	// and no other settings are recommended.
	for _, status := range []int{408, 429, 500, 503, 529} {
		for text, step := range map[string]string{
			"memory_20250818": "memory", "clear_tool_uses_20250919": "context_editing", "compact_20260112": "compaction",
			`"max_tokens":64,"messages":[{"role":"user","content":"Reply with the word ready."}]}`: "message",
			"Use your memory tool to create": "memory_round", `"stream":true`: "stream",
		} {
			moody := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if bytes.Contains(body, []byte(text)) {
					failing(status)(w, r)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				checked(t, &native).ServeHTTP(w, r)
			})
			_, steps = check(t, moody, key, emulating(gateway.Emulation{Memory: true, ContextEditing: true, Compaction: true}))
			found := false
			for _, s := range steps {
				if s.Name != step {
					continue
				}
				found = true
				emulated := strings.HasPrefix(s.Detail, "emulated; whether the upstream has ") && s.Result == gateway.StepOK && s.Next == ""
				failed := strings.HasPrefix(s.Detail, "the upstream is busy, or has failed: ") && s.Result == gateway.StepFailed && s.Next == "try again later"
				if !emulated && !failed || !strings.Contains(s.Detail, fmt.Sprint("HTTP status ", status, ", too busy")) {
					t.Errorf("%d for %s: %+v", status, step, s)
				}
			}
			if !found {
				t.Errorf("%d for %s: no such step in %v", status, step, steps)
			}
		}
	}
	for _, path := range []string{"/v1/models", "/v1/messages/count_tokens"} {
		busy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				failing(429)(w, r)
				return
			}
			checked(t, &native).ServeHTTP(w, r)
		})
		got, steps = check(t, busy, key)
		if said := fmt.Sprint(steps); strings.Count(said, "cannot be told: HTTP status 429, too busy try again later") != 1 || strings.Contains(got, "failed") {
			t.Errorf("busy for %s:\n%s\n%v", path, got, steps)
		}
	}

	// With mounts the model writes to the one that it may change.
	got, steps = check(t, checked(t, &native), key, func(c *gateway.Config) {
		c.Mounts = []gateway.Mount{{Name: "team", Store: "team", ReadOnly: true}, {Name: "user", Store: "{store}"}}
	})
	if !strings.HasSuffix(got, after) {
		t.Errorf("mounts:\n%s\n%v", got, steps)
	}
}

// ignoring is an upstream to which context management means nothing.
func ignoring(upstream http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		body = bytes.ReplaceAll(body, []byte(`"context_management":`), []byte(`"metadata":{},"mcp_servers":[],"x":`))
		if i := bytes.Index(body, []byte(`,"metadata":{},"mcp_servers"`)); i > 0 {
			body = append(body[:i:i], '}')
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		upstream.ServeHTTP(w, r)
	})
}

func TestCheckFails(t *testing.T) {
	got, steps := check(t, checked(t, &claudetest.Options{Key: "another"}), gateway.CheckOptions{Key: upstreamKey})
	if want := "upstream ok\nkey failed\n"; got != want {
		t.Errorf("a wrong key:\n%s%v", got, steps)
	}
	broken := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			connection.Close()
		}
	})
	if got, steps = check(t, broken, gateway.CheckOptions{Key: upstreamKey}); got != "upstream failed\n" {
		t.Errorf("no answer:\n%s%v", got, steps)
	}
	listing := func(list string, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				io.WriteString(w, list)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	// A model that only talks.
	const models = `{"data":[{"id":"claude-opus-4-6"},{"id":"claude-3-haiku-20240307"},{"id":"claude-haiku-4-5"}]}`
	talk := claudetest.New(claudetest.Script(claudetest.Turn{Say: "I will."}), nil)
	got, steps = check(t, listing(models, talk), gateway.CheckOptions{Key: upstreamKey})
	if !strings.HasSuffix(got, "memory_round failed\n") || !strings.Contains(got, "models ok\n") || !strings.Contains(fmt.Sprint(steps), "claude-haiku-4-5 answers") {
		t.Errorf("a model that only talks:\n%s%v", got, steps)
	}
	whole := lacking(checked(t, nil), `"stream":true`)
	if got, steps = check(t, whole, gateway.CheckOptions{Key: upstreamKey, Model: "claude-opus-4-6"}); !strings.HasSuffix(got, "memory_round ok\nstream failed\n") {
		t.Errorf("an upstream that cannot stream:\n%s%v", got, steps)
	}
	if got, steps = check(t, listing(models, talk), gateway.CheckOptions{Key: upstreamKey, Model: "claude-opus-9"}); !strings.Contains(got, "models missing\n") {
		t.Errorf("a model that is not listed:\n%s%v", got, steps)
	}
}
