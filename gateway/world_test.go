package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"memento"
	"memento/backend/memstore"
	"memento/claude/claudetest"
	"memento/gateway"
	"memento/sensitive"
	"memento/test/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m, nil) }

const upstreamKey = "sk-test-canary"

// A world is an upstream, a gateway in front of it, and an application.
type world struct {
	t       *testing.T
	backend memento.Backend
	config  gateway.Config
	url     string
	log     *lockedBuffer

	mu    sync.Mutex
	turns []gateway.Turn
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// newWorld starts a gateway in front of an upstream.
func newWorld(t *testing.T, upstream http.Handler, change ...func(*gateway.Config)) *world {
	t.Helper()
	w := &world{t: t, backend: memstore.New(nil), log: &lockedBuffer{}}
	t.Cleanup(func() { w.backend.Close() })
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	w.config.Upstream, _ = url.Parse(up.URL)
	w.config.Backend = w.backend
	w.config.State = gateway.NewState(w.backend)
	w.config.Stores.Detector = sensitive.Default()
	w.config.UserStores = true
	w.config.Logger = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.config.Identify = func(*http.Request) (gateway.Caller, error) {
		return gateway.Caller{Workspace: memento.DefaultWorkspace, Actor: memento.Actor{Kind: memento.ActorAPIKey, ID: "apikey_1"}, Store: "default"}, nil
	}
	w.config.Observe = func(_ context.Context, turn gateway.Turn) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turns = append(w.turns, turn)
	}
	for _, f := range change {
		f(&w.config)
	}
	w.start()
	return w
}

// start starts another gateway on the same backend and upstream.
func (w *world) start() {
	w.t.Helper()
	transport := &http.Transport{DisableCompression: true}
	w.config.Transport = transport
	g, err := gateway.New(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(g)
	w.t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	w.url = server.URL
}

// client returns the official SDK, which knows nothing of the gateway but its URL.
func (w *world) client(options ...option.RequestOption) anthropic.Client {
	transport := &http.Transport{}
	w.t.Cleanup(transport.CloseIdleConnections)
	all := append([]option.RequestOption{
		option.WithBaseURL(w.url), option.WithAPIKey(upstreamKey), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: transport}),
	}, options...)
	return anthropic.NewClient(all...)
}

// file returns the content of a memory in the store "default", or in another one.
func (w *world) file(path memento.Path, store ...string) string {
	w.t.Helper()
	name := "default"
	if len(store) > 0 {
		name = store[0]
	}
	s := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: name}, nil)
	m, err := s.Get(w.t.Context(), memento.ByPath(path))
	if err != nil {
		return fmt.Sprint("error: ", err)
	}
	return m.Content
}

// versions returns how many versions the store "default" has.
func (w *world) versions() int {
	w.t.Helper()
	s := memento.OpenNamed(w.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
	n := 0
	for _, err := range s.Versions(w.t.Context(), memento.VersionListOptions{}) {
		if err != nil {
			if strings.Contains(err.Error(), "no store") || n == 0 {
				return 0
			}
			w.t.Fatal(err)
		}
		n++
	}
	return n
}

// post sends a body and returns the answer.
func (w *world) post(path, body string, headers ...string) (*http.Response, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Anthropic-Version", "2023-06-01")
	request.Header.Set("X-Api-Key", upstreamKey)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "X-Api-Key" {
			request.Header.Del(headers[i])
		}
		request.Header.Add(headers[i], headers[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return response, string(data) + "\n<<" + err.Error() + ">>"
	}
	return response, string(data)
}

// scripted returns an upstream that plays turns.
func scripted(turns ...claudetest.Turn) *claudetest.Server {
	return claudetest.New(claudetest.Script(turns...), nil)
}

func memoryCall(command string, pairs ...any) claudetest.Call {
	input := map[string]any{"command": command}
	for i := 0; i < len(pairs); i += 2 {
		input[pairs[i].(string)] = pairs[i+1]
	}
	return claudetest.Call{Tool: "memory", Input: input}
}

var mementoAll = memento.StoreListOptions{}

// openAll returns the contents of all memories of a store.
func openAll(t *testing.T, b memento.Backend, info memento.StoreInfo) iter.Seq2[string, error] {
	t.Helper()
	return func(yield func(string, error) bool) {
		s, err := memento.OpenStore(t.Context(), b, info.Workspace, info.ID, nil)
		if err != nil {
			yield("", err)
			return
		}
		n := 0
		for e, err := range s.List(t.Context(), memento.ListOptions{}) {
			n++
			content := ""
			if err == nil {
				var m memento.Memory
				m, err = s.Get(t.Context(), memento.ByPath(e.Path))
				content = m.Content
			}
			if !yield(content, err) {
				return
			}
		}
		if n == 0 {
			yield("", fmt.Errorf("nothing is kept in %s", info.Name))
		}
	}
}
