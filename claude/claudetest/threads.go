package claudetest

import (
	"maps"
	"net/http"
	"slices"
)

// A held conversation is what a thread keeps after an answer.
type held struct {
	messages  []message
	fields    map[string]any // system and tools, which only the first request has
	continued bool
}

// maxThreads bounds the held conversations.
const maxThreads = 10_000

// joinThread puts the held messages of a thread before those of the request.
func (s *Server) joinThread(r *request) *Error {
	if r.threadType() != "continue" {
		return nil
	}
	for _, name := range []string{"system", "tools"} {
		if _, ok := r.fields[name]; ok {
			return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "thread_fingerprint_mismatch", Message: name + ": cannot be changed in a thread"}
		}
	}
	id := text(r.fields["thread"].(map[string]any), "previous_message_id")
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.threads[id]
	switch {
	case !ok:
		return &Error{Status: http.StatusNotFound, Type: "not_found_error", Code: "thread_not_found", Message: "thread: no thread with the message " + id}
	case h.continued:
		return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Code: "thread_already_continued", Message: "thread: the message " + id + " was continued already"}
	}
	r.messages = slices.Concat(h.messages, r.messages)
	r.fields = maps.Clone(r.fields)
	maps.Copy(r.fields, h.fields)
	if err := r.checkConversation(s.opts); err != nil {
		return err
	}
	h.continued = true
	s.threads[id] = h
	return nil
}

// holdThread keeps the conversation of a thread under the ID of the answer.
func (s *Server) holdThread(r *request, a *answer) {
	if r.threadType() == "" {
		return
	}
	h := held{messages: append(slices.Clone(r.messages), message{role: roleAssistant, blocks: a.blocks}), fields: map[string]any{}}
	for _, name := range []string{"system", "tools"} {
		if v, ok := r.fields[name]; ok {
			h.fields[name] = v
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.threads) >= maxThreads {
		clear(s.threads)
	}
	s.threads[a.id] = h
}
