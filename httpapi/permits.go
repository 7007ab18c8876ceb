package httpapi

import (
	"net/http"
	"time"
)

// take returns a share of something, which the caller gives back. It waits for a
// moment if there is none.
func (c *call) acquire(s *limiter, n int64) (*permit, error) {
	h, why := s.acquire(c.context(), c.requester(), n, time.Now().Add(c.api.opts.QueueTime))
	if why != granted {
		return nil, c.refusalError(s, why)
	}
	return h, nil
}

func (c *call) requester() requester {
	return requester{string(c.who.Workspace), c.who.key()}
}

// refused is the answer to a request that gets nothing of something.
func (c *call) refusalError(s *limiter, why refusal) error {
	switch {
	case why == tooLarge:
		return &apiError{status: http.StatusRequestEntityTooLarge, kind: requestTooLarge, closeConn: c.hasBody() && !c.bodyRead,
			message: "the request takes more memory than the server gives to one key; see its setting memory_budget"}
	case s == c.api.memory:
		return errMemory
	}
	return errBusy
}

// occupy takes a place for as long as the request lasts.
func (c *call) hold(s *limiter) error {
	h, err := c.acquire(s, 1)
	if err == nil {
		c.permits = append(c.permits, h)
	}
	return err
}

// reserve takes so many more bytes of memory for as long as the request lasts.
func (c *call) reserve(n int64) error {
	if c.memory == nil {
		h, err := c.acquire(c.api.memory, n)
		if err == nil {
			c.memory = h
			c.permits = append(c.permits, h)
		}
		return err
	}
	if why := c.memory.grow(c.context(), n, time.Now().Add(c.api.opts.QueueTime)); why != granted {
		return c.refusalError(c.api.memory, why)
	}
	return nil
}

// reserveNow is reserve without a wait, and reports whether there was as much.
func (c *call) reserveNow(n int64) bool {
	if c.memory == nil {
		return c.reserve(n) == nil
	}
	return c.memory.grow(c.context(), n, time.Now()) == granted
}

// charge is reserve for what turns out while a body is read.
func (c *call) charge(n int64) error {
	if n < smallBody {
		return nil
	}
	return c.reserve(n)
}

// answering reserves what an answer takes until its reader has it. Who only looks can
// be refused it; what was changed has to be told.
func (c *call) reserveAnswer(n int) error {
	const small = 64 << 10
	switch {
	case n <= small || c.w.status != 0:
		return nil
	case c.r.Method == http.MethodGet:
		return c.reserve(int64(n))
	case c.memory != nil:
		c.memory.force(int64(n))
	}
	return nil
}

// giveBack gives back all that the request has taken.
func (c *call) releaseAll() {
	for _, h := range c.permits {
		h.release()
	}
	c.permits, c.memory = nil, nil
}
