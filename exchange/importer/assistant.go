package importer

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// entryLine is an entry as assistants write their memories down when they are asked for a
// list with dates: "[2026-03-01] - text", "- [unknown]: text".
var entryLine = regexp.MustCompile(`^\s*(?:[-*+•]\s+|\d+[.)]\s+)?\[\s*(\d{4}-\d{2}(?:-\d{2})?|\d{4}|[Uu]nknown[^\]]{0,40}|[Nn]o date[^\]]{0,40}|[Dd]ate[^\]]{0,40})\s*\]\s*(?:[-–—:]\s*)?(\S.*)$`)

// headingLine is a line that begins a section: "## Work" or "**Work**".
var headingLine = regexp.MustCompile(`^\s*(?:#{1,6}\s+(.+?)\s*#*|\*\*([^*]+)\*\*:?)\s*$`)

// isAssistantText reports whether most lines of a text, or of the code blocks in it, and
// at least three, are entries of an assistant's memories.
func isAssistantText(start []byte) bool {
	entries, others := 0, 0
	for line := range strings.Lines(inFence(string(start))) {
		switch line = strings.TrimRight(line, "\r\n"); {
		case strings.TrimSpace(line) == "", headingLine.MatchString(line):
		case entryLine.MatchString(line):
			entries++
		case line[0] == ' ', line[0] == '\t': // an entry goes on
		default:
			others++
		}
	}
	return entries >= 3 && entries > 2*others
}

// readAssistant makes a note of each section of an assistant's memories. name is that of
// the file, without its extension.
func readAssistant(ctx context.Context, text, name string, p *pages) error {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[{") || strings.HasPrefix(trimmed, "{") {
		return readClaudeExport(ctx, trimmed, p)
	}
	if name == "" {
		name = "assistant"
	}
	return p.sections(ctx, "", fileName(name), inFence(text))
}

// inFence returns what is in code blocks, if the entries are there: assistants put their
// memories into one, with an introduction before it and a remark after it.
func inFence(text string) string {
	var inside []string
	open, outside := false, 0
	for l := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(l); {
		case strings.HasPrefix(trimmed, "```"):
			open = !open
		case open:
			inside = append(inside, l)
		case entryLine.MatchString(strings.TrimRight(l, "\r\n")):
			outside++
		}
	}
	if len(inside) == 0 || outside > 0 {
		return strings.ReplaceAll(text, "```", "")
	}
	return strings.Join(inside, "")
}

// sections makes a note of each section of a text, below the directory dir, which ends in
// a slash or is empty. What comes before the first heading gets the name first.
func (p *pages) sections(ctx context.Context, dir, first, text string) error {
	heading, at := upperFirst(first), first
	var lines []string
	flush := func() error {
		kept := trimBlank(lines)
		lines = nil
		if len(kept) == 0 {
			return ctx.Err()
		}
		return p.add(dir+at, heading, kept)
	}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		if m := headingLine.FindStringSubmatch(l); m != nil {
			if err := flush(); err != nil {
				return err
			}
			heading = strings.Trim(m[1]+m[2], " *:")
			at = fileName(strings.ToLower(heading))
			continue
		}
		if m := entryLine.FindStringSubmatch(l); m != nil {
			l = "- " + m[2]
			if day := m[1]; day[0] >= '0' && day[0] <= '9' {
				l += " (" + day + ")"
			}
		}
		lines = append(lines, l)
	}
	return flush()
}

func trimBlank(lines []string) []string {
	blank := func(l string) bool { return strings.TrimSpace(l) == "" }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// A claudeMemories is an element of memories.json in an export of Claude's data.
type claudeMemories struct {
	Conversations string            `json:"conversations_memory"`
	Projects      map[string]string `json:"project_memories"` // by the project's ID
}

func readClaudeExport(ctx context.Context, text string, p *pages) error {
	var all []claudeMemories
	if strings.HasPrefix(text, "{") {
		text = "[" + text + "]"
	}
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return malformed(FormatAssistant, "it is neither a list of entries nor Claude's memories.json: %v", err)
	}
	for _, m := range all {
		if err := p.sections(ctx, "", "memories", m.Conversations); err != nil {
			return err
		}
		for _, id := range slices.Sorted(maps.Keys(m.Projects)) {
			if err := p.sections(ctx, "projects/"+fileName(id)+"/", "memories", m.Projects[id]); err != nil {
				return err
			}
		}
	}
	return nil
}

// upperFirst returns a text with its first letter in upper case.
func upperFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(string(r)) + text[size:]
}
