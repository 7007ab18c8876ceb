package httpapi

import (
	"net/http"
	"time"
)

// acquire takes n from a limiter. The caller releases the permit. It waits for up to
// Options.QueueTime.
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

// refusalError returns the error that answers a request which a limiter refused.
func (c *call) refusalError(s *limiter, why refusal) error {
	switch {
	case why == tooLarge:
		return &apiError{status: http.StatusRequestEntityTooLarge, kind: requestTooLarge, closeConn: c.hasBody() && !c.bodyRead,
			message: "the request needs more memory than one key may use; see the server's setting memory_budget"}
	case s == c.api.memory:
		return errMemory
	}
	return errBusy
}

// hold takes one slot of a limiter until the request ends.
func (c *call) hold(s *limiter) error {
	h, err := c.acquire(s, 1)
	if err == nil {
		c.permits = append(c.permits, h)
	}
	return err
}

// reserve reserves n more bytes of memory until the request ends.
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

// reserveNow is reserve without waiting for more memory. It reports whether the bytes
// were reserved.
func (c *call) reserveNow(n int64) bool {
	if c.memory == nil {
		return c.reserve(n) == nil
	}
	return c.memory.grow(c.context(), n, time.Now()) == granted
}

// charge is reserve for memory that turns out to be needed while a body is decoded.
// Small amounts are not counted.
func (c *call) charge(n int64) error {
	if n < smallBody {
		return nil
	}
	return c.reserve(n)
}

// reserveAnswer reserves n bytes for an answer until the client has received it. A read
// can be refused. The result of a change must be sent, so its memory is counted in any
// case.
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

// releaseAll releases all permits of the request.
func (c *call) releaseAll() {
	for _, h := range c.permits {
		h.release()
	}
	c.permits, c.memory = nil, nil
}
