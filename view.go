package memento

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"memento/internal/lines"
)

const maxLines = 999_999 // that fit the six columns of a line number

// numbered returns lines first to last of text, which must exist, with line numbers
// as a view shows them: at most chars characters, and a notice if not all of them fit.
func numbered(text string, first, last, chars int) string {
	total := lines.Count(text)
	until := last // for the notice: the end of the range that continues the view
	if last == total {
		until = -1
	}
	rest := text[lineOffset(text, first):]
	var b strings.Builder
	b.Grow(min(len(rest)+7*(last-first+1), chars+256))
	fits := len(rest)+8*(last-first+1) <= chars // whatever the characters are
	used := 0
	for n := first; n <= last; n++ {
		line, more, _ := strings.Cut(rest, "\n")
		rest = more
		size := 7
		if !fits {
			size += utf8.RuneCountInString(line)
		}
		if n > first {
			size++ // the newline before it
		}
		if used+size > chars {
			switch {
			case n > first:
				fmt.Fprintf(&b, "\n"+textMoreLines, first, n-1, total, n, until)
			case n == last:
				fmt.Fprintf(&b, textCutLine, cutLine(&b, line, n, chars), size-7, n)
			default:
				fmt.Fprintf(&b, textCutLineMore, cutLine(&b, line, n, chars), size-7, n, total, n+1, until)
			}
			return b.String()
		}
		used += size
		if n > first {
			b.WriteByte('\n')
		}
		writeLineNumber(&b, n)
		b.WriteString(line)
	}
	return b.String()
}

// cutLine writes as many characters of a line as fit, and a newline. It returns the
// number of these characters.
func cutLine(b *strings.Builder, line string, n, chars int) int {
	keep := max(chars-7, 1)
	end := 0
	for range keep {
		_, size := utf8.DecodeRuneInString(line[end:])
		end += size
	}
	writeLineNumber(b, n)
	b.WriteString(line[:end])
	b.WriteByte('\n')
	return keep
}

// writeLineNumber writes n right-aligned in six columns, and a tab.
func writeLineNumber(b *strings.Builder, n int) {
	const width = 6
	buf := [width + 20]byte{' ', ' ', ' ', ' ', ' ', ' '}
	text := strconv.AppendInt(buf[:width], int64(n), 10)
	text = append(text, '\t')
	b.Write(text[min(len(text)-1-width, width):])
}

// snippet shows the lines of an edit, from the byte at to the byte end, with
// two lines around them.
func snippet(text string, at, end, chars int) string {
	total := lines.Count(text)
	if total == 0 {
		return ""
	}
	first := min(lineAt(text, at), total)
	last := min(lineAt(text, max(at, end-1)), total)
	return numbered(text, max(first-2, 1), min(last+2, total), chars)
}

// A tree collects the entries of a directory, two levels deep, in the form in which
// the tool shows directories.
type tree struct {
	total   int64
	items   []treeItem
	parents map[string]int // index in items of each first-level directory
}

type treeItem struct {
	name string // below the directory, ending in a slash for directories
	size int64
}

// add counts an entry by its name below the directory, of one or two levels.
// First-level directories are added with their first entry.
func (t *tree) add(name string, dir bool, size int64) {
	t.total += size
	parent, child, deep := strings.Cut(name, "/")
	if hidden(parent) {
		return
	}
	if deep {
		t.items[t.parent(parent)].size += size
		if hidden(child) {
			return
		}
	}
	if dir {
		name += "/"
	}
	t.items = append(t.items, treeItem{name, size})
}

// parent returns the index of a first-level directory.
func (t *tree) parent(name string) int {
	i, seen := t.parents[name]
	if !seen {
		i = len(t.items)
		if t.parents == nil {
			t.parents = map[string]int{}
		}
		t.parents[name] = i
		t.items = append(t.items, treeItem{name: name + "/"})
	}
	return i
}

// show returns the header, the directory, then its entries depth-first by name, at most
// limit of them. p is the directory's path as the agent gave it.
func (t *tree) show(header, p string, limit, maxBytes int, size func(int64) string) string {
	slices.SortFunc(t.items, func(a, b treeItem) int { return byName(a.name, b.name) })
	base := strings.TrimSuffix(p, "/")
	shown := t.items[:min(len(t.items), limit)]
	var b strings.Builder
	b.Grow(len(header) + len(p) + 128 + len(shown)*(len(base)+40))
	fmt.Fprintf(&b, "%s"+textDirEntry, header, size(t.total), base)
	for i, it := range shown {
		bytes := size(it.size)
		if maxBytes > 0 && b.Len()+len(bytes)+len(base)+len(it.name)+3 > maxBytes {
			shown = shown[:i]
			break
		}
		b.WriteByte('\n')
		b.WriteString(bytes)
		b.WriteByte('\t')
		b.WriteString(base)
		b.WriteByte('/')
		b.WriteString(it.name)
	}
	if len(shown) < len(t.items) {
		fmt.Fprintf(&b, "\n"+textMoreEntries, len(shown), len(t.items))
	}
	return b.String()
}

// byName compares paths as a depth-first walk by name meets them: "/" sorts
// before every other byte, so that the entries of a directory come right after it.
func byName(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			if a[i] == '/' {
				return -1
			}
			if b[i] == '/' {
				return 1
			}
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}

// hidden reports whether the tool leaves out directory entries with this name.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

// humanSize writes a size as the tool's documentation does: "512B", "1.5K", "4.0K", "1.2M".
func humanSize(bytes int64) string {
	if bytes < 1024 {
		return strconv.FormatInt(bytes, 10) + "B"
	}
	size, unit := float64(bytes)/1024, 0
	for size >= 1023.95 && unit < 3 { // it would be written as 1024.0
		size /= 1024
		unit++
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + "KMGT"[unit:unit+1]
}
