package mcpserver

import (
	"context"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Servers returns how many servers are kept.
func (h *Handler) Servers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.servers.Len()
}

// LeaveCallsToSDK has the SDK execute all calls.
func (s *Server) LeaveCallsToSDK() { s.direct = nil }

// CountSDKCalls returns how many calls of tools the SDK has executed from now on.
func (s *Server) CountSDKCalls() *atomic.Int64 {
	var n atomic.Int64
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == methodCall {
				n.Add(1)
			}
			return next(ctx, method, req)
		}
	})
	return &n
}
