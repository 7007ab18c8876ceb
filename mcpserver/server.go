package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxAnswerBytes is the most bytes of text that a listing, a search or a page of the history
// puts into the context of a model: about 4,000 tokens of English. An answer that is cut
// off says how to go on. A view of a file shows as many characters at most, unless
// memento.ToolOptions say otherwise.
const MaxAnswerBytes = 16_000

// A ToolSet is the form in which the six commands are offered.
type ToolSet string

// The tool sets.
const (
	OneTool  ToolSet = "one" // the tool "memory", with the command as an argument
	SixTools ToolSet = "six" // a tool for each command, such as "memory_view"
)

// Options are the options of [New].
type Options struct {
	// Open returns the client's memory. It is called for the first request that needs
	// it, and again after an error. It is required.
	Open func(context.Context, Client) (Memory, error)

	Tools    ToolSet // "" means OneTool
	ReadOnly bool    // offers nothing that changes memories, and refuses it
	History  bool    // offers memory_history, and memory_restore unless ReadOnly is set

	Version string        // of the program, for clients
	Poll    time.Duration // how often changes are looked for while a client wants to know of them; 0 means 1 s

	// ToolCalled is called after each call of a tool; nil means not at all.
	ToolCalled func(context.Context, ToolCall)

	// Logger receives errors of the storage, and no contents; nil means no log.
	Logger *slog.Logger
}

// A Client describes who asks for memory. What it says about itself is not verified.
type Client struct {
	Name string // of the program, such as "claude-code"; "" if it does not say

	// Roots asks for the folders that the client works in, as "file" URLs. It returns
	// none if the client has not declared that it tells them, and an error if it has, and
	// does not tell.
	Roots func(context.Context) ([]string, error)
}

// A Memory is what one client can see.
type Memory struct {
	// Mounts are the directories of /memories. A single mount without a name is
	// /memories itself.
	Mounts []memento.Mount
	// Tool has the options of the memory tool. Its Actor is recorded for every change.
	Tool memento.ToolOptions
}

// A Server offers one client's memory to any number of connections. It is safe for
// concurrent use.
type Server struct {
	opts    Options
	mcp     *mcp.Server
	changes *changes
	direct  map[string]string // the tools of the six commands, by name, and the command; "" if it is an argument

	opening chan struct{}          // one element while Open is being called
	opened  atomic.Pointer[memory] // nil until Open has succeeded
}

// New returns a server. The caller calls Close at the end.
func New(opts Options) (*Server, error) {
	if opts.Open == nil {
		return nil, errors.New("mcpserver: Options.Open is required")
	}
	opts.Tools = cmp.Or(opts.Tools, OneTool)
	if opts.Tools != OneTool && opts.Tools != SixTools {
		return nil, fmt.Errorf("mcpserver: unknown tool set %q; the sets are %q and %q", opts.Tools, OneTool, SixTools)
	}
	opts.Poll = cmp.Or(opts.Poll, time.Second)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, opening: make(chan struct{}, 1)}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "memento", Title: "Memory", Version: cmp.Or(opts.Version, "dev")},
		&mcp.ServerOptions{
			Instructions:       instructions(opts.ReadOnly),
			PageSize:           pageSize,
			Capabilities:       &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the tools never change
			SetCacheable:       cacheable,
			SubscribeHandler:   s.subscribed,
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		},
	)
	s.changes = newChanges(s)
	s.addTools()
	s.addResources()
	s.addPrompts()
	return s, nil
}

// Close ends what runs in the background. It does not close connections.
func (s *Server) Close() { s.changes.close() }

// pageSize is the most entries of a page of a list.
const pageSize = 100

// cacheable says that a client may keep what describes the server itself, and nothing of
// memories, which may change at any time. listResources does the same for its lists.
func cacheable(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
	c.CacheScope = "private"
	if _, memory := req.(*mcp.ReadResourceRequest); !memory {
		c.TTLMs = int(time.Hour / time.Millisecond)
	}
}

// instructions are what a client may put into the system prompt.
func instructions(readOnly bool) string {
	const read = "Memory that lasts beyond this conversation: text files below /memories. View /memories before you begin a task"
	if readOnly {
		return read + ". You cannot change it."
	}
	return read + ", and record what is worth knowing next time as you work."
}
