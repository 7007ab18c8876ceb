package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/claude"
)

// ErrBroken is returned if the connection to the API breaks off again and again.
var ErrBroken = errors.New("the connection to Claude's API broke off")

// An APIError is an error that Claude's API has answered with.
type APIError struct {
	Status  int    // of HTTP; 200 if it came within a stream
	Type    string // such as "authentication_error"
	Message string
}

func (e *APIError) Error() string {
	return fmt.Sprintf("Claude's API refused the request (%s): %s", e.Type, e.Message)
}

// ParseThinking parses how Claude is to think: "" as the model does by default, "off",
// "adaptive", or the budget of tokens as a number.
func ParseThinking(s string) (config anthropic.BetaThinkingConfigParamUnion, budget int64, err error) {
	switch s {
	case "":
	case "off":
		config.OfDisabled = &anthropic.BetaThinkingConfigDisabledParam{}
	case "adaptive":
		config.OfAdaptive = &anthropic.BetaThinkingConfigAdaptiveParam{}
	default:
		budget, err = strconv.ParseInt(s, 10, 64)
		if err != nil || budget < 1024 || budget > 1<<20 {
			return config, 0, fmt.Errorf("thinking is %q; it must be off, adaptive, or a number of tokens from 1024 on", s)
		}
		config.OfEnabled = &anthropic.BetaThinkingConfigEnabledParam{BudgetTokens: budget}
	}
	return config, budget, nil
}

// persona is what Claude is told before the user's own words.
const persona = "You are talking with a user in a terminal, which shows plain text."

// params returns the parameters of a request. Those of one session differ in their
// messages alone: a prompt cache holds, and thinking stays valid, only after the same
// tools and system prompt.
func (c *Conversation) params() anthropic.BetaMessageNewParams {
	s := c.Session
	thinking, budget, _ := ParseThinking(s.Thinking) // checked by New
	p := anthropic.BetaMessageNewParams{
		Model:     anthropic.Model(s.Model),
		MaxTokens: c.MaxTokens + budget,
		System:    []anthropic.BetaTextBlockParam{{Text: persona}},
		Messages:  s.Messages,
		Thinking:  thinking,
	}
	if s.System != "" {
		p.System = append(p.System, anthropic.BetaTextBlockParam{Text: s.System})
	}
	guidance := []string{claude.Tidy, claude.Facts}
	if s.Topic != "" {
		guidance[1] = claude.Topic(s.Topic)
	}
	p = claude.Prepare(p, &claude.Options{Edits: []claude.Edit{claude.ClearToolUses(), claude.Compact()}, Guidance: guidance})
	p.System[len(p.System)-1].CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
	return p
}

// attempts is how often a message is asked for whose stream breaks off. What fails before
// a stream begins is tried again by the SDK.
const attempts = 3

// request asks for the next message and shows it as it arrives. With an error it returns
// what has arrived of the message.
func (c *Conversation) request(ctx context.Context) (message anthropic.BetaMessage, err error) {
	params := c.params()
	for attempt := 1; ; attempt++ {
		var began bool
		message, began, err = c.stream(ctx, params)
		switch {
		case err == nil:
			return message, nil
		case ctx.Err() != nil:
			return message, ctx.Err()
		}
		var refused *anthropic.Error
		if errors.As(err, &refused) {
			err = &APIError{Status: refused.StatusCode, Type: string(refused.Type()), Message: refused.Message}
			began = began && passing[string(refused.Type())]
		} else {
			err = fmt.Errorf("%w: %w", ErrBroken, err)
		}
		if !began || attempt == attempts {
			return message, err
		}
		c.Screen.Again()
		select {
		case <-ctx.Done():
			return message, ctx.Err()
		case <-time.After(c.pause << attempt):
		}
	}
}

// passing are the errors within a stream that may not come again.
var passing = map[string]bool{"overloaded_error": true, "api_error": true, "timeout_error": true, "rate_limit_error": true}

// stream makes one request. began is whether a part of the answer has arrived.
func (c *Conversation) stream(ctx context.Context, params anthropic.BetaMessageNewParams) (message anthropic.BetaMessage, began bool, err error) {
	stream := c.Client.Beta.Messages.NewStreaming(ctx, params)
	defer stream.Close()
	for stream.Next() {
		began = true
		event := stream.Current()
		if err := message.Accumulate(event); err != nil {
			return message, began, err
		}
		switch e := event.AsAny().(type) {
		case anthropic.BetaRawContentBlockStartEvent:
			if e.ContentBlock.Type == "thinking" || e.ContentBlock.Type == "redacted_thinking" {
				c.Screen.Note("thinking")
			}
		case anthropic.BetaRawContentBlockDeltaEvent:
			c.Screen.Text(e.Delta.Text) // "" for all but text
		}
	}
	err = stream.Err()
	if err == nil && message.StopReason == "" {
		err = io.ErrUnexpectedEOF
	}
	return message, began, err
}
