package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/gateway"
)

// BenchmarkAddedLatency compares the time to the first text of a stream through the gateway
// with that through the standard library's reverse proxy, and without either: the same
// scripted upstream, in one run, request by request in turn.
func BenchmarkAddedLatency(b *testing.B) {
	stream := events("message_start", start, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for range 40 {
		stream += events("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"some words of an answer "}}`)
	}
	stream += events("content_block_stop", `{"type":"content_block_stop","index":0}`, "message_delta", endTurn, "message_stop", stop)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for part := range strings.SplitSeq(stream, "\n\n") {
			if part != "" {
				io.WriteString(w, part+"\n\n")
			}
		}
	}))
	defer upstream.Close()
	target, _ := url.Parse(upstream.URL)
	transport := func() *http.Transport {
		return &http.Transport{MaxIdleConns: 1000, MaxIdleConnsPerHost: 1000, DisableCompression: true}
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, Transport: transport(), FlushInterval: -1}
	backend := memstore.New(nil)
	defer backend.Close()
	newGateway := func(store string) http.Handler {
		g, err := gateway.New(gateway.Config{
			Upstream: target, Backend: backend, State: gateway.NewState(backend), Transport: transport(),
			Identify: func(*http.Request) (gateway.Caller, error) {
				return gateway.Caller{Workspace: memento.DefaultWorkspace, Store: store}, nil
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		return g
	}
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[` +
		strings.Repeat(`{"role":"user","content":"`+strings.Repeat("some words ", 40)+`"},{"role":"assistant","content":[{"type":"text","text":"an answer of the model"}]},`, 10) + `{"role":"user","content":"x"}]}`)
	fronts := []struct {
		name    string
		handler http.Handler
	}{{"direct", nil}, {"proxy", proxy}, {"passing", newGateway("")}, {"memory", newGateway("default")}}
	for _, callers := range []int{1, 50, 200} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			at := make([]string, len(fronts))
			for i, f := range fronts {
				at[i] = upstream.URL
				if f.handler != nil {
					server := httptest.NewServer(f.handler)
					defer server.Close()
					at[i] = server.URL
				}
			}
			client := &http.Client{Transport: transport()}
			defer client.CloseIdleConnections()
			times := make([][]time.Duration, len(fronts))
			for i := range times {
				times[i] = make([]time.Duration, b.N)
			}
			var next atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			for range callers {
				group.Go(func() {
					for {
						i := int(next.Add(1)) - 1
						if i >= b.N*len(fronts) {
							return
						}
						// They take turns, so that whatever else the machine does is the same for all.
						front := i % len(fronts)
						times[front][i/len(fronts)] = firstText(b, client, at[front], body)
					}
				})
			}
			group.Wait()
			b.StopTimer()
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			for i, f := range fronts {
				slices.Sort(times[i])
				b.ReportMetric(ms(times[i][len(times[i])/2]), f.name+"-p50-ms")
				b.ReportMetric(ms(times[i][len(times[i])*99/100]), f.name+"-p99-ms")
			}
		})
	}
}

// firstText sends a request, and returns the time to the first text of the stream.
func firstText(b *testing.B, client *http.Client, at string, body []byte) time.Duration {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, at+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return 0
	}
	request.Header.Set("X-Api-Key", upstreamKey)
	begin := time.Now()
	response, err := client.Do(request)
	if err != nil {
		b.Error(err)
		return 0
	}
	defer response.Body.Close()
	var first time.Duration
	buf := make([]byte, 4096)
	var seen []byte
	for {
		n, err := response.Body.Read(buf)
		if first == 0 {
			if seen = append(seen, buf[:n]...); bytes.Contains(seen, []byte("text_delta")) {
				first = time.Since(begin)
			}
		}
		if err != nil {
			return first
		}
	}
}

// BenchmarkStreamMemory reports the memory of a stream that is open, in both directions,
// application and upstream included.
func BenchmarkStreamMemory(b *testing.B) {
	const streams = 200
	release := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, events("message_start", start, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			"content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"words"}}`))
		http.NewResponseController(w).Flush()
		<-release
	}))
	defer upstream.Close()
	target, _ := url.Parse(upstream.URL)
	backend := memstore.New(nil)
	defer backend.Close()
	g, err := gateway.New(gateway.Config{Upstream: target, Backend: backend, State: gateway.NewState(backend),
		Identify: func(*http.Request) (gateway.Caller, error) {
			return gateway.Caller{Workspace: memento.DefaultWorkspace, Store: "default"}, nil
		}})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(g)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	before := held()
	var open []io.Closer
	for range streams {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+"/v1/messages", strings.NewReader(`{"model":"claude-sonnet-4-5","stream":true,"messages":[{"role":"user","content":"x"}]}`))
		if err != nil {
			b.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := response.Body.Read(make([]byte, 1)); err != nil {
			b.Fatal(err)
		}
		open = append(open, response.Body)
	}
	each := float64(held()-before) / streams / 1024
	close(release)
	for _, body := range open {
		body.Close()
	}
	client.CloseIdleConnections()
	for b.Loop() {
	}
	b.ReportMetric(each, "KiB/stream")
}

func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
