package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"memento"
	"memento/backend"
	"memento/backend/memstore"
	"memento/test/proctest"
)

// measured is a backend that measures itself.
type measured struct{ memento.Backend }

func (measured) Metrics() []backend.Metric {
	return []backend.Metric{
		{Name: "connections_open", Help: "Connections.", Value: 3},
		{Name: "requests_total", Help: "Requests.", Counter: true, Label: "kind", LabelValue: "put", Value: 7},
		{Name: "requests_total", Help: "Requests.", Counter: true, Label: "kind", LabelValue: "get", Value: 9},
		{Name: "broken", Label: "kind", LabelValue: "\xff", Value: 1},
	}
}

// The backend's own metrics are among the metrics, except those that are not valid.
func TestMeasures(t *testing.T) {
	log := &proctest.Buffer{}
	logger, _ := newLogger(log, Log{Format: "text", Level: "info"})
	m := newMetrics("test")
	m.registry.MustRegister(measures{"memento_backend_", measured{memstore.New(nil)}, logger})
	answer := httptest.NewRecorder()
	m.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := answer.Body.String()
	for _, want := range []string{
		"# TYPE memento_backend_connections_open gauge\nmemento_backend_connections_open 3\n",
		"# TYPE memento_backend_requests_total counter\nmemento_backend_requests_total{kind=\"get\"} 9\nmemento_backend_requests_total{kind=\"put\"} 7\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	if !strings.Contains(log.String(), "cannot be shown") {
		t.Errorf("the log is %s", log.String())
	}
}
