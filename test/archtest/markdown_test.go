package archtest

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "wrap the prose of all Markdown files")

// maxColumns is how long a line of prose in Markdown is at most. Tables, code and
// words that cannot be broken may be longer.
const maxColumns = 120

// TestMarkdownLines holds all documents to one wrapping.
func TestMarkdownLines(t *testing.T) {
	for name, text := range documents(t) {
		wrapped := wrapMarkdown(text)
		if *update && wrapped != text {
			if err := os.WriteFile(filepath.Join("..", "..", filepath.FromSlash(name)), []byte(wrapped), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		// What wrapping leaves long, such as a row of a table, may be long.
		may := map[string]bool{}
		for line := range strings.Lines(wrapped) {
			may[line] = true
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxColumns && !may[line] {
				t.Errorf("%s, line %d: prose is longer than %d columns; go test ./test/archtest -run TestMarkdownLines -update wraps it", name, n, maxColumns)
				break // the command wraps all of them
			}
		}
	}
}

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	codeBlock    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	noAnchor     = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestMarkdownLinks checks that the files and headings exist that documents link to.
func TestMarkdownLinks(t *testing.T) {
	docs := documents(t)
	for name, text := range docs {
		for _, m := range markdownLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // on the web
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			} else if anchor != "" && !anchors(docs[file])[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", name, m[1], file)
			}
		}
	}
}

// anchors returns the names under which the headings of a document can be linked to.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		name := noAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

// documents returns the Markdown files of the repository, by their path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	top := os.DirFS(filepath.Join("..", ".."))
	docs := map[string]string{}
	err := fs.WalkDir(top, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base == "node_modules"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		text, err := fs.ReadFile(top, name)
		docs[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) < 10 {
		t.Fatalf("only %d documents found", len(docs))
	}
	return docs
}

var (
	listItem  = regexp.MustCompile(`^ *(?:[-*+]|\d+\.) +`)
	untouched = regexp.MustCompile(`^ *(?:#|\||>|<|\[[^]]*\]: |---$|===)`)
	// frontMatter is the YAML at the beginning of a skill.
	frontMatter = regexp.MustCompile(`\A---\n(?s:.*?)\n---\n`)
	fence       = regexp.MustCompile("^ *(?:```|~~~)")
	// At the beginning of a line these mean something else.
	notFirst = regexp.MustCompile(`^(?:[-*+#>|=]+|\d+\.)$`)
)

// wrapMarkdown fills the paragraphs and list items of a document to maxColumns, and
// leaves everything else as it is.
func wrapMarkdown(text string) string {
	if front := frontMatter.FindString(text); front != "" {
		return front + wrapMarkdown(strings.TrimPrefix(text, front))
	}
	var out strings.Builder
	var words []string // of the paragraph so far
	first, rest := "", ""
	flush := func() {
		writeParagraph(&out, first, rest, words)
		words = nil
	}
	inCode, inItem := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		switch {
		case fence.MatchString(line):
			flush()
			inCode = !inCode
			out.WriteString(line + "\n")
		case inCode, untouched.MatchString(line), len(words) == 0 && !inItem && len(indent) >= 4:
			flush()
			out.WriteString(line + "\n")
		case strings.TrimSpace(line) == "":
			flush()
			out.WriteString("\n")
		case listItem.MatchString(line):
			flush()
			first = listItem.FindString(line)
			rest = strings.Repeat(" ", len(first))
			words, inItem = markdownWords(line[len(first):]), true
		case len(words) == 0: // a paragraph begins
			first, rest = indent, indent
			inItem = inItem && indent != ""
			words = markdownWords(line)
		default:
			words = markdownWords(strings.Join(words, " ") + " " + line)
		}
	}
	flush()
	return out.String()
}

// markdownWords splits text where a line may end, which is not within code.
func markdownWords(text string) (words []string) {
	for word := range strings.FieldsSeq(text) {
		if last := len(words) - 1; last >= 0 && strings.Count(words[last], "`")%2 == 1 {
			words[last] += " " + word
		} else {
			words = append(words, word)
		}
	}
	return words
}

func writeParagraph(out *strings.Builder, first, rest string, words []string) {
	if len(words) == 0 {
		return
	}
	line := first + words[0]
	for i, word := range words[1:] {
		// The next word stays on the line of the one that could not follow it.
		needed := utf8.RuneCountInString(line) + 1 + utf8.RuneCountInString(word)
		if next := i + 2; next < len(words) && notFirst.MatchString(words[next]) {
			needed += 1 + utf8.RuneCountInString(words[next])
		}
		if needed > maxColumns && !notFirst.MatchString(word) {
			out.WriteString(line + "\n")
			line = rest + word
		} else {
			line += " " + word
		}
	}
	out.WriteString(line + "\n")
}

func TestWrapMarkdown(t *testing.T) {
	long := strings.Repeat("word ", 30)
	for name, tt := range map[string]struct{ text, want string }{
		"short":     {"one\ntwo\n", "one two\n"},
		"paragraph": {long + "\n", strings.TrimSpace(long[:120]) + "\n" + strings.TrimSpace(long[120:]) + "\n"},
		"item":      {"- " + long + "\n", "- " + strings.TrimSpace(long[:115]) + "\n  " + strings.TrimSpace(long[115:]) + "\n"},
		"items":     {"- one\n- two\n  more\n", "- one\n- two more\n"},
		"table":     {"| " + long + "|\n", "| " + long + "|\n"},
		"code":      {"```\n" + long + "\nmore\n```\n", "```\n" + long + "\nmore\n```\n"},
		"in code":   {strings.Repeat("x", 112) + " `one two`\n", strings.Repeat("x", 112) + "\n`one two`\n"},
		"front":     {"---\na: b\nc: d\n---\none\ntwo\n", "---\na: b\nc: d\n---\none two\n"},
		"no item":   {strings.Repeat("x", 117) + " y - z\n", strings.Repeat("x", 117) + "\ny - z\n"},
	} {
		if got := wrapMarkdown(tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
