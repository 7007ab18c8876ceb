// Package claudetest is a scripted upstream for tests of agents: an [http.Handler]
// that speaks Anthropic's Messages API, plain and streaming, and plays a scenario
// instead of a model. It needs no key and no network.
//
//	upstream := claudetest.New(claudetest.Support(), nil)
//	server := httptest.NewServer(upstream)
//	client := anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("test"))
//
// # It is strict
//
// Each request is checked against the rules that the real API enforces, and a
// violation is answered with the status and the error body of the real API: fields
// that do not exist, empty content, tool results that are missing, extra, repeated
// or not first in their message, thinking blocks that were changed or whose
// conversation was changed before them, edits in the wrong order, betas sent twice,
// a prompt beyond the context window. A client that passes here has kept the
// protocol; the words of an error are those of the API where they are known.
// [Check] does the same for one request without a server.
//
// # It is scripted
//
// A [Scenario] is a YAML file: conversations of a user and turns of the model. The
// model of a scenario knows nothing but the script and what is in the request: a
// fact that a script speaks of is read from the messages that the model sees, with a
// regular expression. If context editing has removed it, the model does not have it,
// until it has read it again. So a scenario shows whether a memory works, and a test
// that passes with it did not pass by recitation.
//
// The place in the script is found from the request alone: see [Scenario]. Requests
// may be repeated, come in from several clients at once, or go on after a restart.
//
// Tokens are counted by [CountTokens], which is not the tokenizer of any model.
package claudetest
