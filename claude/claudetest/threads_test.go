package claudetest_test

import (
	"net/http"
	"testing"

	"memento/claude/claudetest"
)

// On a thread, the server keeps what was said, and the client sends what is new.
func TestThread(t *testing.T) {
	threads := http.Header{"Anthropic-Beta": {"message-threads-2026-08-12"}}
	scenario := claudetest.Script(
		claudetest.Turn{Calls: []claudetest.Call{{Tool: "memory", Input: map[string]any{"command": "view", "path": "/memories"}}}},
		claudetest.Turn{Say: `You said {{find "number ([0-9]+)"}}.`},
		claudetest.Turn{User: "And before?", Say: `Before, {{find "number ([0-9]+)"}}.`},
	)
	upstream, url := start(t, scenario, nil)
	send := func(m map[string]any) (status int, answer map[string]any) {
		t.Helper()
		return post(t, url, with(m), threads)
	}
	// next returns a request that goes on after an answer.
	next := func(id any, m map[string]any) map[string]any {
		request := map[string]any{"tools": nil, "thread": map[string]any{"type": "continue", "previous_message_id": id}}
		for name, v := range m {
			request[name] = v
		}
		return request
	}
	code := func(answer map[string]any) any {
		inner, _ := answer["error"].(map[string]any)
		details, _ := inner["details"].(map[string]any)
		return details["error_code"]
	}

	if status, answer := post(t, url, with(map[string]any{"thread": map[string]any{"type": "create"}}), nil); status != 400 {
		t.Errorf("without the beta: status %d: %v", status, answer)
	}
	status, first := send(map[string]any{"thread": map[string]any{"type": "create"}, "messages": []any{user("My number 7421.")}})
	if status != 200 {
		t.Fatal(first)
	}
	call := first["content"].([]any)[0].(map[string]any)["id"].(string)

	// What is refused leaves the thread as it was.
	for _, tt := range []struct {
		name    string
		request map[string]any
		status  int
		code    any
	}{
		{"an unknown thread", next("msg_none", messages(user(blocks(result(call))))), 404, "thread_not_found"},
		{"other tools", next(first["id"], map[string]any{"tools": []any{map[string]any{"type": "memory_20250818", "name": "memory"}}, "messages": []any{user(blocks(result(call)))}}), 400, "thread_fingerprint_mismatch"},
		{"another system prompt", next(first["id"], map[string]any{"system": "Be brief.", "messages": []any{user(blocks(result(call)))}}), 400, "thread_fingerprint_mismatch"},
		{"a call without its result", next(first["id"], messages(user("Never mind."))), 400, nil},
	} {
		if status, answer := send(tt.request); status != tt.status || code(answer) != tt.code {
			t.Errorf("%s: status %d: %v", tt.name, status, answer)
		}
	}

	status, second := send(next(first["id"], messages(user(blocks(result(call))))))
	if status != 200 || second["content"].([]any)[0].(map[string]any)["text"] != "You said 7421." {
		t.Fatalf("status %d: %v", status, second)
	}
	if status, answer := send(next(first["id"], messages(user(blocks(result(call)))))); status != 400 || code(answer) != "thread_already_continued" {
		t.Errorf("continued twice: status %d: %v", status, answer)
	}
	status, third := send(next(second["id"], messages(user("And before?"))))
	if status != 200 || third["content"].([]any)[0].(map[string]any)["text"] != "Before, 7421." {
		t.Errorf("status %d: %v", status, third)
	}
	// The prompt is the whole conversation, however little is sent.
	all := upstream.Requests()
	if before, last := all[1], all[len(all)-1]; last.InputTokens <= before.InputTokens {
		t.Errorf("the last prompt has %d tokens, the first %d", last.InputTokens, before.InputTokens)
	}
}
