package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxQueryBytes = 2000
	standardHits  = 10
	maxHits       = 50
	maxOffset     = 1000   // where a search can go on
	maxSearched   = 10_000 // matches of one store, with those in hidden files; no backend has a lower limit
	contextLines  = 2      // shown before and after the line that matches
	passageBytes  = 1200   // of one passage
)

var searchTool = mcp.Tool{
	Name: "memory_search", Title: "Search memory",
	Description: "Search the memory files for words, best match first, with the lines around each match. All words must occur in a file or its path; a word also matches longer words that begin with it; words in double quotes are a phrase.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","description":"words to search for"},` +
		`"path":{"type":"string","description":"search only below this directory, such as /memories/projects"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"maximum number of files; default 10"},` +
		`"cursor":{"type":"string","description":"next_cursor of an answer, to go on after it"}` +
		`},"required":["query"]}`),
	OutputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"matches":{"type":"array","items":{"type":"object","properties":{` +
		`"path":{"type":"string"},"line":{"type":"integer","description":"line of the best match; absent if only the path matches"},` +
		`"first_line":{"type":"integer","description":"line number of the first line of the passage"},"passage":{"type":"string"}` +
		`},"required":["path"]}},"next_cursor":{"type":"string"},` +
		`"more":{"type":"boolean","description":"whether there may be matches that no cursor leads to"}},"required":["matches"]}`),
	Annotations: annotations(true, false, true),
}

// A searchHit is a memory that matches, as structured content.
type searchHit struct {
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
	FirstLine int    `json:"first_line,omitempty"`
	Passage   string `json:"passage,omitempty"`
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
		hit, err := each.hit(ctx)
		switch {
		case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrIsDir):
			continue // it is gone since
		case err != nil:
			return s.failed(ctx, "search", err)
		}
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

// A match is a memory that was found, and its store.
type match struct {
	mount mount
	memento.Match
}

// searchMounts searches several stores. Their matches take turns, since a rank means
// nothing in another store. Hidden files are left out. more is whether a store may have
// others, which its backend did not return.
func searchMounts(ctx context.Context, mounts []mount, opts memento.SearchOptions) (all []match, more bool, err error) {
	var lists [][]memento.Match
	longest := 0
	for _, m := range mounts {
		found, cut, err := searchVisible(ctx, m.store, opts)
		if err != nil && !errors.Is(err, memento.ErrNoStore) {
			return nil, false, err
		}
		more = more || cut
		lists = append(lists, found)
		longest = max(longest, len(found))
	}
	for rank := range longest {
		for i, list := range lists {
			if rank < len(list) {
				all = append(all, match{mounts[i], list[rank]})
			}
		}
	}
	return all[:min(len(all), opts.Limit)], more, nil
}

// searchVisible returns the best matches of one store that are not hidden. No backend
// leaves those out, so it asks for more until there are enough. cut is whether there were
// not, among as many matches as it asks for.
func searchVisible(ctx context.Context, s *memento.Store, opts memento.SearchOptions) (found []memento.Match, cut bool, err error) {
	want := opts.Limit
	for {
		found, err = s.Search(ctx, opts)
		if err != nil {
			return nil, false, err
		}
		all := len(found) < opts.Limit
		found = slices.DeleteFunc(found, func(m memento.Match) bool { return m.Memory.Path.IsHidden() })
		if all || len(found) >= want || opts.Limit >= maxSearched {
			return found, !all && len(found) < want, nil
		}
		opts.Limit = min(4*opts.Limit, maxSearched)
	}
}

// hit reads the lines around the best match.
func (m *match) hit(ctx context.Context) (searchHit, error) {
	h := searchHit{Path: m.mount.path(m.Memory.Path), Line: m.Line}
	if m.Line == 0 {
		return h, nil
	}
	memory, err := m.mount.store.Get(ctx, memento.ByPath(m.Memory.Path))
	if err != nil {
		return h, err
	}
	lines := strings.Split(strings.TrimSuffix(memory.Content, "\n"), "\n")
	if m.Line > len(lines) {
		h.Line = 0 // it has changed since
		return h, nil
	}
	first, last := max(m.Line-contextLines, 1), min(m.Line+contextLines, len(lines))
	passage := strings.Join(lines[first-1:last], "\n")
	if len(passage) > passageBytes { // long lines: the one that matches, as the search has cut it
		first, passage = m.Line, cut(m.Snippet, passageBytes)
	}
	h.FirstLine, h.Passage = first, passage
	return h, nil
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
