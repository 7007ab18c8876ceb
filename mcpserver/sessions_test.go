package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"memento/mcpserver"
	"memento/test/mcpsession"

	"github.com/google/go-cmp/cmp"
)

var updateSessions = flag.Bool("update", false, "write what the server answers in recorded sessions")

// What official clients have sent once, over both transports and in both eras, is answered
// as it was then. The recordings are made by test/conformance; with -update only the
// server's side is replaced.
func TestRecordedSessions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "sessions", "*.json"))
	if err != nil || len(files) < 22 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			recorded, err := mcpsession.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replaySession(t, recorded)
			if *updateSessions {
				if err := got.Save(file); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(got.Exchanges) != len(recorded.Exchanges) {
				t.Fatalf("%d exchanges; want %d", len(got.Exchanges), len(recorded.Exchanges))
			}
			for i := range got.Exchanges {
				want, have := &recorded.Exchanges[i], &got.Exchanges[i]
				if diff := cmp.Diff(normalTexts(t, want.Receive), normalTexts(t, have.Receive)); diff != "" {
					t.Errorf("%.300s: (-recorded +got)\n%s", want.Send, diff)
				}
				if want.Status != have.Status || want.Type != have.Type {
					t.Errorf("%.300s: answered %d %s; want %d %s", want.Send, have.Status, have.Type, want.Status, want.Type)
				}
			}
		})
	}
}

// normalTexts returns messages as they can be compared.
func normalTexts(t *testing.T, messages []json.RawMessage) (texts []string) {
	t.Helper()
	for _, m := range messages {
		normal, err := mcpsession.Normal(m)
		if err != nil {
			t.Fatalf("%s is no message: %v", m, err)
		}
		texts = append(texts, string(normal))
	}
	return texts
}

// replaySession sends what the client has sent to a server with an empty store, and returns
// the session with this server's answers.
func replaySession(t *testing.T, recorded *mcpsession.Session) *mcpsession.Session {
	t.Helper()
	got := &mcpsession.Session{Client: recorded.Client, Transport: recorded.Transport}
	if recorded.Transport == "stdio" {
		w := newWire(t, newServer(t, newStore("default"), mcpserver.Options{Poll: 5 * time.Millisecond}))
		for _, e := range recorded.Exchanges {
			expected := len(e.Receive)
			w.send(string(compacted(t, e.Send)) + "\n")
			e.Receive = nil
			for range expected {
				if !w.out.Scan() {
					t.Fatalf("%s: the server has ended: %v", e.Send, w.out.Err())
				}
				e.Receive = append(e.Receive, bytes.Clone(w.out.Bytes()))
			}
			got.Exchanges = append(got.Exchanges, normalExchange(t, e))
		}
		return got
	}
	server := serveHTTP(t, newStore("default"))
	var (
		session string // of the versions that have one
		streams []*replayedStream
	)
	for i, e := range recorded.Exchanges {
		if e.IsStream() {
			streams = append(streams, beginStream(t, server.URL, session, i, e))
			got.Exchanges = append(got.Exchanges, mcpsession.Exchange{})
			continue
		}
		answer := sendRecorded(t, t.Context(), server.URL, session, e)
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if id := answer.Header.Get(mcpsession.SessionHeader); id != "" {
			session = id
		}
		if e.Method == http.MethodDelete { // with the session, its streams end
			for _, s := range streams {
				s.finish(t)
			}
		}
		e.Status, e.Type, e.Receive = answer.StatusCode, contentType(answer), nil
		if len(text) > 0 {
			e.Receive = []json.RawMessage{text}
		}
		got.Exchanges = append(got.Exchanges, normalExchange(t, e))
	}
	for _, s := range streams {
		s.finish(t)
		got.Exchanges[s.at] = normalExchange(t, s.exchange)
	}
	return got
}

func compacted(t *testing.T, message json.RawMessage) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, message); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// normalExchange returns an exchange without what differs from run to run.
func normalExchange(t *testing.T, e mcpsession.Exchange) mcpsession.Exchange {
	t.Helper()
	for i, m := range e.Receive {
		normal, err := mcpsession.Normal(m)
		if err != nil {
			t.Fatalf("%s is no message: %v", m, err)
		}
		e.Receive[i] = normal
	}
	e.Sort()
	return e
}

func contentType(answer *http.Response) string {
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return kind
}

// sendRecorded sends the request of an exchange.
func sendRecorded(t *testing.T, ctx context.Context, url, session string, e mcpsession.Exchange) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, e.Method, url, bytes.NewReader(e.Send))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range e.Headers {
		if value == mcpsession.SessionID {
			value = session
		}
		r.Header.Set(name, value)
	}
	answer, err := as("recorded").RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// A replayedStream is a stream that goes on during the exchanges after it.
type replayedStream struct {
	at       int // the number of the exchange
	exchange mcpsession.Exchange
	read     chan struct{} // closed when as many events are read as were recorded, or the stream has ended
	end      func()
	once     sync.Once
}

// beginStream returns when the stream has begun: what happens afterwards is told in it.
func beginStream(t *testing.T, url, session string, at int, e mcpsession.Exchange) *replayedStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	s := &replayedStream{at: at, exchange: e, read: make(chan struct{})}
	answer := sendRecorded(t, ctx, url, session, e)
	s.exchange.Status, s.exchange.Type, s.exchange.Receive = answer.StatusCode, contentType(answer), nil
	begun, ended := make(chan struct{}), make(chan struct{})
	s.end = func() {
		cancel()
		answer.Body.Close()
		<-ended
	}
	expected := len(e.Receive)
	go func() {
		defer close(ended)
		var first, all sync.Once
		defer all.Do(func() { close(s.read) })
		defer first.Do(func() { close(begun) })
		if expected == 0 {
			all.Do(func() { close(s.read) })
		}
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			first.Do(func() { close(begun) }) // the first line is a comment, or acknowledges a subscription
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok || data == "" || len(s.exchange.Receive) == expected {
				continue // after what was recorded, the client had ended, and what still came depends on the time
			}
			s.exchange.Receive = append(s.exchange.Receive, json.RawMessage(data))
			if len(s.exchange.Receive) == expected {
				all.Do(func() { close(s.read) })
			}
		}
	}()
	<-begun
	return s
}

// finish waits for the events that were recorded, and ends the stream.
func (s *replayedStream) finish(t *testing.T) {
	t.Helper()
	s.once.Do(func() {
		<-s.read
		s.end()
	})
}
