package memento

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	searchName     = ".search" // the directory that is searched by a view, see ToolOptions.Search
	shownMatches   = 10
	maxSearchBytes = 2000
	// largeListing is from how many entries on a view of a directory says that it can be
	// searched; one that does not show all of them says so, too.
	largeListing = 100
)

// SearchGuidance tells an agent about [ToolOptions].Search: add it to the system prompt, or
// to the description of the tool.
const SearchGuidance = "To find something in the files below /memories, view the path /memories/.search/ followed by a question or words, such as " +
	"/memories/.search/what do we know about refunds: it shows the passages that match best, and the paths of their files."

// Searches reports whether [ToolOptions].Search is on: then the agent should know
// [SearchGuidance].
func (t *Tool) Searches() bool { return t.opts.Search }

// A searchView is a view of a path in /memories/.search, or in .search of a mount.
type searchView struct {
	path, query string // the path as the agent gave it, and what follows the directory
	root        string // the directory that is searched
	mounts      []mount
}

// searchView returns the search that a path of the agent's means.
func (t *Tool) searchView(path string) (v searchView, ok bool) {
	if !t.opts.Search {
		return v, false
	}
	whole := t.mounts
	if t.top.store != nil {
		whole = []mount{t.top}
	}
	v = searchView{path: path, root: toolRoot, mounts: whole}
	query, ok := below(path, toolRoot+"/"+searchName)
	for i := range t.mounts {
		if !ok {
			m := &t.mounts[i]
			v.root, v.mounts = m.root, t.mounts[i:i+1]
			query, ok = below(path, m.root+"/"+searchName)
		}
	}
	v.query = strings.Trim(query, "/ ")
	return v, ok
}

// search shows the passages that match best, each below the size and the path of its file,
// in the form in which directories and files are shown.
func (t *Tool) search(ctx context.Context, v searchView, span *lineRange) (string, error) {
	switch {
	case span != nil:
		return "", refusal(ErrIsDir, textRangeOnDir, v.path)
	case v.query == "":
		return "", refusal(ErrInvalid, textNoQuery, v.root, v.root)
	case len(v.query) > maxSearchBytes:
		return "", refusal(ErrInvalid, textLongQuery, maxSearchBytes)
	}
	var stores []*Store
	for _, m := range v.mounts {
		stores = append(stores, m.store)
	}
	found, more, err := SearchStores(ctx, stores, SearchOptions{Query: v.query, Limit: shownMatches + 1})
	if err != nil {
		m := &t.top
		if len(v.mounts) == 1 {
			m = &v.mounts[0]
		}
		if errors.Is(err, ErrUnsupported) {
			return "", refusal(err, textNoSearch, m.label)
		}
		return "", m.refused(v.path, err)
	}
	if len(found) == 0 {
		return fmt.Sprintf(textNothingFound, v.path, v.root), nil
	}
	if len(found) > shownMatches {
		found, more = found[:shownMatches], true
	}
	var b strings.Builder
	fmt.Fprintf(&b, textSearch, v.path)
	space := t.opts.ViewChars
	for i, f := range found {
		row, passage := t.match(ctx, &v.mounts[f.Store], f.Match)
		fits := func(text string) bool {
			return utf8.RuneCountInString(text) <= space && (t.opts.ListingBytes <= 0 || b.Len()+len(text) <= t.opts.ListingBytes)
		}
		shown := row + passage
		if !fits(shown) {
			if i > 0 {
				more = true
				break
			}
			shown = row
		}
		space -= utf8.RuneCountInString(shown)
		b.WriteString(shown)
	}
	if more {
		b.WriteString("\n" + textMoreMatches)
	}
	return b.String(), nil
}

// match returns the row of a match, and its passage, each with a newline before it.
func (t *Tool) match(ctx context.Context, m *mount, f Match) (row, passage string) {
	row = fmt.Sprintf("\n"+textDirEntry, t.opts.Profile.size(f.Memory.Size), m.agentPath(f.Memory.Path))
	if f.Passage.First == 0 {
		return row, ""
	}
	var b strings.Builder
	for i, line := range strings.Split(f.Passage.Text, "\n") {
		b.WriteByte('\n')
		writeLineNumber(&b, f.Passage.First+i)
		b.WriteString(strings.TrimSuffix(line, "\r"))
	}
	b.WriteString(m.passageNotice(ctx, f))
	return row, b.String()
}

// passageNotice returns the line to add to a passage if a view of its lines has one. The
// whole memory is looked at, because a passage may begin or end within what is marked. If
// it cannot be read, the passage is looked at.
func (m *mount) passageNotice(ctx context.Context, f Match) string {
	if _, ok := m.store.detector.(InstructionDetector); !ok {
		return ""
	}
	if k, err := m.store.readSettings(ctx); err != nil || k.masker.settings.Instructions == IgnoreInstructions {
		return ""
	}
	if v, err := m.store.Version(ctx, f.Memory.Version); err == nil {
		return m.viewNotice(ctx, Memory{Path: v.Path, Content: v.Content}, f.Passage.First, f.Passage.Last)
	}
	above := strings.Repeat("\n", f.Passage.First-1)
	return m.viewNotice(ctx, Memory{Path: f.Memory.Path, Content: above + f.Passage.Text}, f.Passage.First, f.Passage.Last)
}

// searchHint returns the notice below the listing of a large directory of a mount.
func (t *Tool) searchHint(m *mount, entries int) string {
	if !t.opts.Search || entries < min(largeListing, t.opts.ViewEntries+1) {
		return ""
	}
	return "\n" + fmt.Sprintf(textSearchHint, m.root, m.root)
}
