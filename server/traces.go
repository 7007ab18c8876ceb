package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"memento"
	"memento/httpapi"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// traces records spans of requests and of their calls to the backend, and sends them by
// OTLP/HTTP. Spans contain neither paths nor contents of memories. A nil *traces
// records nothing.
type traces struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	parents  propagation.TraceContext // W3C
}

// newTraces returns nil if neither the configuration nor OpenTelemetry's environment
// variables name a receiver. Those variables also set headers and sampling.
func newTraces(ctx context.Context, t Traces, version string, logger *slog.Logger) (*traces, error) {
	var opts []otlptracehttp.Option
	switch {
	case t.Endpoint != "":
		u, err := url.Parse(t.Endpoint)
		if err != nil {
			return nil, errors.New("traces.endpoint: must be a URL")
		}
		if u.Path == "" || u.Path == "/" {
			u.Path = "/v1/traces" // as for the variable that names a receiver of all signals
		}
		opts = append(opts, otlptracehttp.WithEndpointURL(u.String()))
	case os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "":
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, opts...)
	if err != nil {
		return nil, errors.New("traces: the settings of the exporter are not valid")
	}
	// OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take precedence.
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "memento"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, errors.New("traces: OTEL_RESOURCE_ATTRIBUTES is not of the form key=value,…")
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&quietExporter{SpanExporter: exporter, logger: logger}),
		sdktrace.WithResource(about))
	return &traces{provider: provider, tracer: provider.Tracer("memento/server")}, nil
}

// quietExporter logs export errors at most once a minute. Without it, OpenTelemetry
// would write them to standard error.
type quietExporter struct {
	sdktrace.SpanExporter
	logger *slog.Logger
	noted  atomic.Int64 // Unix seconds
}

func (e *quietExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if now, last := time.Now().Unix(), e.noted.Load(); err != nil && now-last >= 60 && e.noted.CompareAndSwap(last, now) {
		e.logger.Warn("traces could not be sent", "spans", len(spans))
	}
	return nil
}

// around starts a span for each request to next. The method requested sets the name and
// the attributes when the request is answered.
func (t *traces) around(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := t.parents.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, span := t.tracer.Start(ctx, knownMethod(r.Method), trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// requested completes the span of a request.
func (t *traces) requested(ctx context.Context, r httpapi.Request) {
	if t == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	method := knownMethod(r.Method)
	if r.Route != "" {
		span.SetName(method + " " + r.Route)
	}
	span.SetAttributes(
		attribute.String("http.request.method", method),
		attribute.String("http.route", r.Route),
		attribute.Int("http.response.status_code", r.Status),
		attribute.String("memento.request_id", r.ID),
		attribute.String("memento.workspace", string(r.Principal.Workspace)),
	)
	if r.ErrorType != "" {
		span.SetAttributes(attribute.String("error.type", r.ErrorType))
	}
	if r.Status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, "")
	}
}

// observed records the span of a call to the backend that has ended.
func (t *traces) observed(ctx context.Context, o memento.Observation) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return
	}
	outcome := outcomeOf(o.Err)
	_, span := t.tracer.Start(ctx, "memento "+o.Op, trace.WithTimestamp(o.Start), trace.WithAttributes(
		attribute.String("memento.op", o.Op),
		attribute.String("memento.outcome", outcome),
		attribute.String(genAIStore, string(o.Store))))
	span.SetAttributes(memoryOperation(o)...)
	if o.Err != nil {
		span.SetAttributes(attribute.String("error.type", outcome))
	}
	if outcome == "error" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(o.Start.Add(o.Took)))
}

// The attributes of operations on memory in OpenTelemetry's semantic conventions for
// generative AI, whose status is "development". The text of queries, which is opt-in there,
// is never recorded.
const (
	genAIOperation = "gen_ai.operation.name"
	genAIStore     = "gen_ai.memory.store.id"
	genAIRecord    = "gen_ai.memory.record.id"
)

// memoryOperation returns the operation of a call, and the memory if it is about one. There
// are none for reads other than searches, which the conventions do not name.
func memoryOperation(o memento.Observation) (about []attribute.KeyValue) {
	operation := ""
	switch {
	case o.Op == "search":
		operation = "search_memory"
	case o.Op == "import", o.Op == "apply" && o.Err != nil: // what it would have done is not known
		operation = "upsert_memory"
	case o.Op == "apply":
		for i, v := range o.Receipt.Versions {
			if one := operationOf(v); i == 0 {
				operation = one
			} else if one != operation {
				operation = "upsert_memory"
			}
		}
	}
	if operation != "" {
		about = append(about, attribute.String(genAIOperation, operation))
	}
	if len(o.Receipt.Versions) == 1 {
		about = append(about, attribute.String(genAIRecord, string(o.Receipt.Versions[0].Memory)))
	}
	return about
}

// operationOf returns the name of what a version did to its memory.
func operationOf(v memento.Version) string {
	switch v.Operation {
	case memento.Created:
		return "create_memory"
	case memento.Deleted:
		return "delete_memory"
	default:
		return "update_memory"
	}
}

// storeChanged adds the creation or deletion of a store to the span of its request.
func (t *traces) storeChanged(ctx context.Context, e httpapi.StoreEvent) {
	if t == nil {
		return
	}
	about := []attribute.KeyValue{attribute.String(genAIStore, string(e.Store))}
	switch e.Type {
	case "memory_store.created":
		about = append(about, attribute.String(genAIOperation, "create_memory_store"))
	case "memory_store.deleted":
		about = append(about, attribute.String(genAIOperation, "delete_memory_store"))
	}
	trace.SpanFromContext(ctx).SetAttributes(about...)
}

// close sends the remaining spans.
func (t *traces) close(ctx context.Context) {
	if t != nil {
		_ = t.provider.Shutdown(ctx) // the exporter has logged the error
	}
}
