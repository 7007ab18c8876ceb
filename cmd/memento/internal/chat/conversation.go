package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"memento"
	"memento/claude"
)

var (
	// ErrCutOff is returned if an answer reached the maximum number of tokens.
	ErrCutOff = errors.New("the answer was cut off")
	// ErrRefused is returned if Claude declined to answer. What the user wrote is not in
	// the session any more, because it would be declined again.
	ErrRefused = errors.New("the model declined to answer")
)

// maxRounds is how many requests one answer may take.
const maxRounds = 200

// A Screen shows a conversation. Its methods are called by one goroutine at a time.
type Screen interface {
	// Text shows a part of the answer.
	Text(text string)
	// Note shows a line about what happens beside the answer.
	Note(note string)
	// Again says that the message whose text was shown broke off and comes once more.
	Again()
}

// A Conversation continues a session.
type Conversation struct {
	Client    anthropic.Client
	Tool      *memento.Tool
	Session   *Session
	Sessions  Sessions
	Screen    Screen
	MaxTokens int64
	Now       func() time.Time

	pause time.Duration // before a message is asked for again; doubled each time
}

// New returns the conversation that c describes. If its session was interrupted between
// calls of the memory tool and their results, they are answered now.
func New(ctx context.Context, c Conversation) (*Conversation, error) {
	if _, _, err := ParseThinking(c.Session.Thinking); err != nil {
		return nil, err
	}
	c.pause = 500 * time.Millisecond
	c.Session.Messages = claude.Wrap(c.Tool).Resume(ctx, c.Session.Messages)
	return &c, nil
}

// Answer adds what the user wrote to the conversation and returns the text of the answer.
//
// When ctx ends, what has arrived of the answer stays in the session, and Answer returns
// the error of ctx. The other errors are ErrCutOff with the text so far, ErrRefused,
// ErrBroken, and *APIError; after any of them the conversation can go on.
func (c *Conversation) Answer(ctx context.Context, text string) (string, error) {
	before := len(c.Session.Messages)
	if err := c.add(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))); err != nil {
		return "", err
	}
	for range maxRounds {
		message, err := c.request(ctx)
		if err != nil {
			partial := textOf(message)
			return partial, errors.Join(err, c.addText(partial))
		}
		c.noteEdits(message)
		switch message.StopReason {
		case anthropic.BetaStopReasonToolUse:
			if err := c.executeCalls(ctx, message); err != nil {
				return textOf(message), err
			}
		case anthropic.BetaStopReasonPauseTurn, anthropic.BetaStopReasonCompaction:
			if err := c.add(message.ToParam()); err != nil {
				return "", err
			}
		case anthropic.BetaStopReasonRefusal:
			c.Session.Messages = c.Session.Messages[:before]
			return "", errors.Join(ErrRefused, c.save())
		case anthropic.BetaStopReasonMaxTokens, anthropic.BetaStopReasonModelContextWindowExceeded:
			// The input of a call at the end is incomplete. Calls before it were not executed
			// either, so only the text stays.
			partial := textOf(message)
			return partial, errors.Join(fmt.Errorf("%w (%s)", ErrCutOff, message.StopReason), c.addText(partial))
		default:
			if len(message.Content) == 0 {
				return "", nil // the API takes no empty message back
			}
			return textOf(message), c.add(message.ToParam())
		}
	}
	return "", fmt.Errorf("the answer took more than %d requests", maxRounds)
}

// add adds a message to the session and saves it.
func (c *Conversation) add(m anthropic.BetaMessageParam) error {
	c.Session.Messages = append(c.Session.Messages, m)
	return c.save()
}

// addText adds the text of an answer that is not complete.
func (c *Conversation) addText(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil // the API takes no empty text back
	}
	return c.add(anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{
		Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock(text)},
	}})
}

func (c *Conversation) save() error {
	c.Session.Updated = c.Now().UTC()
	return c.Sessions.Save(c.Session)
}

// interrupted answers a call that was not executed.
const interrupted = "Error: The user interrupted the conversation before this call was executed. Nothing was changed."

// callGrace is how long a call that has begun may take after an interruption.
const callGrace = 10 * time.Second

// withGrace returns a context that ends callGrace after ctx. A call that is cut off may
// have an unknown outcome, and most end in a moment.
func withGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	calling, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(callGrace, stop) })
	return calling, stop
}

// executeCalls executes the calls in a message, in their order, and adds the message and
// the results. When ctx ends, it finishes the call under way, and executes no further one.
func (c *Conversation) executeCalls(ctx context.Context, message anthropic.BetaMessage) error {
	// Saved before its calls are executed: whoever resumes the session must know of them.
	if err := c.add(message.ToParam()); err != nil {
		return err
	}
	calling, stop := withGrace(ctx)
	defer stop()
	var results []anthropic.BetaContentBlockParamUnion
	for _, block := range message.Content {
		if block.Type != "tool_use" {
			continue
		}
		result := memento.ResultBlock{ToolUseID: block.ID, Content: interrupted, IsError: true}
		if ctx.Err() == nil {
			input, err := json.Marshal(map[string]any{"type": "tool_use", "id": block.ID, "name": block.Name, "input": block.Input})
			if err != nil {
				input = nil // not JSON: the result says so
			}
			result = c.Tool.RunBlock(calling, input)
			result.ToolUseID = block.ID
			c.Screen.Note(describeCall(block.Name, block.Input, result))
		}
		content := []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: result.Content}}}
		answer := &anthropic.BetaToolResultBlockParam{ToolUseID: result.ToolUseID, Content: content}
		if result.IsError {
			answer.IsError = param.NewOpt(true)
		}
		results = append(results, anthropic.BetaContentBlockParamUnion{OfToolResult: answer})
	}
	return errors.Join(c.add(anthropic.NewBetaUserMessage(results...)), ctx.Err())
}

// noteEdits shows what the API has done to the context.
func (c *Conversation) noteEdits(message anthropic.BetaMessage) {
	for _, edit := range message.ContextManagement.AppliedEdits {
		if edit.ClearedToolUses > 0 {
			c.Screen.Note(fmt.Sprintf("context: the results of %d calls were cleared", edit.ClearedToolUses))
		}
	}
	for _, block := range message.Content {
		if block.Type == "compaction" {
			c.Screen.Note("context: the conversation so far was replaced by a summary")
		}
	}
}

// textOf returns the text blocks of a message.
func textOf(message anthropic.BetaMessage) string {
	var b strings.Builder
	for _, block := range message.Content {
		if block.Type == "text" {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}
