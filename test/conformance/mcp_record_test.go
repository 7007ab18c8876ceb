package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"memento/test/mcpsession"
)

// recordings is where the sessions of clients are recorded, with -update-sessions. The tests
// of mcpserver play them again.
const recordings = "../../mcpserver/testdata/sessions"

// recordArgument is the first argument of this program when it records what a client and
// a server say on standard input and output. The file of the log and the server's command
// follow.
const recordArgument = "record-mcp"

// A logged is a line of that log.
type logged struct {
	Client  bool            `json:"client"` // whether the client has sent it
	Message json.RawMessage `json:"message"`
}

// recordStdio runs a command, and logs each line in both directions before it passes it on.
func recordStdio(file string, command ...string) error {
	log, err := os.Create(file)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var mu sync.Mutex
	pass := func(to io.Writer, from io.Reader, client bool) {
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			mu.Lock()
			_ = json.NewEncoder(log).Encode(logged{client, lines.Bytes()})
			mu.Unlock()
			if _, err := fmt.Fprintf(to, "%s\n", lines.Bytes()); err != nil {
				return
			}
		}
	}
	go func() {
		pass(in, os.Stdin, true)
		in.Close()
	}()
	pass(os.Stdout, out, false)
	return cmd.Wait()
}

// A recorder stands between a client and memento.
type recorder struct {
	name string // of the file of the recording
	mcpsession.Session

	log string // of stdio, "" over HTTP

	mu sync.Mutex // of the exchanges over HTTP
}

// stdio returns the command that a client starts instead of memento's.
func (r *recorder) stdio(t *testing.T, command []string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.Transport, r.log = "stdio", filepath.Join(t.TempDir(), "log")
	return slices.Concat([]string{self, recordArgument, r.log}, command)
}

// http returns the URL that a client uses instead of the server's.
func (r *recorder) http(t *testing.T, target string) string {
	t.Helper()
	r.Transport = "http"
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { r.pass(w, req, target) }))
	t.Cleanup(proxy.Close)
	return proxy.URL + "/mcp"
}

// pass sends a request on to the server and its answer back, and records both.
func (r *recorder) pass(w http.ResponseWriter, req *http.Request, target string) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	e := mcpsession.Exchange{Method: req.Method, Send: body, Headers: map[string]string{}}
	for name, values := range req.Header {
		if name == "Accept" || name == "Content-Type" || strings.HasPrefix(name, "Mcp-") {
			e.Headers[name] = values[0]
		}
	}
	if e.Headers[mcpsession.SessionHeader] != "" {
		e.Headers[mcpsession.SessionHeader] = mcpsession.SessionID
	}
	r.mu.Lock()
	at := len(r.Exchanges)
	r.Exchanges = append(r.Exchanges, e)
	r.mu.Unlock()
	note := func(change func(*mcpsession.Exchange)) {
		r.mu.Lock()
		defer r.mu.Unlock()
		change(&r.Exchanges[at])
	}
	out, err := http.NewRequestWithContext(req.Context(), req.Method, target, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	out.Header = req.Header.Clone()
	out.Header.Del("Accept-Encoding")
	answer, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	note(func(e *mcpsession.Exchange) { e.Status, e.Type = answer.StatusCode, kind })
	w.Header().Del("Content-Length")
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w).Flush
	_ = flush() // the client waits for the headers of a stream
	if kind != "text/event-stream" {
		text, _ := io.ReadAll(answer.Body)
		if len(text) > 0 {
			note(func(e *mcpsession.Exchange) { e.Receive = append(e.Receive, text) })
		}
		_, _ = w.Write(text)
		return
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" {
			note(func(e *mcpsession.Exchange) { e.Receive = append(e.Receive, json.RawMessage(data)) })
		}
		if _, err := fmt.Fprintf(w, "%s\n", lines.Bytes()); err != nil {
			return
		}
		if lines.Text() == "" {
			_ = flush()
		}
	}
}

// save writes the recording. The client has ended.
func (r *recorder) save(t *testing.T) {
	t.Helper()
	if r.log != "" {
		r.exchangesOf(t, r.log)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.Exchanges {
		e := &r.Exchanges[i]
		for j, message := range e.Receive {
			normal, err := mcpsession.Normal(message)
			if err != nil {
				t.Fatalf("%s is no message: %v", message, err)
			}
			e.Receive[j] = normal
		}
		e.Sort()
	}
	if err := r.Save(filepath.Join(recordings, r.name+".json")); err != nil {
		t.Fatal(err)
	}
}

func (r *recorder) exchangesOf(t *testing.T, log string) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var l logged
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Client {
			r.Exchanges = append(r.Exchanges, mcpsession.Exchange{Send: l.Message})
			continue
		}
		last := &r.Exchanges[len(r.Exchanges)-1]
		last.Receive = append(last.Receive, l.Message)
	}
}
