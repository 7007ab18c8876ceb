package gateway

import (
	"io"
	"net/http"
	"sync"

	"memento"
)

// A budget bounds the bytes of requests and answers that are held at the same time: by
// all callers, and by one, who may hold half of them.
type budget struct {
	most    int64
	mu      sync.Mutex
	held    int64
	callers map[callerID]int64 // those that hold nothing are not in it
}

type callerID struct {
	workspace memento.Workspace
	kind      memento.ActorKind
	id        string
}

// A hold is what one request holds of a budget. It belongs to one goroutine.
type hold struct {
	of     *budget
	caller callerID
	taken  int64
	used   int64
}

func (b *budget) begin(c Caller) *hold {
	id := callerID{c.Workspace, c.Actor.Kind, c.Actor.ID}
	if c.Actor.Key != "" {
		id = callerID{c.Workspace, memento.ActorAPIKey, string(c.Actor.Key)} // which chooses the actor
	}
	return &hold{of: b, caller: id}
}

// holdStep is how many bytes are taken at once.
const holdStep = 64 << 10

// use takes n more bytes. A request that is the only one may have as many as it needs:
// its parts are bounded by themselves.
//
// Errors: an [*Error] that lets the client repeat the request.
func (h *hold) use(n int64) error {
	if h.used += n; h.used <= h.taken {
		return nil
	}
	more := max(h.used-h.taken, holdStep)
	b := h.of
	b.mu.Lock()
	defer b.mu.Unlock()
	own := b.callers[h.caller]
	switch {
	case b.held+more > b.most && b.held > h.taken:
		return &Error{Status: 529, Type: "overloaded_error", Message: "the gateway is answering as many requests as it can hold", Retry: true, limit: true}
	case own+more > b.most/2 && own > h.taken:
		return &Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Message: "the requests of this key together are as large as those of one key may be", Retry: true, limit: true}
	}
	if b.callers == nil {
		b.callers = map[callerID]int64{}
	}
	h.taken += more
	b.held += more
	b.callers[h.caller] = own + more
	return nil
}

// release gives everything back.
func (h *hold) release() {
	b := h.of
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= h.taken
	if b.callers[h.caller] -= h.taken; b.callers[h.caller] <= 0 {
		delete(b.callers, h.caller)
	}
	h.taken, h.used = 0, 0
}

// readAll reads to the end. size is how long the text is said to be; -1 if that is not
// known. Memory is taken for what has arrived: who only announces a long text holds little.
func (h *hold) readAll(in io.Reader, size int64) ([]byte, error) {
	const first = 16 << 10
	var text []byte
	for {
		if len(text) == cap(text) {
			grown := max(2*int64(cap(text)), first)
			if size >= int64(len(text)) {
				grown = min(grown, size+1) // and one for the end
			}
			if err := h.use(grown - int64(cap(text))); err != nil {
				return nil, err
			}
			text = append(make([]byte, 0, grown), text...)
		}
		n, err := in.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text[:len(text):len(text)], nil
		}
		if err != nil {
			return nil, err
		}
	}
}
