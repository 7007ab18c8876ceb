package mcpserver

// A callerServer is the server of a caller.
type callerServer struct {
	*Server
	key  string
	uses int // requests under way
}

// end ends all sessions, and what runs in the background.
func (s *callerServer) end() {
	for session := range s.mcp.Sessions() {
		go session.Close() // it waits for requests under way
	}
	s.Close()
}

func (s *callerServer) sessions() (n int) {
	for range s.mcp.Sessions() {
		n++
	}
	return n
}

// acquire returns the caller's server; nil if the key has too many in use.
func (h *Handler) acquire(caller Caller) (*callerServer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.servers.Get(caller.ID)
	if !ok {
		if !h.makeRoom(caller.Key) {
			return nil, nil
		}
		o := h.opts.Server
		o.Open, o.ReadOnly = caller.Open, caller.ReadOnly
		made, err := New(o)
		if err != nil {
			return nil, err
		}
		s = &callerServer{Server: made, key: caller.Key}
		h.servers.Put(caller.ID, s)
	}
	s.uses++
	return s, nil
}

func (h *Handler) release(s *callerServer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.uses--
}

// makeRoom removes a server if there are too many, of a key or of all: the one that was
// used least recently of those without sessions, else one of the key that has most, with
// its sessions. Clients begin another session then. One in use is kept. It reports whether
// there is room. The caller holds the lock.
func (h *Handler) makeRoom(key string) bool {
	of := map[string]int{} // servers by key
	for _, s := range h.servers.Oldest() {
		of[s.key]++
	}
	own := of[key] >= max(h.opts.MaxCallers/4, 1)
	if !own && h.servers.Len() < h.opts.MaxCallers {
		return true
	}
	var (
		oldest   string
		found    *callerServer
		sessions int // of found
	)
	for id, s := range h.servers.Oldest() {
		if s.uses > 0 || own && s.key != key {
			continue
		}
		n := s.sessions()
		if found == nil || sessions > 0 && (n == 0 || of[s.key] > of[found.key]) {
			oldest, found, sessions = id, s, n
		}
	}
	if found == nil {
		return false
	}
	h.servers.Remove(oldest)
	go found.end() // it waits for a call of the storage under way
	return true
}

// beginSession reports whether a key may begin a session. sessionBegun follows, when the
// session is among those of its server.
func (h *Handler) beginSession(key string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.starting[key]
	for _, s := range h.servers.Oldest() {
		if s.key == key {
			n += s.sessions()
		}
	}
	if n >= h.opts.MaxSessions {
		return false
	}
	h.starting[key]++
	return true
}

func (h *Handler) sessionBegun(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.starting[key]--; h.starting[key] == 0 {
		delete(h.starting, key)
	}
}
