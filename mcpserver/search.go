package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxQueryBytes = 2000
	standardHits  = 10
	maxHits       = 50
	maxOffset     = 1000 // where a search can go on
)

var searchTool = mcp.Tool{
	Name: "memory_search", Title: "Search memory",
	Description: "Search the memory files: ask a question, or give words. It answers with the passages that match best, so that whole files need not be read. Any word may match, in any form. +word must be there, -word must not, words in double quotes stand together, and since:7d restricts the search to files that changed since.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","description":"a question, or words to search for"},` +
		`"path":{"type":"string","description":"search only below this directory, such as /memories/projects"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"maximum number of files; default 10"},` +
		`"cursor":{"type":"string","description":"next_cursor of an answer, to go on after it"}` +
		`},"required":["query"]}`),
	OutputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"matches":{"type":"array","items":{"type":"object","properties":{` +
		`"path":{"type":"string"},"line":{"type":"integer","description":"line of the best match; absent if only the path matches"},` +
		`"first_line":{"type":"integer","description":"line number of the first line of the passage"},"last_line":{"type":"integer"},"passage":{"type":"string"},` +
		`"words":{"type":"array","items":{"type":"string"},"description":"words of the file that match"},"score":{"type":"number","description":"larger is better"}` +
		`},"required":["path","score"]}},"next_cursor":{"type":"string"},` +
		`"more":{"type":"boolean","description":"whether there may be matches that no cursor leads to"}},"required":["matches"]}`),
	Annotations: annotations(true, false, true),
}

// A searchHit is a memory that matches, as structured content.
type searchHit struct {
	Path      string   `json:"path"`
	Line      int      `json:"line,omitempty"`
	FirstLine int      `json:"first_line,omitempty"`
	LastLine  int      `json:"last_line,omitempty"`
	Passage   string   `json:"passage,omitempty"`
	Words     []string `json:"words,omitempty"`
	Score     float64  `json:"score"`
}

type searchAnswer struct {
	Matches []searchHit `json:"matches"`
	Next    string      `json:"next_cursor,omitempty"`
	More    bool        `json:"more,omitempty"` // that no cursor leads to
}

func (s *Server) search(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Query  string `json:"query"`
		Path   string `json:"path"`
		Limit  *int   `json:"limit"`
		Cursor string `json:"cursor"`
	}
	if fault := arguments(req, &in); fault != "" {
		return refused(fault), nil
	}
	limit := standardHits
	if in.Limit != nil {
		limit = *in.Limit
	}
	offset, err := strconv.Atoi("0" + in.Cursor)
	switch {
	case strings.TrimSpace(in.Query) == "":
		return refused("Error: query is empty."), nil
	case len(in.Query) > maxQueryBytes:
		return refused(fmt.Sprintf("Error: query has more than %d bytes.", maxQueryBytes)), nil
	case limit < 1 || limit > maxHits:
		return refused(fmt.Sprintf("Error: limit must be 1 to %d.", maxHits)), nil
	case err != nil || offset > maxOffset:
		return refused("Error: cursor must be the next_cursor of an answer to the same query."), nil
	}
	m, err := s.memory(ctx, req)
	if err != nil {
		return s.failed(ctx, "open the memory", err)
	}
	mounts, dir, err := m.locate(in.Path)
	if err != nil {
		return s.failed(ctx, "search", err)
	}
	// One more than is shown says whether there are more.
	found, more, err := searchMounts(ctx, mounts, memento.SearchOptions{Query: in.Query, Dir: dir, Limit: offset + limit + 1})
	if err != nil {
		return s.failed(ctx, "search", err)
	}
	found = found[min(offset, len(found)):]
	var (
		answer = searchAnswer{Matches: []searchHit{}, More: more}
		b      strings.Builder
		space  = newSpace()
	)
	for i, each := range found {
		hit := newHit(&mounts[each.Store], each.Match)
		shown := hit.String()
		if i == limit || !space.take(shown, hit) {
			if next := offset + i; next <= maxOffset {
				answer.Next, answer.More = strconv.Itoa(next), false
			} else {
				answer.More = true
			}
			break
		}
		b.WriteString(shown)
		answer.Matches = append(answer.Matches, hit)
	}
	switch {
	case answer.Next != "":
		fmt.Fprintf(&b, "[There are more matches. Search with cursor %q, or with more words.]", answer.Next)
	case answer.More:
		b.WriteString("[There may be more matches, which cannot be shown. Search with more words, or below a directory.]")
	case len(answer.Matches) == 0:
		b.WriteString("Nothing found. Try fewer or other words, or view /memories.")
	}
	return structured(strings.TrimSuffix(b.String(), "\n"), answer), nil
}

// searchMounts searches the stores of mounts.
func searchMounts(ctx context.Context, mounts []mount, opts memento.SearchOptions) ([]memento.StoreMatch, bool, error) {
	var stores []*memento.Store
	for _, m := range mounts {
		stores = append(stores, m.store)
	}
	return memento.SearchStores(ctx, stores, opts)
}

// newHit returns a match as the answer has it.
func newHit(m *mount, f memento.Match) searchHit {
	return searchHit{
		Path: m.path(f.Memory.Path), Line: f.Line, FirstLine: f.Passage.First, LastLine: f.Passage.Last,
		Passage: f.Passage.Text, Words: f.Words,
		Score: math.Round(1000*f.Score) / 1000, // more digits would only cost tokens
	}
}

// String returns the match as the model reads it: the path, and numbered lines as a view
// shows them.
func (h searchHit) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", h.Path)
	if h.Passage != "" {
		for i, line := range strings.Split(h.Passage, "\n") {
			fmt.Fprintf(&b, "%6d\t%s\n", h.FirstLine+i, line)
		}
	}
	return b.String()
}

// arguments decodes the arguments of a tool. fault is a sentence for the model, "" if there
// is none.
func arguments(req *mcp.CallToolRequest, into any) (fault string) {
	raw := req.Params.Arguments
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	err := json.Unmarshal(raw, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Sprintf("Error: %s has the wrong type: %s.", wrong.Field, wrong.Value)
	}
	if err != nil {
		return "Error: the arguments must be one JSON object."
	}
	return ""
}
