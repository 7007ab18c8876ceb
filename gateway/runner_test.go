package gateway_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
)

// The SDK's tool runner asks for message threads, which are refused in the way that makes
// it go on without them. It executes its own tool, and never sees the memory tool.
func TestToolRunner(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		w := newWorld(t, scripted(shopping()[:4]...))
		var threads []int // the answers to requests with a thread
		client := w.client(option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			response, err := next(r)
			if err == nil && bytes.Contains(body, []byte(`"thread":`)) {
				threads = append(threads, response.StatusCode)
			}
			return response, err
		}))
		var cities []string
		weather, err := toolrunner.NewBetaToolFromJSONSchema("weather", "Weather of a city",
			func(_ context.Context, in struct {
				City string `json:"city"`
			}) (anthropic.BetaToolResultBlockParamContentUnion, error) {
				cities = append(cities, in.City)
				return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "sunny in " + in.City}}, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		runnerParams := anthropic.BetaToolRunnerParams{BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-sonnet-4-5", MaxTokens: 4000,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Plan"))},
		}}
		var last *anthropic.BetaMessage
		if streaming {
			runner := client.Beta.Messages.NewToolRunnerStreaming([]anthropic.BetaTool{weather}, runnerParams)
			for events, err := range runner.AllStreaming(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for _, err := range events {
					if err != nil {
						t.Fatal(err)
					}
				}
			}
			last = runner.LastMessage()
		} else if last, err = client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{weather}, runnerParams).RunToCompletion(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(threads) != 1 || threads[0] != http.StatusBadRequest {
			t.Errorf("the requests with a thread got %v, want one 400", threads)
		}
		if last.StopReason != "end_turn" || !strings.Contains(last.RawJSON(), "Done.") {
			t.Errorf("the last message is %s", last.RawJSON())
		}
		if strings.Join(cities, " ") != "Rome Oslo" || w.file("/plan.md") != "Rome\nOslo\n" {
			t.Errorf("the tool was called for %q; the memory is %q", cities, w.file("/plan.md"))
		}
	}
	w := newWorld(t, scripted(shopping()...))
	response, body := w.post("/v1/messages", `{"model":"claude-sonnet-4-5","thread":{"type":"create"},"messages":[{"role":"user","content":"x"}]}`)
	if response.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"error_code":"thread_unsupported_request"`) {
		t.Errorf("a thread got %d %s", response.StatusCode, body)
	}
}
