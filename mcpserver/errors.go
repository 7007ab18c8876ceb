package mcpserver

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failed answers a call that failed, and returns the error if it is the storage's. The model
// reads what it can act on; the log has the whole error.
func (s *Server) failed(ctx context.Context, doing string, err error) (*mcp.CallToolResult, error) {
	why, internal := explain(err)
	if !internal {
		return refused("Error: " + why), nil
	}
	s.opts.Logger.ErrorContext(ctx, "the memory failed", "doing", doing, "error", err.Error())
	return refused("Error: " + why), err
}

// explain returns a sentence about an error that a client may read, and whether the error
// is the storage's: then the sentence says no more than that.
func explain(err error) (sentence string, internal bool) {
	var (
		path      *memento.PathError
		limit     *memento.LimitError
		sensitive *memento.SensitiveError
	)
	switch {
	case errors.Is(err, memento.ErrUncertain):
		return "It is not known whether the change was made. View it before you try again.", true
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "The request was cancelled.", false
	case errors.Is(err, errNoRoots):
		return "The client did not say which folders it works in, so the memory of the project is not known. Try again. If it fails again, tell the user to start memento with --project.", true
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
	case errors.As(err, &limit):
		return "Nothing was changed: " + limit.Error() + ".", false
	case errors.As(err, &sensitive):
		return "Nothing was changed: the text " + sensitive.Error() + ".", false
	case errors.Is(err, memento.ErrIsDir), errors.Is(err, memento.ErrNotDir), errors.Is(err, memento.ErrForeign):
		return "It is not a memory file, or its path leads through one.", false
	case errors.Is(err, memento.ErrInvalid):
		return invalidReason(err) + ".", false
	case errors.Is(err, memento.ErrUnsupported):
		return "The storage of this memory cannot do this.", false
	case errors.Is(err, memento.ErrNoSpace):
		return "Nothing was changed: the storage is full.", true
	case errors.Is(err, memento.ErrReadOnly):
		return "Nothing was changed: the storage is read-only.", true
	case errors.Is(err, memento.ErrUnavailable):
		return "The memory is not available at present. Go on without it, and try again later.", true
	}
	return "The memory failed. Go on without it; the log of memento has the reason.", true
}

// invalidReason returns what is wrong with a request, such as that a version has no
// contents. It is about what the client has sent, and names nothing of the storage.
func invalidReason(err error) string {
	if at, ok := errors.AsType[*memento.Error](err); ok {
		err = at.Err
	}
	reason := strings.TrimPrefix(err.Error(), memento.ErrInvalid.Error()+": ")
	first, size := utf8.DecodeRuneInString(reason)
	return string(unicode.ToUpper(first)) + reason[size:]
}
