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
		attribute.String("memento.outcome", outcome)))
	if outcome == "error" {
		span.SetStatus(codes.Error, "")
	}
	span.End(trace.WithTimestamp(o.Start.Add(o.Took)))
}

// close sends the remaining spans.
func (t *traces) close(ctx context.Context) {
	if t != nil {
		_ = t.provider.Shutdown(ctx) // the exporter has logged the error
	}
}
