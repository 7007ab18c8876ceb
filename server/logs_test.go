package server

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/test/proctest"
)

// Each request is logged in one line. The line contains nothing of the request's path,
// query, body or credential, also if the request was refused.
func TestLog(t *testing.T) {
	c := testConfig()
	c.Log = Log{Format: "json", Level: "debug"}
	r := start(t, c)
	reader := r.addKey(memento.DefaultWorkspace, apikey.RoleRead)
	store := r.newStore()
	r.do("POST", store+"/memories", `{"path":"/canary-path.md","content":"canary-content"}`)
	r.do("GET", store+"/memories/by-path?path=/canary-path.md", "")
	r.ask("GET", store+"/search?query=canary-query", r.key, "", "X-Stainless-Retry-Count", "2")
	r.ask("GET", "/canary-route?canary-query", r.key, "")
	r.ask("GET", "/v1/whoami", "canary-credential", "")
	r.ask("POST", store+"/memories", reader, `{"path":"/canary-path.md"}`)
	r.ask("POST", store+"/memories", r.key, `{"path":"/canary-path.md","content":"canary-again"}`)
	r.ask("POST", store+"/memories", r.key, `{"canary-key":`)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	type line struct {
		Level, Msg, Method, Route, Workspace, Key, Error string
		RequestID                                        string `json:"request_id"`
		Status, Retry                                    int
		Written                                          int64
		Took                                             *float64 `json:"took_ms"`
	}
	var got []line
	for text := range strings.Lines(r.log.String()) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if l.Msg == "request" {
			got = append(got, l)
		}
	}
	want := []struct {
		status       int
		level, route string
	}{
		{200, "INFO", "/v1/memory_stores"},
		{200, "INFO", "/v1/memory_stores/{store}/memories"},
		{200, "INFO", "/v1/memory_stores/{store}/memories/by-path"},
		{200, "INFO", "/v1/memory_stores/{store}/search"},
		{404, "INFO", "none"},
		{401, "WARN", "none"},
		{403, "WARN", "/v1/memory_stores/{store}/memories"},
		{409, "INFO", "/v1/memory_stores/{store}/memories"},
		{400, "INFO", "/v1/memory_stores/{store}/memories"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines for %d requests:\n%s", len(got), len(want), r.log)
	}
	for i, l := range got {
		if w := want[i]; l.Status != w.status || l.Level != w.level || l.Route != w.route || !strings.HasPrefix(l.RequestID, "req_") || l.Took == nil || l.Written == 0 {
			t.Errorf("line %d is %+v; want %+v", i, l, w)
		}
		if (l.Workspace == "default") != (l.Status != 401) || strings.HasPrefix(l.Key, "apikey_") != (l.Status != 401) || (l.Error == "") != (l.Status == 200) {
			t.Errorf("line %d says of who asked, or of the error: %+v", i, l)
		}
	}
	if got[3].Retry != 2 {
		t.Errorf("the retry is %d", got[3].Retry)
	}
	for _, secret := range []string{"canary", r.key, reader, strings.TrimPrefix(store, "/v1/")} {
		if strings.Contains(r.log.String(), secret) {
			t.Errorf("the log has %q:\n%s", secret, r.log)
		}
	}
}

// A refused key can be traced to an address: that of the connection, and behind a proxy
// that the configuration trusts, that of the proxy's client.
func TestLogNamesClient(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		c := testConfig()
		want := "127.0.0.1"
		if trusted {
			want = "198.51.100.7"
			c.Proxy = Proxy{Header: "X-Forwarded-For", Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		}
		r := start(t, c)
		r.ask("GET", "/v1/whoami", "canary-credential", "", "X-Forwarded-For", "203.0.113.9, 198.51.100.7", "User-Agent", "probe/1.0\u202e")
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if log := r.log.String(); !strings.Contains(log, "status=401") || !strings.Contains(log, "remote="+want+" user_agent=probe/1.0\n") || strings.Contains(log, "canary") {
			t.Errorf("trusted %v: %s", trusted, log)
		}
	}
}

// The messages of package http do not flood the log.
func TestErrorLog(t *testing.T) {
	log := &proctest.Buffer{}
	logger, level := newLogger(log, Log{Format: "text", Level: "info"})
	errs := errorLog{logger}
	_, _ = errs.Write([]byte("http: TLS handshake error from 192.0.2.1:9: EOF\n"))
	_, _ = errs.Write([]byte("http: Accept error: too many open files; retrying in 5ms\n"))
	if text := log.String(); strings.Contains(text, "handshake") || !strings.Contains(text, "level=ERROR") || !strings.Contains(text, "Accept error") {
		t.Errorf("logged %s", text)
	}
	level.Set(levelOf("debug"))
	_, _ = errs.Write([]byte("http: TLS handshake error from 192.0.2.1:9: EOF\n"))
	if !strings.Contains(log.String(), "handshake") {
		t.Error("at the level debug, handshakes are not logged")
	}
}
