package importer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"memento"
	"memento/internal/notefiles"

	"golang.org/x/text/unicode/norm"
)

// A Format is the form of what is imported.
type Format string

// The formats.
const (
	// FormatNotes are files as they are: each becomes the memory of its name.
	FormatNotes Format = "notes"
	// FormatMemoryTool is the folder of a local memory tool of Anthropic's SDKs, or its
	// parent folder: what is in "memories" becomes the root of the store. Detected if
	// everything is in a folder of that name.
	FormatMemoryTool Format = "memory-tool"
	// FormatAssistant are memories that an assistant has written down: entries such as
	// "[2026-03-01] - text", in a code block or not, with or without headings; or
	// Claude's memories.json. Each heading becomes a note. Detected by its entries.
	FormatAssistant Format = "assistant"
	// FormatMem0 is mem0's JSON of all memories: {"results": [...]} or a list. The
	// memories of one user, agent and category become one note.
	FormatMem0 Format = "mem0"
	// FormatServerMemory is the file of MCP's reference server "memory": JSON lines of
	// entities and relations. Each entity becomes a note.
	FormatServerMemory Format = "server-memory"
)

// Formats returns all formats.
func Formats() []Format {
	return []Format{FormatNotes, FormatMemoryTool, FormatAssistant, FormatMem0, FormatServerMemory}
}

// isDocument reports whether one file of this format has many notes.
func (f Format) isDocument() bool {
	switch f {
	case FormatAssistant, FormatMem0, FormatServerMemory:
		return true
	}
	return false
}

// chooseFormat sets the format of the result: the given one, or what the source shows.
func (s *Source) chooseFormat(c *collector) error {
	f := c.opts.Format
	switch {
	case f != "" && !slices.Contains(Formats(), f):
		return fmt.Errorf("%w: unknown format %q", memento.ErrInvalid, f)
	case f.isDocument() && s.kind != kindFile:
		return malformed(f, "it is not a single file")
	case f == "" && s.kind == kindFile:
		start, _ := s.start.Peek(peekBytes)
		f = detectFormat(start)
	}
	c.res.Format = f
	if f == "" {
		c.res.Format = FormatNotes
	}
	return nil
}

// detectFormat returns the format of a document that begins with start; "" if it has none
// of a document.
func detectFormat(start []byte) Format {
	start = bytes.TrimPrefix(start, []byte("\ufeff"))
	switch text := bytes.TrimSpace(start); {
	case len(text) == 0:
		return ""
	case text[0] == '{' && isGraphLine(text):
		return FormatServerMemory
	case text[0] == '{' || text[0] == '[':
		switch first := firstItem(text); {
		case first["memory"] != nil && (first["id"] != nil || first["hash"] != nil || first["user_id"] != nil):
			return FormatMem0
		case first["conversations_memory"] != nil:
			return FormatAssistant
		}
		if text[0] == '{' {
			return ""
		}
	}
	if isAssistantText(start) {
		return FormatAssistant
	}
	return ""
}

// firstItem returns the first object in JSON that may be cut off: of a list, of the list
// "results", or the object itself.
func firstItem(text []byte) map[string]json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	item := func() (fields map[string]json.RawMessage) {
		if d.More() {
			_ = d.Decode(&fields)
		}
		return fields
	}
	if text[0] == '[' {
		_, _ = d.Token()
		return item()
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(text, &whole) == nil && whole["results"] == nil {
		return whole
	}
	_, _ = d.Token()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		if key != "results" {
			var skipped json.RawMessage
			if d.Decode(&skipped) != nil {
				return nil
			}
			continue
		}
		if start, err := d.Token(); err != nil || start != json.Delim('[') {
			return nil
		}
		return item()
	}
	return nil
}

// maxDocument is the size in bytes up to which a document of many notes is read.
const maxDocument = 64 << 20

// document reads a file of many notes.
func (c *collector) document(ctx context.Context, s *Source, f Format) error {
	most := min(c.opts.MaxBytes, maxDocument)
	text, err := notefiles.ReadText(s.start, most)
	switch {
	case errors.Is(err, memento.ErrTooLarge):
		return fmt.Errorf("%w: a file of the format %s can have %d bytes", memento.ErrTooLarge, f, most)
	case errors.Is(err, notefiles.ErrNotText):
		return malformed(f, "it is not UTF-8 text")
	case err != nil:
		return err
	}
	text = strings.TrimPrefix(text, "\ufeff")
	pages := &pages{collector: c, taken: map[string]bool{}}
	switch f {
	case FormatMem0:
		return readMem0(ctx, text, pages)
	case FormatServerMemory:
		return readGraph(ctx, text, pages)
	}
	return readAssistant(ctx, text, strings.TrimSuffix(s.name, extension(s.name)), pages)
}

// pages makes notes of lines.
type pages struct {
	*collector
	taken map[string]bool // paths in lower case, since some file systems fold it
}

// add adds a note with a heading and lines at a path without extension. If the store's
// limit for a memory is exceeded, it goes on in notes "-2", "-3" and so on. A line may
// have newlines; it is not divided.
func (p *pages) add(at, heading string, lines []string) error {
	most := int(p.limits.MemoryBytes)
	head := "# " + heading + "\n\n"
	var b strings.Builder
	flush := func() error {
		if b.Len() == 0 {
			return nil
		}
		text := head + b.String()
		b.Reset()
		return p.emit(at, text)
	}
	for _, l := range lines {
		if len(head)+len(l)+1 > most {
			p.res.problem(at, memento.ErrTooLarge, "an entry of %d bytes is larger than a memory of this store can be", len(l))
			continue
		}
		if len(head)+b.Len()+len(l)+1 > most {
			if err := flush(); err != nil {
				return err
			}
		}
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return flush()
}

func (p *pages) emit(at, text string) error {
	name := at + ".md"
	for n := 2; p.taken[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d.md", at, n)
	}
	p.taken[strings.ToLower(name)] = true
	rules := notefiles.Rules{Exclude: p.opts.Exclude, Hidden: p.opts.Hidden}
	path, left := rules.Judge(name, 0, -1)
	f := notefiles.File{Name: name, Path: path, Left: left}
	return p.visit(f, func(most int64) (string, error) { return notefiles.ReadText(strings.NewReader(text), most) })
}

// fileName makes a name of a path from a text of another program.
func fileName(text string) string {
	const most = 100 // bytes
	text = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`/\:*?"<>|`, r):
			return '-'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar:
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, norm.NFC.String(text))
	text = strings.Trim(strings.Join(strings.Fields(text), " "), ".- ")
	if len(text) > most {
		text = strings.TrimRight(strings.ToValidUTF8(text[:most], ""), ".- ")
	}
	switch text {
	case "":
		return "unnamed"
	case "node_modules":
		return "node-modules"
	}
	return text
}

// item returns a text as an item of a Markdown list.
func item(text string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// day returns the date of a time in JSON, or "".
func day(t string) string {
	if len(t) >= 10 && t[4] == '-' && t[7] == '-' {
		return t[:10]
	}
	return ""
}

// eachLine calls do for every line that is not empty.
func eachLine(text string, do func(number int, line []byte) error) error {
	r := bufio.NewReader(strings.NewReader(text))
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			if err := do(n, trimmed); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
