package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// RunnerOptions returns the options to create a runner with. They let the tool see the
// order of the calls in a turn, which the runner starts all at once, and the ID of each
// call. Without them, calls are executed one at a time in the order in which they start.
func (m *Memory) RunnerOptions() []option.RequestOption {
	return []option.RequestOption{option.WithMiddleware(m.observe), option.WithTracerProvider(callIDProvider{})}
}

// maxObserved is the size in bytes of a response up to which its calls are put in order.
const maxObserved = 64 << 20

// observe is a middleware that reads along what the API answers.
func (m *Memory) observe(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	resp, err := next(req)
	if err != nil || resp == nil || resp.Body == nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	resp.Body = &observedBody{ReadCloser: resp.Body, header: resp.Header, transcript: &m.transcript}
	return resp, nil
}

// An observedBody adds the message in a response to the transcript when its end was
// read, or when it is closed: before the runner can execute a call of it.
type observedBody struct {
	io.ReadCloser
	header     http.Header
	transcript *transcript

	read  bytes.Buffer
	large bool
	once  sync.Once
}

func (b *observedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.large:
	case b.read.Len()+n > maxObserved:
		b.large, b.read = true, bytes.Buffer{}
	default:
		b.read.Write(p[:n])
	}
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *observedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *observedBody) end() {
	b.once.Do(func() {
		if message := decodeMessage(b.header, b.read.Bytes()); message != nil {
			b.transcript.add(message)
		}
		b.read = bytes.Buffer{}
	})
}

// decodeMessage returns the message in the body of a response, streamed or not, or nil
// if there is none.
func decodeMessage(header http.Header, body []byte) *anthropic.BetaMessage {
	message := &anthropic.BetaMessage{}
	if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind == "application/json" {
		if json.Unmarshal(body, message) != nil {
			return nil
		}
		return message
	}
	decoder := ssestream.NewDecoder(&http.Response{Header: header, Body: io.NopCloser(bytes.NewReader(body))})
	stream := ssestream.NewStream[anthropic.BetaRawMessageStreamEventUnion](decoder, nil)
	for stream.Next() {
		if message.Accumulate(stream.Current()) != nil {
			return nil
		}
	}
	return message
}

// callIDKey is the key of a call's ID in the context in which the runner executes it.
type callIDKey struct{}

// callID returns the ID of the call that is executed in ctx; "" if it is not known.
func callID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}

// A callIDProvider is the tracer provider that is registered with OpenTelemetry, except
// that the context of a span has the ID of the call that it is about. The runner gives
// the ID of a call to its span, and to nothing else.
type callIDProvider struct{ embedded.TracerProvider }

func (callIDProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	return callIDTracer{base: otel.GetTracerProvider().Tracer(name, opts...)}
}

type callIDTracer struct {
	embedded.Tracer
	base trace.Tracer
}

func (t callIDTracer) Start(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(opts...)
	for _, attribute := range config.Attributes() {
		if attribute.Key == "gen_ai.tool.call.id" {
			ctx = context.WithValue(ctx, callIDKey{}, attribute.Value.AsString())
		}
	}
	return t.base.Start(ctx, name, opts...)
}
