package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"memento"
	"memento/history"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	standardVersions = 20
	maxVersions      = 100
)

var historyTool = mcp.Tool{
	Name: "memory_history", Title: "History of memory",
	Description: "List the versions of a memory file, of a directory or of everything, newest first: when, by whom and what changed. With version, show the text of that version.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","description":"file or directory; default /memories"},` +
		`"version":{"type":"string","description":"ID of a version whose text is shown"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100,"description":"maximum number of versions; default 20"},` +
		`"cursor":{"type":"string","description":"next_cursor of an answer, to go on after it"}}}`),
	OutputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"versions":{"type":"array","items":{"type":"object","properties":{` +
		`"id":{"type":"string"},"path":{"type":"string"},"operation":{"type":"string"},"at":{"type":"string"},"by":{"type":"string"},"bytes":{"type":"integer"}` +
		`},"required":["id","operation","at"]}},` +
		`"text":{"type":"string","description":"of the version that was asked for"},"next_cursor":{"type":"string"}},"required":["versions"]}`),
	Annotations: annotations(true, false, true),
}

var restoreTool = mcp.Tool{
	Name: "memory_restore", Title: "Restore memory",
	Description: "Restore a version of a memory file, or undo the last change of the file at path, also if it was deleted. What is replaced stays in the history.",
	InputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","description":"file whose last change is undone"},` +
		`"version":{"type":"string","description":"ID of the version to restore, as memory_history lists it; instead of path"}}}`),
	OutputSchema: json.RawMessage(`{"type":"object","properties":{` +
		`"written":{"type":"array","items":{"type":"string"}},"removed":{"type":"array","items":{"type":"string"}}},"required":["written","removed"]}`),
	Annotations: annotations(false, true, false),
}

// A versionRow is a version, as structured content.
type versionRow struct {
	ID        string `json:"id"`
	Path      string `json:"path,omitempty"`
	Operation string `json:"operation"`
	At        string `json:"at"`
	By        string `json:"by,omitempty"`
	Bytes     int64  `json:"bytes"`
}

type historyAnswer struct {
	Versions []versionRow `json:"versions"`
	Text     string       `json:"text,omitempty"`
	Next     string       `json:"next_cursor,omitempty"`
}

func (s *Server) history(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Path    string `json:"path"`
		Version string `json:"version"`
		Limit   *int   `json:"limit"`
		Cursor  string `json:"cursor"`
	}
	if fault := arguments(req, &in); fault != "" {
		return refused(fault), nil
	}
	limit := standardVersions
	if in.Limit != nil {
		limit = *in.Limit
	}
	if limit < 1 || limit > maxVersions {
		return refused(fmt.Sprintf("Error: limit must be 1 to %d.", maxVersions)), nil
	}
	m, err := s.memory(ctx, req)
	if err != nil {
		return s.failed(ctx, "open the memory", err)
	}
	if in.Version != "" {
		return s.showVersion(ctx, m, memento.VersionID(in.Version))
	}
	mounts, p, err := m.locate(in.Path)
	if err != nil {
		return s.failed(ctx, "list versions", err)
	}
	// With several stores, which have no common order, they come one after the other.
	first, after, err := parsePlace(in.Cursor, len(mounts))
	if err != nil {
		return refused("Error: cursor must be the next_cursor of an answer for the same path."), nil
	}
	var (
		answer = historyAnswer{Versions: []versionRow{}}
		b      strings.Builder
		space  = newSpace()
		seq    int64 // of the last version shown
	)
	for i := first; i < len(mounts) && answer.Next == ""; i++ {
		opts := memento.VersionListOptions{Limit: limit - len(answer.Versions) + 1, After: after}
		if !p.IsRoot() {
			opts.Path = p
		}
		seq, after = after, 0
		for v, err := range mounts[i].store.Versions(ctx, opts) {
			if errors.Is(err, memento.ErrNoStore) {
				break
			}
			if err != nil {
				return s.failed(ctx, "list versions", err)
			}
			row := mounts[i].row(&v)
			shown := row.String()
			if len(answer.Versions) == limit || !space.take(shown, row) {
				answer.Next = fmt.Sprintf("%d.%d", i, seq)
				break
			}
			b.WriteString(shown)
			answer.Versions = append(answer.Versions, row)
			seq = v.Seq
		}
	}
	switch {
	case answer.Next != "":
		fmt.Fprintf(&b, "[There are more versions. Go on with cursor %q.]", answer.Next)
	case len(answer.Versions) == 0:
		b.WriteString("There are no versions.")
	}
	return structured(strings.TrimSuffix(b.String(), "\n"), answer), nil
}

// parsePlace parses a cursor: the number of a mount, and the Seq of a version in it.
func parsePlace(cursor string, mounts int) (mount int, after int64, err error) {
	if cursor == "" {
		return 0, 0, nil
	}
	left, right, _ := strings.Cut(cursor, ".")
	mount, err = strconv.Atoi(left)
	if err == nil {
		after, err = strconv.ParseInt(right, 10, 64)
	}
	if err != nil || mount < 0 || mount >= max(mounts, 1) || after < 0 {
		return 0, 0, errors.New("not a cursor")
	}
	return mount, after, nil
}

// showVersion answers with the text of a version, whichever store has it.
func (s *Server) showVersion(ctx context.Context, m *memory, id memento.VersionID) (*mcp.CallToolResult, error) {
	at, v, err := m.version(ctx, id)
	if err != nil {
		return s.failed(ctx, "read a version", err)
	}
	row := at.row(&v)
	answer := historyAnswer{Versions: []versionRow{row}, Text: cutEncoded(v.Content, MaxAnswerBytes-2500)}
	shown := row.String() + answer.Text
	if len(answer.Text) < len(v.Content) {
		shown += fmt.Sprintf("\n[Only the first %d of %d bytes are shown. To see all, restore the version and view the file.]", len(answer.Text), len(v.Content))
	}
	return structured(shown, answer), nil
}

// version finds a version in one of the stores.
func (m *memory) version(ctx context.Context, id memento.VersionID) (at *mount, v memento.Version, err error) {
	err = memento.ErrNotExist
	for i := range m.mounts {
		v, err = m.mounts[i].store.Version(ctx, id)
		if err == nil {
			return &m.mounts[i], v, nil
		}
		if !errors.Is(err, memento.ErrNotExist) && !errors.Is(err, memento.ErrNoStore) {
			return nil, v, err
		}
	}
	return nil, v, err
}

// row describes a version.
func (m *mount) row(v *memento.Version) versionRow {
	r := versionRow{
		ID: string(v.ID), Operation: string(v.Operation), At: v.CreatedAt.UTC().Format(time.RFC3339), By: v.CreatedBy.String(), Bytes: v.Size,
	}
	if !v.Redacted() {
		r.Path = m.path(v.Path)
	}
	return r
}

// String returns the version as a line for the model.
func (r versionRow) String() string {
	path := r.Path
	if path == "" {
		path = "(erased)"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d bytes\tby %s\n", r.ID, r.At, r.Operation, path, r.Bytes, cut(r.By, 100))
}

func structured(shown string, answer any) *mcp.CallToolResult {
	r := text(shown)
	r.StructuredContent = answer
	return r
}

type restoreAnswer struct {
	Written []string `json:"written"`
	Removed []string `json:"removed"`
}

func (s *Server) restore(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Path    string `json:"path"`
		Version string `json:"version"`
	}
	if fault := arguments(req, &in); fault != "" {
		return refused(fault), nil
	}
	if (in.Path == "") == (in.Version == "") {
		return refused("Error: give either path or version."), nil
	}
	m, err := s.memory(ctx, req)
	if err != nil {
		return s.failed(ctx, "open the memory", err)
	}
	answer := restoreAnswer{Written: []string{}, Removed: []string{}}
	if in.Version != "" {
		at, v, err := m.version(ctx, memento.VersionID(in.Version))
		switch {
		case err != nil:
			return s.failed(ctx, "restore", err)
		case at.readOnly:
			return refused("Error: " + at.root + " is read-only."), nil
		}
		p, _, err := history.RestoreVersion(ctx, at.store, m.actor, v.ID)
		if err != nil {
			return s.failed(ctx, "restore", err)
		}
		answer.Written = append(answer.Written, at.path(p))
	} else {
		mounts, p, err := m.locate(in.Path)
		switch {
		case err != nil:
			return s.failed(ctx, "restore", err)
		case len(mounts) != 1 || p.IsRoot():
			return refused("Error: path must be that of a file."), nil
		case mounts[0].readOnly:
			return refused("Error: " + mounts[0].root + " is read-only."), nil
		}
		r, err := history.UndoLast(ctx, mounts[0].store, m.actor, p, false)
		if errors.Is(err, memento.ErrIsDir) {
			return refused("Error: path must be that of a file."), nil
		}
		if err != nil {
			return s.failed(ctx, "restore", err)
		}
		for _, p := range r.Written {
			answer.Written = append(answer.Written, mounts[0].path(p))
		}
		for _, p := range r.Removed {
			answer.Removed = append(answer.Removed, mounts[0].path(p))
		}
	}
	var b strings.Builder
	for _, p := range answer.Written {
		fmt.Fprintf(&b, "Restored %s.\n", p)
	}
	for _, p := range answer.Removed {
		fmt.Fprintf(&b, "Removed %s.\n", p)
	}
	if b.Len() == 0 {
		b.WriteString("There was nothing to restore.")
	}
	return structured(strings.TrimSuffix(b.String(), "\n"), answer), nil
}
