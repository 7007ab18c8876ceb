package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/gateway"
)

// Two rounds become one message: of the first round it has all that does not say how the
// message ended, of the last what does, and blocks, numbers and unknown members keep their
// bytes. What the upstream gets back does, too.
func TestWholeOfTwoRounds(t *testing.T) {
	thinking := `{"type":"thinking","thinking":"","signature":"c2ln\u002b=="},{"type":"redacted_thinking","data":"AAA\u002b="}`
	search := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q": 1.0}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"rank":1e2}]}`
	call := `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"path":"/memories", "command":"view"},"caller":{"type":"direct"}}`
	up := &tape{answers: []string{
		`{"id":"msg_1","type":"message","model":"m","future":1.50,"content":[` + thinking + `,` + search + `,` + call + `,{"type":"block_of_tomorrow","x":[1 , 2]}],"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c1"},"usage":{"input_tokens":5,"cache_creation_input_tokens":7,"cache_read_input_tokens":null,"output_tokens":1,"server_tool_use":{"web_search_requests":1},"service_tier":"standard"}}`,
		`{"id":"msg_2","type":"message","model":"m","content":[{"type":"text","text":"\u00e4 \/","citations":[{"a": 1}]}],"stop_reason":"stop_sequence","stop_sequence":"END","container":{"id":"c2"},"usage":{"input_tokens":50,"cache_creation_input_tokens":70,"cache_read_input_tokens":110,"output_tokens":2,"server_tool_use":{"web_search_requests":2},"service_tier":null}}`,
	}}
	w := newWorld(t, up)
	_, got := w.post("/v1/messages", asksSave)
	want := `{"id":"msg_1","type":"message","model":"m","future":1.50,"content":[` + thinking + `,` + search + `,{"type":"block_of_tomorrow","x":[1 , 2]},{"type":"text","text":"\u00e4 \/","citations":[{"a": 1}]}],"stop_reason":"stop_sequence","stop_sequence":"END","container":{"id":"c2"},"usage":{"input_tokens":55,"cache_creation_input_tokens":77,"cache_read_input_tokens":110,"output_tokens":3,"server_tool_use":{"web_search_requests":3},"service_tier":"standard"}}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := `{"role":"assistant","content":[` + thinking + `,` + search + `,` + call + `,{"type":"block_of_tomorrow","x":[1 , 2]}]},{"role":"user"`; !strings.Contains(up.bodies[1], want) {
		t.Errorf("the second round was\n%s\nwithout\n%s", up.bodies[1], want)
	}
}

// Blocks of server tools keep their order and get indices without gaps around a call that
// the application does not see, and redacted thinking comes back to the model as it was.
func TestStreamOfServerTools(t *testing.T) {
	block := func(index int, text string) []string {
		return []string{"content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, text),
			"content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)}
	}
	delta := func(index int, text string) []string {
		return []string{"content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, text)}
	}
	const (
		redacted = `{"type":"redacted_thinking","data":"AAA\u002b="}`
		call     = `{"type":"tool_use","id":"toolu_1","name":"memory","input":{}}`
		search   = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
		query    = `{"type":"input_json_delta","partial_json":"{\"q\": 1.0}"}`
		result   = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"rank":1e2}]}`
	)
	join := func(parts ...[]string) (all []string) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	input := func(index int) []string {
		return delta(index, `{"type":"input_json_delta","partial_json":"{\"command\":\"view\",\"path\":\"/memories\"}"}`)
	}
	searching := func(index int) []string {
		b := block(index, search)
		return join(b[:2], delta(index, query), b[2:])
	}
	calling := block(1, call)
	up := &tape{answers: []string{
		events(join([]string{"message_start", start}, block(0, redacted), calling[:2], input(1), calling[2:], searching(2), block(3, result), []string{"message_delta", calls, "message_stop", stop})...),
		events(join([]string{"message_start", start2}, searching(0), block(1, result), []string{"message_delta", endTurn, "message_stop", stop})...),
	}}
	w := newWorld(t, up)
	_, got := w.post("/v1/messages", request)
	want := events(join([]string{"message_start", start}, block(0, redacted), searching(1), block(2, result), searching(3), block(4, result))...)
	if !strings.HasPrefix(got, want+"event: message_delta\n") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := `{"role":"assistant","content":[` + redacted + `,{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}},` +
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"q": 1.0}},` + result + `]}`; !strings.Contains(up.bodies[1], want) {
		t.Errorf("the second round was\n%s\nwithout\n%s", up.bodies[1], want)
	}
}

// Every request begins with the bytes of the one before: system prompt, tools and messages,
// hidden rounds included. So whatever the upstream has cached is found again.
func TestPromptPrefixIsKept(t *testing.T) {
	for _, emulated := range []bool{false, true} {
		for _, streaming := range []bool{false, true} {
			up := scripted(shopping()...)
			w := newWorld(t, up, emulating(gateway.Emulation{Memory: emulated}))
			p := weatherParams()
			p.System = []anthropic.TextBlockParam{{Text: "Be brief."}}
			if _, err := converse(t.Context(), w.client(), &p, streaming); err != nil {
				t.Fatal(err)
			}
			p.Messages = append(p.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock("And now?")))
			if _, err := converse(t.Context(), w.client(), &p, streaming); err != nil {
				t.Fatal(err)
			}
			type prompt struct{ System, Tools, Messages json.RawMessage }
			var before prompt
			requests := up.Requests()
			for i, r := range requests {
				var now prompt
				if err := json.Unmarshal(r.Body, &now); err != nil {
					t.Fatal(err)
				}
				prefix := strings.TrimSuffix(string(before.Messages), "]")
				if i > 0 && (string(now.System) != string(before.System) || string(now.Tools) != string(before.Tools) || !strings.HasPrefix(string(now.Messages), prefix+",")) {
					t.Errorf("emulated=%v, streaming=%v: request %d does not begin as the one before:\n%s\nand\n%s", emulated, streaming, i, now.Messages, prefix)
				}
				before = now
			}
			if len(requests) != 5 {
				t.Errorf("emulated=%v, streaming=%v: %d requests", emulated, streaming, len(requests))
			}
		}
	}
}
