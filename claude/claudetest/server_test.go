package claudetest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"memento/claude/claudetest"
)

// post sends a body and returns the status and the answer.
func post(t *testing.T, url string, body []byte, header http.Header) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	for name, v := range header {
		request.Header[name] = v
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Header.Get("Request-Id") == "" {
		t.Error("the answer has no request-id")
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return response.StatusCode, answer
}

func start(t *testing.T, s *claudetest.Scenario, o *claudetest.Options) (*claudetest.Server, string) {
	t.Helper()
	upstream := claudetest.New(s, o)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return upstream, server.URL + "/v1/messages"
}

var hello = claudetest.Script(claudetest.Turn{Say: "Hello, I am here."})

func TestHeaders(t *testing.T) {
	_, url := start(t, hello, &claudetest.Options{Key: "k"})
	for _, tt := range []struct {
		name   string
		header http.Header
		status int
		want   string // in the message
	}{
		{"fine", nil, 200, ""},
		{"bearer", http.Header{"X-Api-Key": nil, "Authorization": {"Bearer k"}}, 200, ""},
		{"no key", http.Header{"X-Api-Key": nil}, 401, "x-api-key header is required"},
		{"wrong key", http.Header{"X-Api-Key": {"other"}}, 401, "invalid x-api-key"},
		{"no version", http.Header{"Anthropic-Version": nil}, 400, "anthropic-version: header is required"},
		{"wrong version", http.Header{"Anthropic-Version": {"2020-01-01"}}, 400, "is not a valid version"},
		{"version twice", http.Header{"Anthropic-Version": {"2023-06-01", "2023-06-01"}}, 400, "is not a valid version"},
		{"betas on two lines", http.Header{"Anthropic-Beta": {"compact-2026-01-12", "context-management-2025-06-27"}}, 200, ""},
		{"beta twice", http.Header{"Anthropic-Beta": {"compact-2026-01-12, compact-2026-01-12"}}, 400, "duplicate value `compact-2026-01-12`"},
		{"beta twice on two lines", http.Header{"Anthropic-Beta": {"compact-2026-01-12", "compact-2026-01-12"}}, 400, "duplicate value"},
		{"unknown beta", http.Header{"Anthropic-Beta": {"none-2020-01-01"}}, 400, "Unexpected value(s) `none-2020-01-01`"},
		{"content type", http.Header{"Content-Type": {"text/plain"}}, 400, "content-type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := post(t, url+"?beta=true", with(nil), tt.header)
			if status != tt.status {
				t.Fatalf("status %d: %v", status, answer)
			}
			if tt.status == 200 {
				return
			}
			inner, _ := answer["error"].(map[string]any)
			message, _ := inner["message"].(string)
			if answer["type"] != "error" || answer["request_id"] == "" || !strings.Contains(message, tt.want) {
				t.Errorf("got %v, want %q", answer, tt.want)
			}
		})
	}
}

func TestEditsWithAndWithoutBeta(t *testing.T) {
	clearing := with(edits(map[string]any{"type": "clear_tool_uses_20250919"}))
	compacting := with(edits(map[string]any{"type": "compact_20260112"}))
	for _, tt := range []struct {
		name   string
		strict bool
		body   []byte
		beta   string
		status int
	}{
		{"clearing", false, clearing, "", 200},
		{"clearing with its beta", false, clearing, "context-management-2025-06-27", 200},
		{"clearing, strict", true, clearing, "", 400},
		{"clearing with its beta, strict", true, clearing, "context-management-2025-06-27", 200},
		{"compaction", false, compacting, "", 400},
		{"compaction with its beta", false, compacting, "compact-2026-01-12", 200},
		{"compaction with the other beta", false, compacting, "context-management-2025-06-27", 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, url := start(t, hello, &claudetest.Options{RequireEditBeta: tt.strict})
			header := http.Header{}
			if tt.beta != "" {
				header.Set("Anthropic-Beta", tt.beta)
			}
			if status, answer := post(t, url, tt.body, header); status != tt.status {
				t.Errorf("status %d: %v", status, answer)
			}
		})
	}
}

func TestContextWindow(t *testing.T) {
	_, url := start(t, hello, &claudetest.Options{ContextWindow: 1000})
	status, answer := post(t, url, with(messages(user(strings.Repeat("word ", 1200)))), nil)
	inner, _ := answer["error"].(map[string]any)
	if message, _ := inner["message"].(string); status != 400 || !strings.HasPrefix(message, "prompt is too long: ") {
		t.Errorf("status %d: %v", status, answer)
	}
}

// stream sends a body and returns the events of the answer. If the connection breaks, it
// returns what came before.
func stream(t *testing.T, url string, body []byte, header http.Header) (events []map[string]any) {
	t.Helper()
	request, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{"Content-Type": {"application/json"}, "X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}
	maps.Copy(request.Header, header)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	name := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if given, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = given
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		if e["type"] != name {
			t.Errorf("the event %s has the type %s", name, e["type"])
		}
		events = append(events, e)
	}
	return events
}

// A stream breaks off before the event that Cut names, and only that one.
func TestCut(t *testing.T) {
	var cutAt atomic.Int64
	cutAt.Store(-1)
	_, url := start(t, hello, &claudetest.Options{ChunkRunes: 5, Cut: func(request, event int) bool { return request > 0 && event == int(cutAt.Load()) }})
	body := with(map[string]any{"stream": true})
	whole := stream(t, url, body, nil)
	if n := len(whole); n < 8 || whole[n-1]["type"] != "message_stop" {
		t.Fatalf("the whole stream has the events %v", whole)
	}
	for i := range whole {
		cutAt.Store(int64(i))
		if got := stream(t, url, body, nil); len(got) != i {
			t.Errorf("a stream that is cut before event %d has %d events", i, len(got))
		}
	}
	cutAt.Store(0)
	if status, _ := post(t, url, with(nil), nil); status != 200 {
		t.Errorf("an answer that does not stream has status %d", status)
	}
}

// The deltas of a stream are what a plain answer has at once.
func TestStream(t *testing.T) {
	call := claudetest.Call{Tool: "memory", Input: map[string]any{"command": "view", "path": "/memories"}}
	scenario := claudetest.Script(claudetest.Turn{Thinking: "Let me see what is there.", Say: "I look at my memory first.", Calls: []claudetest.Call{call, call}})
	_, url := start(t, scenario, &claudetest.Options{ChunkRunes: 5})
	thinking := map[string]any{"type": "enabled", "budget_tokens": 1024}
	_, plain := post(t, url, with(map[string]any{"max_tokens": 2000, "thinking": thinking}), nil)

	var blocks []map[string]any
	var texts []string
	var stop, last string
	for _, raw := range stream(t, url, with(map[string]any{"max_tokens": 2000, "thinking": thinking, "stream": true}), nil) {
		var e struct {
			Type  string
			Index int
			Block map[string]any `json:"content_block"`
			Delta map[string]any
		}
		decode(t, raw, &e)
		last = e.Type
		switch e.Type {
		case "content_block_start":
			if e.Index != len(blocks) {
				t.Errorf("block %d comes at place %d", e.Index, len(blocks))
			}
			blocks, texts = append(blocks, e.Block), append(texts, "")
		case "content_block_delta":
			if signature, ok := e.Delta["signature"]; ok {
				blocks[e.Index]["signature"] = signature
			}
			for _, member := range []string{"text", "thinking", "partial_json"} {
				if s, ok := e.Delta[member].(string); ok {
					texts[e.Index] += s
				}
			}
		case "message_delta":
			stop, _ = e.Delta["stop_reason"].(string)
		}
	}
	for i, b := range blocks {
		switch b["type"] {
		case "text":
			b["text"] = texts[i]
		case "thinking":
			b["thinking"] = texts[i]
		case "tool_use":
			var input any
			if err := json.Unmarshal([]byte(texts[i]), &input); err != nil {
				t.Fatal(err)
			}
			b["input"] = input
		}
	}
	want, _ := json.Marshal(plain["content"])
	if got, _ := json.Marshal(blocks); !bytes.Equal(got, want) || stop != plain["stop_reason"] || last != "message_stop" {
		t.Errorf("stream %s, stop %q, last event %q\nplain  %s", got, stop, last, want)
	}
}
