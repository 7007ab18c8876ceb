package memento_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"memento"
	"memento/backend/memstore"
	"memento/sensitive"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

// hostile are contents that careless code changes.
var hostile = map[string]string{
	"CRLF":                "one\r\ntwo\r\n\r\nthree\r\n",
	"mixed line ends":     "one\ntwo\r\nthree\rfour\n\r",
	"no final newline":    "one\ntwo",
	"many final newlines": "one\n\n\n",
	"only newlines":       "\n\n\n",
	"blanks at the ends":  "  \t\n one \t\n\u00a0",
	"other separators":    "one\u2028two\u2029three\u0085four\vfive\fsix\x1cseven\n",
	"emoji":               "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001f3f4\U000e0067\U000e007f\n",
	"not normalized":      "e\u0301 \u00e9 \u212b \ufb01\n",
	"direction marks":     "\u202eabc\u202c \u2066def\u2069\n",
	"byte order mark":     "\ufeffone\n",
	"NUL and controls":    "a\x00b\x01\x1b[31m\x7f\n",
	"replacement marks":   "$& $1 $` $' $$ \\1 \\0 \\n \\g<0> %s %d %!s(MISSING) {{.}} ${x}\n",
	"backticks":           "`one` ```two``` ``` ` ``` \n",
	"JSON and HTML":       "{\"a\": \"\\u00e9\\n\"} <b>&amp;</b> \u2028 </script>\n",
	"a long line":         strings.Repeat("0123456789", 10_200),
	"a notice":            "[Lines 1 to 2 of 3 are shown. To continue, use view_range [3, -1].]\n     1\tx\n",
	"noncharacters":       "\ufffd \ufffe \uffff \U0010ffff\n",
}

// Contents go through every command as they are, whether through Run or the
// typed methods.
func TestByteFidelity(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			s := memories.New(memento.Limits{MemoryBytes: 1 << 20})
			tool := memento.NewTool(s, &memento.ToolOptions{ViewChars: 1 << 20})
			ask := func(in []byte) {
				t.Helper()
				r := tool.Run(t.Context(), in)
				if r.Content == "" || !utf8.ValidString(r.Content) {
					t.Errorf("the answer is %q", r.Content)
				}
				if r.IsError {
					t.Fatalf("%.200s: %s", in, r.Content)
				}
			}
			holds := func(p memento.Path, want string) {
				t.Helper()
				m, err := s.Get(t.Context(), memento.ByPath(p))
				if err != nil {
					t.Fatal(err)
				}
				if m.Content != want || m.Size != int64(len(want)) || m.SHA256 != memento.HashContent(want) {
					t.Fatalf("%s holds %.300q, want %.300q", p, m.Content, want)
				}
			}

			ask(input("create", "path", "/memories/a.md", "file_text", text))
			holds("/a.md", text)
			shown, err := tool.View(t.Context(), "/memories/a.md")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(numberedByHand(text), strings.TrimPrefix(shown, "Here's the content of /memories/a.md with line numbers:\n")); diff != "" {
				t.Error("view (-want +got):\n" + diff)
			}

			// An edit elsewhere in the file.
			ask(input("create", "path", "/memories/b.md", "file_text", "START\n"+text))
			ask(input("str_replace", "path", "/memories/b.md", "old_str", "START", "new_str", "BEGIN"))
			holds("/b.md", "BEGIN\n"+text)
			// As what is put in, and as what is taken out.
			ask(input("str_replace", "path", "/memories/b.md", "old_str", "BEGIN", "new_str", "<"+text+">"))
			holds("/b.md", "<"+text+">\n"+text)
			ask(input("str_replace", "path", "/memories/b.md", "old_str", "<"+text+">", "new_str", ""))
			holds("/b.md", "\n"+text)

			ask(input("insert", "path", "/memories/b.md", "insert_line", 0, "insert_text", "TOP"))
			holds("/b.md", "TOP\n\n"+text)
			ask(input("insert", "path", "/memories/b.md", "insert_line", 1, "insert_text", text))
			holds("/b.md", "TOP\n"+strings.TrimSuffix(text, "\n")+"\n\n"+text)

			ask(input("rename", "old_path", "/memories/a.md", "new_path", "/memories/dir/c.md"))
			holds("/dir/c.md", text)
			ask(input("rename", "old_path", "/memories/dir", "new_path", "/memories/other"))
			holds("/other/c.md", text)

			// The typed methods.
			if _, err := tool.Create(t.Context(), "/memories/d.md", text); err != nil {
				t.Fatal(err)
			}
			holds("/d.md", text)
			if _, err := tool.Insert(t.Context(), "/memories/d.md", 0, text); err != nil {
				t.Fatal(err)
			}
			holds("/d.md", strings.TrimSuffix(text, "\n")+"\n"+text)
			if _, err := tool.StrReplace(t.Context(), "/memories/d.md", strings.TrimSuffix(text, "\n")+"\n"+text, text+"!"); err != nil {
				t.Fatal(err)
			}
			holds("/d.md", text+"!")

			// The store, its listings and its history.
			edited, err := s.Edit(t.Context(), memento.Actor{}, "/d.md", func(old string) (string, error) { return text + old, nil })
			if err != nil {
				t.Fatal(err)
			}
			holds("/d.md", text+text+"!")
			if edited.Memory.Content != text+text+"!" {
				t.Errorf("Edit returned %.300q", edited.Memory.Content)
			}
			v, err := s.Version(t.Context(), edited.Memory.Version)
			if err != nil || v.Content != text+text+"!" {
				t.Errorf("the history holds %.300q, %v", v.Content, err)
			}
			for e, err := range s.List(t.Context(), memento.ListOptions{Dir: "/other", Contents: true}) {
				if err != nil || e.Memory.Content != text {
					t.Errorf("the listing holds %.300q, %v", e.Memory.Content, err)
				}
			}
		})
	}
}

// numberedByHand is what a view of text shows below its header.
func numberedByHand(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = fmt.Sprintf("%6d\t%s", i+1, lines[i])
	}
	return strings.Join(lines, "\n")
}

// A view shows 16,000 characters unless told otherwise, and its notices lead
// through the whole file.
func TestPagingThroughAFile(t *testing.T) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("line %d %s", i+1, strings.Repeat("é", i%40)))
	}
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/long.md", strings.Join(lines, "\n"))
	tool := memento.NewTool(s, nil)
	next := regexp.MustCompile(`\n\[Lines \d+ to \d+ of 2000 are shown\. To continue, use view_range \[(\d+), -1\]\.\]$`)
	var shown []string
	pages := 0
	for from := 1; ; pages++ {
		text, err := tool.ViewLines(t.Context(), "/memories/long.md", from, -1)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(text, "\n")
		m := next.FindStringSubmatch(body)
		if m != nil {
			body = strings.TrimSuffix(body, m[0])
		}
		if n := utf8.RuneCountInString(body); n > 16_000 || m != nil && n < 15_900 {
			t.Errorf("a page from line %d has %d characters", from, n)
		}
		for line := range strings.SplitSeq(body, "\n") {
			shown = append(shown, line[7:])
		}
		if m == nil {
			break
		}
		if from, err = strconv.Atoi(m[1]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(lines, shown); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	if pages < 4 {
		t.Errorf("only %d pages", pages)
	}
}

func TestViewOfALongLine(t *testing.T) {
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/long.md", strings.Repeat("é", 50_000))
	got, err := memento.NewTool(s, nil).View(t.Context(), "/memories/long.md")
	want := "Here's the content of /memories/long.md with line numbers:\n     1\t" + strings.Repeat("é", 15_993) +
		"\n[Only the first 15993 of 50000 characters of line 1 are shown.]"
	if err != nil || got != want {
		t.Errorf("got %d characters, ending in %q, %v", utf8.RuneCountInString(got), got[len(got)-100:], err)
	}
}

func TestViewOfALargeDirectory(t *testing.T) {
	s := memories.New(memento.Limits{})
	var changes []memento.Change
	for i := range 1200 {
		changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%04d.md", i)), Content: "x"})
	}
	if _, err := s.Apply(t.Context(), memento.Actor{}, changes...); err != nil {
		t.Fatal(err)
	}
	got, err := memento.NewTool(s, nil).View(t.Context(), "/memories")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got, "\n")
	if len(lines) != 1003 {
		t.Fatalf("%d lines, want the header, the directory, 1,000 entries and a notice", len(lines))
	}
	want := []string{"1.2K\t/memories", "1B\t/memories/0000.md", "1B\t/memories/0999.md",
		"[Only the first 1000 of 1200 entries are shown. View a subdirectory to see what is in it.]"}
	if diff := cmp.Diff(want, []string{lines[1], lines[2], lines[1001], lines[1002]}); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

// The errors of the typed methods carry their reason.
func TestToolErrors(t *testing.T) {
	s := memories.New(memento.Limits{MemoryBytes: 10})
	memories.Put(t, s, "/a.md", "x\nx\n")
	memories.Put(t, s, "/dir/b.md", "b\n")
	tool := memento.NewTool(s, nil)
	ctx := t.Context()
	only := func(_ string, err error) error { return err }
	tests := []toolError{
		{"view of nothing", only(tool.View(ctx, "/memories/none")), memento.ErrNotExist},
		{"view outside", only(tool.View(ctx, "/etc")), memento.ErrInvalidPath},
		{"lines out of range", only(tool.ViewLines(ctx, "/memories/a.md", 3, -1)), memento.ErrOutOfRange},
		{"lines of a directory", only(tool.ViewLines(ctx, "/memories/dir", 1, -1)), memento.ErrIsDir},
		{"create over a file", only(tool.Create(ctx, "/memories/a.md", "")), memento.ErrExist},
		{"create over a directory", only(tool.Create(ctx, "/memories/dir", "")), memento.ErrIsDir},
		{"create below a file", only(tool.Create(ctx, "/memories/a.md/x", "")), memento.ErrNotDir},
		{"create of a hidden file", only(tool.Create(ctx, "/memories/.x", "")), memento.ErrInvalidPath},
		{"create of too much", only(tool.Create(ctx, "/memories/c.md", "0123456789x")), memento.ErrTooLarge},
		{"create of no text", only(tool.Create(ctx, "/memories/c.md", "\xff")), memento.ErrInvalid},
		{"replace nothing", only(tool.StrReplace(ctx, "/memories/a.md", "", "y")), memento.ErrInvalid},
		{"replace what is not there", only(tool.StrReplace(ctx, "/memories/a.md", "y", "z")), memento.ErrNoMatch},
		{"replace what is there twice", only(tool.StrReplace(ctx, "/memories/a.md", "x", "z")), memento.ErrManyMatches},
		{"replace in nothing", only(tool.StrReplace(ctx, "/memories/none", "x", "z")), memento.ErrNotExist},
		{"insert out of range", only(tool.Insert(ctx, "/memories/a.md", 3, "x")), memento.ErrOutOfRange},
		{"insert into a directory", only(tool.Insert(ctx, "/memories/dir", 0, "x")), memento.ErrIsDir},
		{"delete of nothing", only(tool.Delete(ctx, "/memories/none")), memento.ErrNotExist},
		{"delete of the root", only(tool.Delete(ctx, "/memories")), memento.ErrInvalidPath},
		{"rename of nothing", only(tool.Rename(ctx, "/memories/none", "/memories/x")), memento.ErrNotExist},
		{"rename over a file", only(tool.Rename(ctx, "/memories/dir", "/memories/a.md")), memento.ErrExist},
		{"rename into itself", only(tool.Rename(ctx, "/memories/dir", "/memories/dir/x")), memento.ErrInvalidPath},
	}
	wantToolErrors(t, tests)
	// None of them left a trace.
	info, err := s.Info(ctx)
	if want := (memento.Usage{Memories: 2, Bytes: 6}); err != nil || info.Usage != want {
		t.Errorf("the store holds %v, %v; want %v", info.Usage, err, want)
	}
}

// Inputs too large to be seeds of FuzzToolRun.
func TestHugeInputs(t *testing.T) {
	const noJSON = "Error: The input is not a JSON object: its syntax is broken. Send an object such as {\"command\": \"view\", \"path\": \"/memories\"}."
	nested := func(depth int) string {
		return `{"command":"view","path":"/memories","extra":` + strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat("}", depth) + `}`
	}
	text := strings.Repeat("a", 50*1024)
	deep := "/memories" + strings.Repeat("/a", 10_000)
	tests := []struct{ name, input, want string }{
		{"nested deeply", nested(1000), "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n50.0K\t/memories\n50.0K\t/memories/a.md"},
		{"nested too deeply", nested(100_000), noJSON},
		{"arrays without end", `{"command":"view","path":` + strings.Repeat("[", 1_000_000), noJSON},
		{"a path 10,000 deep", string(input("view", "path", deep)), "Error: Invalid path " + deep[:1024] + "…: it is longer than 1,024 bytes"},
		{"a path 10,000 up", string(input("view", "path", strings.ReplaceAll(deep, "/a", "/.."))), "Error: Path " + strings.ReplaceAll(deep, "/a", "/..")[:1024] + "… would escape /memories directory"},
		{"a path of percent signs", string(input("view", "path", "/memories/"+strings.Repeat("%25", 100_000))), "Error: Invalid path /memories/" + strings.Repeat("%25", 338) + "…: it has a percent-encoded character; write the character itself"},
		{"a long command", string(input(text)), "Error: Unknown command `" + text[:100] + "…`. Use one of: view, create, str_replace, insert, delete, rename."},
		{"a file too large", string(input("create", "path", "/memories/b.md", "file_text", strings.Repeat(text, 40))), "Error: /memories/b.md would have 2,048,000 bytes; one memory can have at most 102,400. Nothing was changed. Shorten it, or split it into several files."},
		{"very many overlapping matches", string(input("str_replace", "path", "/memories/a.md", "old_str", text[:25_000])), "No replacement was performed. Multiple occurrences of old_str `" + text[:25_000] + "` in lines: 1. Please ensure it is unique"},
		{"a number of 10,000 digits", `{"command":"insert","path":"/memories/a.md","insert_line":` + strings.Repeat("9", 10_000) + `,"insert_text":"x"}`, "Error: Invalid `insert_line` parameter: 9223372036854775807. It should be within the range of lines of the file: [0, 1]"},
	}
	s := memories.New(memento.Limits{})
	memories.Put(t, s, "/a.md", text)
	tool := memento.NewTool(s, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tool.Run(t.Context(), []byte(tt.input)).Content; got != tt.want {
				t.Errorf("got %.1200q, want %.1200q", got, tt.want)
			}
		})
	}
}

// The tool records its actor on what it does.
func TestToolActor(t *testing.T) {
	s := memories.New(memento.Limits{})
	by := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"}
	tool := memento.NewTool(s, &memento.ToolOptions{Actor: by})
	for _, in := range [][]byte{
		input("create", "path", "/memories/a.md", "file_text", "a"),
		input("str_replace", "path", "/memories/a.md", "old_str", "a", "new_str", "b"),
		input("insert", "path", "/memories/a.md", "insert_line", 0, "insert_text", "c"),
		input("rename", "old_path", "/memories/a.md", "new_path", "/memories/b.md"),
		input("delete", "path", "/memories/b.md"),
	} {
		if r := tool.Run(t.Context(), in); r.IsError {
			t.Fatal(r.Content)
		}
	}
	var operations []memento.Operation
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if v.CreatedBy != by {
			t.Errorf("%s by %v", v.Operation, v.CreatedBy)
		}
		operations = append(operations, v.Operation)
	}
	want := []memento.Operation{memento.Created, memento.Modified, memento.Modified, memento.Modified, memento.Deleted}
	if diff := cmp.Diff(want, operations); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
}

// block finds a key of several lines.
type block struct{}

func (block) Detect(text string, _ bool) (found []memento.Finding) {
	for _, m := range regexp.MustCompile(`(?s)BEGIN KEY.*?END KEY`).FindAllStringIndex(text, -1) {
		found = append(found, memento.Finding{Kind: "private-key", Start: m[0], End: m[1]})
	}
	return found
}

// The snippet of an edit is where the edit is, although what is replaced before,
// around and in it had other lines.
func TestSnippetOfMaskedText(t *testing.T) {
	const key = "BEGIN KEY\nAAAA\nBBBB\nEND KEY"
	const notice = "\n[Sensitive information was replaced before saving: [REDACTED:private-key] on line %d. Do not save it, in any form; note where it can be found instead.]"
	tests := []struct {
		name, text, old, new string
		want                 string
		line                 int
	}{
		{
			"a key above", "one\n" + key + "\nthree\nfour\nfive\nsix\nseven\neight\n", "six", "6",
			"     4\tfour\n     5\tfive\n     6\t6\n     7\tseven\n     8\teight", 2,
		},
		{
			"a key below", "one\ntwo\nthree\nfour\nfive\nsix\n" + key + "\n", "two", "2",
			"     1\tone\n     2\t2\n     3\tthree\n     4\tfour", 7,
		},
		{
			"the key itself", "one\ntwo\nthree\nfour\nfive\nsix\n", "four", "4a\n" + key + "\n4b",
			"     2\ttwo\n     3\tthree\n     4\t4a\n     5\t[REDACTED:private-key]\n     6\t4b\n     7\tfive\n     8\tsix", 5,
		},
		{
			"the beginning of a key", "one\ntwo\nthree\nX\nBBBB\nEND KEY\nfive\nsix\nseven", "X", "BEGIN KEY\nAAAA",
			"     2\ttwo\n     3\tthree\n     4\t[REDACTED:private-key]\n     5\tfive\n     6\tsix", 4,
		},
		{
			"the end of a key", "one\ntwo\nthree\nBEGIN KEY\nAAAA\nX\nfive\nsix\nseven", "X", "BBBB\nEND KEY",
			"     2\ttwo\n     3\tthree\n     4\t[REDACTED:private-key]\n     5\tfive\n     6\tsix", 4,
		},
		{
			"what stood between", "one\ntwo\nthree\nBEGIN\nKEY\nAAAA\nEND KEY\nfive\nsix\nseven", "\nKEY", " KEY",
			"     2\ttwo\n     3\tthree\n     4\t[REDACTED:private-key]\n     5\tfive\n     6\tsix", 4,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := memstore.New(nil)
			open := func(d memento.Detector) *memento.Store {
				return memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, &memento.StoreOptions{Detector: d})
			}
			memories.Put(t, open(memories.Planted{}), "/a.md", tt.text) // which knows nothing of such keys
			got, err := memento.NewTool(open(block{}), nil).StrReplace(t.Context(), "/memories/a.md", tt.old, tt.new)
			want := "The memory file has been edited.\n" + tt.want + fmt.Sprintf(notice, tt.line)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRunBlock(t *testing.T) {
	const listing = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n0B\t/memories"
	const noJSON = `. Send an object such as {"command": "view", "path": "/memories"}.`
	tests := []struct {
		name, block string
		want        memento.ResultBlock
	}{
		{
			"a whole block", `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: listing},
		},
		{
			"a block with more in it", `{"type":"tool_use","id":"toolu_1","name":"memory","caller":{"type":"direct"},"cache_control":null,"input":{"command":"view","path":"/memories"}}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: listing},
		},
		{
			"a bare input", `{"command":"view","path":"/memories"}`,
			memento.ResultBlock{Content: listing},
		},
		{
			"a bare input with a type of its own", `{"command":"view","path":"/memories","type":"directory","id":"x"}`,
			memento.ResultBlock{Content: listing},
		},
		{
			"a block without a name", `{"type":"tool_use","id":"toolu_1","input":{"command":"view","path":"/memories"}}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: listing},
		},
		{
			"a block without an ID", `{"type":"tool_use","name":"memory","input":{"command":"view","path":"/memories"}}`,
			memento.ResultBlock{Content: listing},
		},
		{
			"a refused command", `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"delete","path":"/memories"}}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: "Error: Cannot delete the /memories directory itself", IsError: true},
		},
		{
			"another tool", `{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"view","path":"/memories"}}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: "Error: Tool 'bash' not found", IsError: true},
		},
		{
			"an input that is no object", `{"type":"tool_use","id":"toolu_1","name":"memory","input":"view"}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: "Error: The input is not a JSON object: it is something else" + noJSON, IsError: true},
		},
		{
			"half a surrogate pair", `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories/\ud800"}}`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: `Error: The input is not a JSON object: it has half of a surrogate pair (\ud800 to \udfff)` + noJSON, IsError: true},
		},
		{
			"a block with more after it", `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories"}} x`,
			memento.ResultBlock{ToolUseID: "toolu_1", Content: "Error: The input is not a JSON object: there is more after the object" + noJSON, IsError: true},
		},
		{
			"no JSON", `view /memories`,
			memento.ResultBlock{Content: "Error: The input is not a JSON object: its syntax is broken" + noJSON, IsError: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Type = "tool_result"
			got := memento.NewTool(memories.New(memento.Limits{}), nil).RunBlock(t.Context(), []byte(tt.block))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
}

// A toolError is what a command has returned, and the reason that it should have.
type toolError struct {
	name string
	err  error
	want error
}

func wantToolErrors(t *testing.T, tests []toolError) {
	t.Helper()
	for _, tt := range tests {
		if _, ok := errors.AsType[*memento.ToolError](tt.err); !ok || !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v; want a *ToolError for %v", tt.name, tt.err, tt.want)
		}
	}
}

// What a tool_use block holds goes in, what its tool_result block holds comes out.
func ExampleTool_Run() {
	ctx := context.Background()
	backend := memstore.New(nil) // sqlitestore.Open keeps them in a file
	defer backend.Close()
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, &memento.ToolOptions{
		Actor: memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"},
	})

	for _, input := range []string{
		`{"command": "create", "path": "/memories/guidelines.md", "file_text": "Answer within a day.\nSign with a name.\n"}`,
		`{"command": "view", "path": "/memories/guidelines.md"}`,
		`{"command": "str_replace", "path": "/memories/guidelines.md", "old_str": "week", "new_str": "month"}`,
	} {
		result := tool.Run(ctx, []byte(input))
		fmt.Println(result.Content, result.IsError)
	}
	// Output:
	// File created successfully at: /memories/guidelines.md false
	// Here's the content of /memories/guidelines.md with line numbers:
	//      1	Answer within a day.
	//      2	Sign with a name. false
	// No replacement was performed, old_str `week` did not appear verbatim in /memories/guidelines.md. true
}

// RunBlock takes whole blocks, as they stand in a message of the Messages API.
func ExampleTool_RunBlock() {
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, nil)

	block := `{"type": "tool_use", "id": "toolu_01", "name": "memory", "input": {"command": "delete", "path": "/memories"}}`
	result := tool.RunBlock(context.Background(), []byte(block))
	answer, _ := json.Marshal(result) // it has nothing that JSON could not hold
	fmt.Println(string(answer))
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_01","content":"Error: Cannot delete the /memories directory itself","is_error":true}
}

// Go programs need no JSON. The error's text is what the agent would read, and
// errors.Is tells why.
func ExampleTool() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, nil)

	if _, err := tool.Create(ctx, "/memories/log.md", "started\n"); err != nil {
		log.Fatal(err)
	}
	if _, err := tool.Insert(ctx, "/memories/log.md", 1, "tests pass"); err != nil {
		log.Fatal(err)
	}
	if _, err := tool.Rename(ctx, "/memories/log.md", "/memories/done/log.md"); err != nil {
		log.Fatal(err)
	}
	text, err := tool.View(ctx, "/memories")
	fmt.Println(text, err)
	_, err = tool.View(ctx, "/memories/log.md")
	fmt.Println(err)
	fmt.Println(errors.Is(err, memento.ErrNotExist))
	// Output:
	// Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:
	// 19B	/memories
	// 19B	/memories/done/
	// 19B	/memories/done/log.md <nil>
	// The path /memories/log.md does not exist. Please provide a valid path.
	// true
}
