package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"memento"
	"memento/httpapi"
	"memento/maintenance"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the Prometheus metrics, in a registry of their own. No label has values
// that clients choose, so their number is bounded.
type metrics struct {
	registry *prometheus.Registry

	requests      *prometheus.CounterVec   // method, route, status
	durations     *prometheus.HistogramVec // method, route
	inFlight      prometheus.Gauge
	requestBytes  *prometheus.CounterVec // route
	responseBytes *prometheus.CounterVec // route

	operations    *prometheus.CounterVec   // op, outcome
	operationTime *prometheus.HistogramVec // op, outcome
	conflicts     prometheus.Counter
	writtenBytes  prometheus.Counter
	versions      prometheus.Counter
	maskings      *prometheus.CounterVec // kind
	markings      *prometheus.CounterVec // kind
	toolCalls     *prometheus.CounterVec // command, outcome

	turns       *prometheus.CounterVec // model, outcome
	rounds      *prometheus.CounterVec // model
	memoryCalls *prometheus.CounterVec // model, outcome
	tokens      *prometheus.CounterVec // model, kind
	compactions *prometheus.CounterVec // model
	ownTime     prometheus.Histogram

	maintenances    *prometheus.CounterVec // outcome
	expired         prometheus.Counter
	expiredBytes    prometheus.Counter
	pruned          prometheus.Counter
	prunedBytes     prometheus.Counter
	maintenanceHeld *prometheus.GaugeVec // reason

	deliveries    *prometheus.CounterVec // outcome
	disabledHooks prometheus.Gauge
	tlsReloads    *prometheus.CounterVec // outcome
	tlsExpiry     prometheus.Gauge
}

func newMetrics(version string) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: "memento_" + name, Help: help})
		m.registry.MustRegister(c)
		return c
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "memento_" + name, Help: help}, labels)
		m.registry.MustRegister(c)
		return c
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: "memento_" + name, Help: help})
		m.registry.MustRegister(g)
		return g
	}
	histograms := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "memento_" + name, Help: help,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, labels)
		m.registry.MustRegister(h)
		return h
	}

	m.requests = counters("http_requests_total", "Answered requests to the API.", "method", "route", "status")
	m.durations = histograms("http_request_duration_seconds", "Duration of requests, streams included.", "method", "route")
	m.inFlight = gauge("http_requests_in_flight", "Requests to the API in progress.")
	m.requestBytes = counters("http_request_bytes_total", "Size of request bodies in bytes.", "route")
	m.responseBytes = counters("http_response_bytes_total", "Size of response bodies in bytes.", "route")

	m.operations = counters("store_operations_total", "Calls to the backend.", "op", "outcome")
	m.operationTime = histograms("store_operation_duration_seconds", "Duration of calls to the backend.", "op", "outcome")
	m.conflicts = counter("store_conflicts_total", "Writes that conflicted with another write; most were retried.")
	m.writtenBytes = counter("store_written_bytes_total", "Bytes of content in new versions.")
	m.versions = counter("store_versions_total", "Versions made.")
	m.maskings = counters("maskings_total", "Secrets and personal data that were masked before a write.", "kind")
	m.markings = counters("markings_total", "Texts that were written as they are, and may be instructions to a model.", "kind")

	m.toolCalls = counters("tool_calls_total", "Calls of the memory tool, over the API and MCP, and of the search and history tools of MCP: ok, refused with an answer for the agent, or failed for another outcome of the storage.", "command", "outcome")

	m.turns = counters("gateway_turns_total", "Requests to the gateway that had the memory tool or emulated context management, by outcome.", "model", "outcome")
	m.rounds = counters("gateway_rounds_total", "Requests of the gateway to the upstream for these requests.", "model")
	m.memoryCalls = counters("gateway_memory_calls_total", "Calls of the memory tool in the gateway: ok, refused with an answer for the model, or failed in the storage.", "model", "outcome")
	m.tokens = counters("gateway_tokens_total", "Tokens of these requests: input and output as the upstream counts them, and cleared by context edits.", "model", "kind")
	m.compactions = counters("gateway_compactions_total", "Summaries that the gateway has made of conversations.", "model")
	m.ownTime = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "memento_gateway_own_seconds", Help: "Time of requests that had the memory tool, without waiting for the upstream.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5},
	})
	m.registry.MustRegister(m.ownTime)

	m.maintenances = counters("maintenance_runs_total", "Maintenance runs of stores, by outcome.", "outcome")
	m.expired = counter("expired_memories_total", "Memories that expired.")
	m.expiredBytes = counter("expired_bytes_total", "Bytes of memories that expired.")
	m.pruned = counter("pruned_versions_total", "Versions removed by retention.")
	m.prunedBytes = counter("pruned_bytes_total", "Bytes of versions removed by retention.")

	m.maintenanceHeld = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "memento_maintenance_held", Help: "Whether maintenance is held because the clock is not trusted; for more_than_usual, the number of stores in which it is held.",
	}, []string{"reason"})
	m.registry.MustRegister(m.maintenanceHeld)
	for _, r := range append(slices.Clone(clockReasons), heldShare) {
		m.maintenanceHeld.WithLabelValues(string(r)).Set(0)
	}

	m.deliveries = counters("webhook_deliveries_total", "Webhook messages, by outcome.", "outcome")
	m.disabledHooks = gauge("webhooks_disabled", "Webhooks that are disabled until the configuration is reloaded.")
	m.tlsReloads = counters("tls_reloads_total", "Certificate reloads, by outcome.", "outcome")
	m.tlsExpiry = gauge("tls_certificate_expiry_timestamp_seconds", "Expiry time of the certificate; 0 without TLS.")

	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "memento_build_info", Help: "Always 1; the labels are the version of memento."}, []string{"version", "goversion"})
	info.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler returns the handler that serves the metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 8, Timeout: 10 * time.Second})
}

// requested counts an answered request.
func (m *metrics) requested(r httpapi.Request) {
	method, route := knownMethod(r.Method), routeOf(r.Route)
	m.requests.WithLabelValues(method, route, strconv.Itoa(r.Status)).Inc()
	m.durations.WithLabelValues(method, route).Observe(r.Took.Seconds())
	m.requestBytes.WithLabelValues(route).Add(float64(r.Read))
	m.responseBytes.WithLabelValues(route).Add(float64(r.Written))
}

// knownMethod returns an HTTP method, or "other" for an unknown one: clients may send
// any word.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// observed counts a store's call of the backend.
func (m *metrics) observed(_ context.Context, o memento.Observation) {
	result := outcomeOf(o.Err)
	m.operations.WithLabelValues(o.Op, result).Inc()
	m.operationTime.WithLabelValues(o.Op, result).Observe(o.Took.Seconds())
	if result == "conflict" {
		m.conflicts.Inc()
	}
	if o.Err != nil {
		return
	}
	m.versions.Add(float64(len(o.Receipt.Versions)))
	for _, v := range o.Receipt.Versions {
		m.writtenBytes.Add(float64(v.Size))
	}
	// The kinds are few: the detector's rules define them.
	for _, found := range o.Receipt.Masked {
		m.maskings.WithLabelValues(found.Kind).Inc()
	}
	for _, found := range o.Receipt.Marked {
		m.markings.WithLabelValues(found.Kind).Inc()
	}
}

// toolCalled counts a call of the memory tool, or of another tool of the MCP endpoint. Its
// outcome is "ok", "refused" if the agent has to do something else, or that of the storage
// that failed.
func (m *metrics) toolCalled(command string, refused bool, err error) {
	result := "ok"
	switch {
	case err != nil:
		result = outcomeOf(err)
	case refused:
		result = "refused"
	}
	m.toolCalls.WithLabelValues(cmp.Or(command, "malformed"), result).Inc()
}

// outcomeOf returns the outcome of a backend call as one word. Only "error" and
// "unavailable" are failures of the storage.
func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}
	for _, o := range []struct {
		err  error
		word string
	}{
		{memento.ErrNotExist, "not_exist"}, {memento.ErrNoStore, "not_exist"},
		{memento.ErrExist, "exist"},
		{memento.ErrConflict, "conflict"},
		{memento.ErrTooLarge, "limit"},
		{memento.ErrSensitive, "sensitive"}, {memento.ErrNoDetector, "sensitive"},
		{memento.ErrProtected, "protected"},
		{memento.ErrIsDir, "refused"}, {memento.ErrNotDir, "refused"}, {memento.ErrInvalidPath, "refused"},
		{memento.ErrInvalid, "refused"}, {memento.ErrArchived, "refused"}, {memento.ErrHead, "refused"},
		{memento.ErrNoMatch, "refused"}, {memento.ErrManyMatches, "refused"}, {memento.ErrOutOfRange, "refused"},
		{memento.ErrForeign, "refused"}, {memento.ErrUnsupported, "refused"},
		{memento.ErrUnavailable, "unavailable"},
		{context.Canceled, "canceled"}, {context.DeadlineExceeded, "canceled"},
	} {
		if errors.Is(err, o.err) {
			return o.word
		}
	}
	return "error"
}

// maintained counts the result of maintaining one store.
func (m *metrics) maintained(u maintenance.Result, err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.maintenances.WithLabelValues(result).Inc()
	m.expired.Add(float64(len(u.Expired)))
	for _, x := range u.Expired {
		m.expiredBytes.Add(float64(x.Memory.Size))
	}
	m.pruned.Add(float64(u.Pruned.Versions))
	m.prunedBytes.Add(float64(u.Pruned.Bytes))
}
