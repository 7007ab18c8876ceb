package mcpserver

// Servers returns how many servers are kept.
func (h *Handler) Servers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers.Len()
}
