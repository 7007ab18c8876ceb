package mcpserver

import (
	"context"
	"errors"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failed answers a call that failed. The model reads what it can act on; the log has the
// whole error.
func (s *Server) failed(ctx context.Context, doing string, err error) *mcp.CallToolResult {
	why, internal := explain(err)
	if internal {
		s.opts.Logger.ErrorContext(ctx, "the memory failed", "doing", doing, "error", err.Error())
	}
	return refused("Error: " + why)
}

// explain returns a sentence about an error that a client may read, and whether the error
// is the storage's: then the sentence says no more than that.
func explain(err error) (sentence string, internal bool) {
	var path *memento.PathError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "The request was cancelled.", false
	case errors.As(err, &path):
		return "The path is not valid: " + path.Reason + ".", false
	case errors.Is(err, errOutside):
		return "The path is not valid: paths start with /memories.", false
	case errors.Is(err, memento.ErrNotExist):
		return "There is no memory at this path, or no such version.", false
	case errors.Is(err, memento.ErrProtected):
		return "It is read-only.", false
	case errors.Is(err, memento.ErrArchived):
		return "The memory is archived: it can be read, but not changed.", false
	case errors.Is(err, memento.ErrExist), errors.Is(err, memento.ErrConflict):
		return "Something else is there now. View it before you try again.", false
	case errors.Is(err, memento.ErrUnavailable):
		return "The memory is not available at present. Go on without it, and try again later.", true
	}
	return "The memory failed. Go on without it; the log of memento has the reason.", true
}
