package server

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A receiver takes traces in, as collectors do.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*tracev1.Span
	about   string // the resource
	headers http.Header
	faults  []string
}

func receive(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		var export collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &export)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/x-protobuf" {
			r.faults = append(r.faults, fmt.Sprint(q.URL.Path, q.Header, err))
		}
		r.headers = q.Header
		for _, resource := range export.ResourceSpans {
			r.about = resource.Resource.String()
			for _, scope := range resource.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// attributes of a span, as text.
func attributes(s *tracev1.Span) map[string]string {
	found := map[string]string{}
	for _, a := range s.Attributes {
		found[a.Key] = a.Value.GetStringValue()
		if found[a.Key] == "" {
			found[a.Key] = fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return found
}

// Requests and their calls to the backend are spans below the caller's span.
func TestTraces(t *testing.T) {
	for _, by := range []string{"setting", "variable"} {
		t.Run(by, func(t *testing.T) {
			to := receive(t)
			c := testConfig()
			if by == "setting" {
				c.Traces.Endpoint = to.URL
			} else {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
				t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=memory")
			}
			r := start(t, c)
			store := r.newStore()
			r.ask("POST", store+"/memories", r.key, `{"path":"/canary.md","content":"canary"}`,
				"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			r.ask("GET", store+"/search?query=canary", r.key, "")
			r.ask("POST", store+"/tool", r.key, `{"command":"delete","path":"/memories/canary.md"}`)
			r.do("DELETE", store, "")
			if err := r.stop(); err != nil { // which sends what is left
				t.Fatal(err)
			}
			to.mu.Lock()
			defer to.mu.Unlock()
			if len(to.faults) > 0 {
				t.Error(to.faults)
			}
			if !strings.Contains(to.about, `"memento"`) || !strings.Contains(to.about, "v0.0.0-test") {
				t.Errorf("the resource is %s", to.about)
			}
			if team := to.headers.Get("x-team"); by == "variable" && team != "memory" {
				t.Errorf("the header of the variable is %q", team)
			}
			var create, apply *tracev1.Span
			operations := map[string]string{} // of OpenTelemetry's conventions, by the span's name
			for _, s := range to.spans {
				if strings.Contains(s.String(), "canary") || strings.Contains(s.String(), r.key) {
					t.Errorf("a span has what it should not: %s", s)
				}
				if about := attributes(s); about["gen_ai.operation.name"] != "" {
					operations[s.Name] += about["gen_ai.operation.name"] + " "
					if id := about["gen_ai.memory.store.id"]; id != strings.TrimPrefix(store, "/v1/memory_stores/") {
						t.Errorf("%s is about the store %q", s.Name, id)
					}
					if id := about["gen_ai.memory.record.id"]; strings.HasPrefix(id, "mem_") != (s.Name == "memento apply") {
						t.Errorf("%s is about the memory %q", s.Name, id)
					}
				}
				switch s.Name {
				case "POST /v1/memory_stores/{store}/memories":
					create = s
				case "memento apply":
					if apply == nil {
						apply = s
					}
				}
			}
			if create == nil || apply == nil {
				t.Fatalf("of the spans some are missing: %v", to.spans)
			}
			if id := hex.EncodeToString(create.TraceId); id != "0af7651916cd43dd8448eb211c80319c" || hex.EncodeToString(create.ParentSpanId) != "b7ad6b7169203331" {
				t.Errorf("the caller's trace is not taken over: %s", create)
			}
			if diff := cmp.Diff(map[string]string{
				"POST /v1/memory_stores": "create_memory_store ", "DELETE /v1/memory_stores/{store}": "delete_memory_store ",
				"memento apply": "create_memory delete_memory ", "memento search": "search_memory ",
			}, operations); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if string(apply.ParentSpanId) != string(create.SpanId) || create.Kind != tracev1.Span_SPAN_KIND_SERVER {
				t.Errorf("%s is not below %s", apply, create)
			}
			if apply.StartTimeUnixNano < create.StartTimeUnixNano || apply.EndTimeUnixNano > create.EndTimeUnixNano || apply.EndTimeUnixNano <= apply.StartTimeUnixNano {
				t.Errorf("times: %s in %s", apply, create)
			}
			about := attributes(create)
			if !strings.HasPrefix(about["memento.request_id"], "req_") {
				t.Errorf("request: %v", about)
			}
			for key, want := range map[string]string{
				"http.request.method": "POST", "http.route": "/v1/memory_stores/{store}/memories", "http.response.status_code": "200", "memento.workspace": "default",
			} {
				if about[key] != want {
					t.Errorf("%s is %q; want %q", key, about[key], want)
				}
			}
			if about := attributes(apply); about["memento.op"] != "apply" || about["memento.outcome"] != "ok" {
				t.Errorf("operation: %v", about)
			}
		})
	}
}

// A receiver that cannot be reached is logged without the path of its URL, and does not
// prevent the shutdown.
func TestTracesWithoutReceiver(t *testing.T) {
	to := receive(t)
	c := testConfig()
	c.Traces.Endpoint = to.URL + "/canary"
	to.Close()
	r := start(t, c)
	r.newStore()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if text := r.log.String(); !strings.Contains(text, "traces could not be sent") || strings.Contains(text, "canary") {
		t.Errorf("the log is %s", text)
	}
}
