package httpapi

import (
	"net/http"
	"time"
)

// take returns a share of something, which the caller gives back. It waits for a
// moment if there is none.
func (c *call) take(s *shares, n int64) (*share, error) {
	h, why := s.take(c.context(), c.claimant(), n, time.Now().Add(c.api.opts.QueueTime))
	if why != granted {
		return nil, c.refused(s, why)
	}
	return h, nil
}

func (c *call) claimant() claimant {
	return claimant{string(c.who.Workspace), c.who.key()}
}

// refused is the answer to a request that gets nothing of something.
func (c *call) refused(s *shares, why refusal) error {
	switch {
	case why == tooLarge:
		return &fault{status: http.StatusRequestEntityTooLarge, kind: requestTooLarge, closes: c.hasBody() && !c.arrived,
			message: "the request takes more memory than the server gives to one key; see its setting memory_budget"}
	case s == c.api.memory:
		return errMemory
	}
	return errBusy
}

// occupy takes a place for as long as the request lasts.
func (c *call) occupy(s *shares) error {
	h, err := c.take(s, 1)
	if err == nil {
		c.has = append(c.has, h)
	}
	return err
}

// reserve takes so many more bytes of memory for as long as the request lasts.
func (c *call) reserve(n int64) error {
	if c.memory == nil {
		h, err := c.take(c.api.memory, n)
		if err == nil {
			c.memory = h
			c.has = append(c.has, h)
		}
		return err
	}
	if why := c.memory.grow(c.context(), n, time.Now().Add(c.api.opts.QueueTime)); why != granted {
		return c.refused(c.api.memory, why)
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
func (c *call) answering(n int) error {
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
func (c *call) giveBack() {
	for _, h := range c.has {
		h.release()
	}
	c.has, c.memory = nil, nil
}
