package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"memento"
	"memento/httpapi"
	"memento/test/proctest"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// Requests are counted by what they did, with labels that callers cannot choose.
func TestMetrics(t *testing.T) {
	r := start(t, testConfig())
	store := r.newStore()
	r.do("POST", store+"/memories", `{"path":"/a.md","content":"password: hunter2-hunter2-xyz\nAKIAQ7Z4TJ2NXW5RSVBD\n"}`)
	if a := r.ask("POST", store+"/memories", r.key, `{"path":"/a.md","content":"again"}`); a.StatusCode != http.StatusConflict {
		t.Errorf("a path that is taken: %d", a.StatusCode)
	}
	r.ask("GET", store+"/memories/mem_none", r.key, "")
	r.ask("GET", "/v1/nothing/canary", r.key, "")
	r.ask("CANARY", "/v1/whoami", r.key, "")
	r.ask("GET", "/v1/whoami", "", "")

	var text string
	want := []string{
		`memento_http_requests_total{method="POST",route="/v1/memory_stores",status="200"} 1`,
		`memento_http_requests_total{method="POST",route="/v1/memory_stores/{store}/memories",status="200"} 1`,
		`memento_http_requests_total{method="POST",route="/v1/memory_stores/{store}/memories",status="409"} 1`,
		`memento_http_requests_total{method="GET",route="none",status="404"} 1`,
		`memento_http_request_duration_seconds_count{method="POST",route="/v1/memory_stores"} 1`,
		`memento_store_operations_total{op="apply",outcome="exist"} 1`,
		`memento_store_operations_total{op="apply",outcome="ok"} 1`,
		`memento_store_operation_duration_seconds_count{op="apply",outcome="ok"} 1`,
		`memento_store_versions_total 1`,
		`memento_http_requests_in_flight 0`,
		`memento_build_info{goversion="go`,
		`go_goroutines `,
		`process_start_time_seconds `,
	}
	proctest.Until(t, "everything is counted", func() bool { // a request is counted after it is answered
		text = r.scrape()
		for _, w := range want {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
	for name, positive := range map[string]string{
		"bytes of requests": `memento_http_request_bytes_total\{route="/v1/memory_stores/\{store\}/memories"\} [1-9]`,
		"bytes of answers":  `memento_http_response_bytes_total\{route="/v1/memory_stores/\{store\}/memories"\} [1-9]`,
		"bytes written":     `memento_store_written_bytes_total [1-9]`,
		"maskings":          `memento_maskings_total\{kind="[a-z-]+"\} [1-9]`,
	} {
		if !regexp.MustCompile(positive).MatchString(text) {
			t.Errorf("%s are not counted", name)
		}
	}
	for _, chosen := range []string{"canary", "CANARY", strings.TrimPrefix(store, "/v1/memory_stores/"), "a.md", "mem_none", r.key} {
		if strings.Contains(text, chosen) {
			t.Errorf("a label has what a caller chose: %s", chosen)
		}
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "memento_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// Every error of the root package has an outcome of its own. Only other errors count as
// failures of the storage.
func TestOutcomes(t *testing.T) {
	for err, want := range map[error]string{
		nil: "ok", memento.ErrNotExist: "not_exist", memento.ErrNoStore: "not_exist", memento.ErrExist: "exist",
		memento.ErrConflict: "conflict", memento.ErrTooLarge: "limit", memento.ErrSensitive: "sensitive", memento.ErrNoDetector: "sensitive",
		memento.ErrProtected: "protected", memento.ErrArchived: "refused", memento.ErrIsDir: "refused", memento.ErrNotDir: "refused",
		memento.ErrInvalid: "refused", memento.ErrInvalidPath: "refused", memento.ErrHead: "refused", memento.ErrForeign: "refused",
		memento.ErrUnsupported: "refused", memento.ErrNoMatch: "refused", memento.ErrManyMatches: "refused", memento.ErrOutOfRange: "refused",
		context.Canceled: "canceled", context.DeadlineExceeded: "canceled",
		memento.ErrNoSpace: "error", memento.ErrReadOnly: "error", memento.ErrFormat: "error", memento.ErrClosed: "error", errors.New("disk"): "error",
	} {
		if err != nil {
			err = &memento.Error{Op: "apply", Path: "/a.md", Err: fmt.Errorf("wrapped: %w", err)}
		}
		if got := outcomeOf(err); got != want {
			t.Errorf("%v: %s; want %s", err, got, want)
		}
	}
	m := newMetrics("test")
	m.observed(t.Context(), memento.Observation{Op: "apply", Err: memento.ErrConflict})
	m.requested(httpapi.Request{Method: "BREW", Status: 418})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			found[f.GetName()] = metric.String()
		}
	}
	if !strings.Contains(found["memento_store_conflicts_total"], "value:1") || !strings.Contains(found["memento_http_requests_total"], `value:"other"`) {
		t.Errorf("counted %s and %s", found["memento_store_conflicts_total"], found["memento_http_requests_total"])
	}
}
