package server

import (
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"

	"memento/backend/memstore"
	"memento/httpapi"
)

// The memory for requests, for Go's heap, and outside of the heap together fit into the
// available memory, on small machines and on large ones.
func TestMemoryBudget(t *testing.T) {
	const mb = 1 << 20
	for _, tt := range []struct {
		available  int64
		processors int
		budget     int64 // MB
	}{
		{64 * mb, 1, 21}, {128 * mb, 1, 42}, {256 * mb, 2, 96}, {512 * mb, 2, 266}, {1024 * mb, 4, 576}, {64 << 30, 16, 2048},
	} {
		got, heap := memoryBudget(tt.available, tt.processors), goMemory(tt.available, tt.processors)
		if got/mb != tt.budget {
			t.Errorf("%d MB, %d processors: a budget of %d MB; want %d", tt.available/mb, tt.processors, got/mb, tt.budget)
		}
		if heap < got || heap > tt.available*9/10 {
			t.Errorf("%d MB, %d processors: a heap of %d MB for requests of %d MB", tt.available/mb, tt.processors, heap/mb, got/mb)
		}
	}
	old := debug.SetMemoryLimit(300 * mb)
	defer debug.SetMemoryLimit(old)
	if got := availableMemory(); got > 300*mb {
		t.Errorf("%d MB with a limit of 300", got/mb)
	}
	LimitMemory()
	if got := debug.SetMemoryLimit(-1); got != 300*mb {
		t.Errorf("a limit that was set became one of %d MB", got/mb)
	}
}

// The use of resources that requests share is among the metrics.
func TestLoads(t *testing.T) {
	b := memstore.New(nil)
	api, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(b, nil), MemoryBudget: 123 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	m := newMetrics("test")
	m.registry.MustRegister(loads{api})
	answer := httptest.NewRecorder()
	m.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`memento_http_capacity{resource="memory"} 1.28974848e+08`, `memento_http_capacity{resource="requests"} 256`,
		`memento_http_capacity_used{resource="bodies"} 0`, `memento_http_capacity_waiting{resource="streams"} 0`,
		`memento_http_capacity_refused_total{reason="late",resource="scans"} 0`,
	} {
		if !strings.Contains(answer.Body.String(), want+"\n") {
			t.Errorf("metrics lack %q", want)
		}
	}
}
