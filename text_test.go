package memento_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/memstore"
)

// broken is a backend whose writes fail.
type broken struct {
	memento.Backend
	err error
}

func (b broken) Apply(context.Context, memento.StoreID, memento.Actor, []memento.Change) ([]memento.Version, error) {
	return nil, &memento.Error{Op: "apply", Path: "/notes.md", Err: b.err}
}

// direct are the answers that no transcript can show: those to faults of the
// storage, and those to what only Go callers can pass.
var direct = []struct {
	name string
	ask  func(t *testing.T) error
	want string
}{
	{
		"no space", createOnBroken(memento.ErrNoSpace),
		"Error: The storage of this memory store is full. Nothing was changed. Tell the user, who has to make room before anything can be saved.",
	},
	{
		"read-only", createOnBroken(memento.ErrReadOnly),
		"Error: The storage of this memory store is read-only. Nothing was changed. Tell the user, who has to allow writing before anything can be saved.",
	},
	{
		"a fault of the storage", createOnBroken(errors.New("dial tcp 10.0.0.1:5432: password is hunter2")),
		"Error: The memory store failed to complete the command on /memories/notes.md. Nothing was changed. Try again; if it fails again, tell the user.",
	},
	{
		"closed", func(t *testing.T) error {
			b := memstore.New(nil)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			_, err := memento.NewTool(memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}), nil).View(t.Context(), "/memories")
			return err
		},
		"Error: The memory store failed to complete the command on /memories. Nothing was changed. Try again; if it fails again, tell the user.",
	},
	{
		"cancelled", func(t *testing.T) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := memento.NewTool(newStore(memento.Limits{}), nil).Create(ctx, "/memories/notes.md", "x")
			return err
		},
		"Error: The command was cancelled before it finished. View /memories/notes.md to see whether it took effect.",
	},
	{
		"timed out", createOnBroken(context.DeadlineExceeded),
		"Error: The command was cancelled before it finished. View /memories/notes.md to see whether it took effect.",
	},
	{
		"the store is gone", func(t *testing.T) error {
			b := memstore.New(nil)
			s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"})
			id, err := s.Ensure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, id); err != nil {
				t.Fatal(err)
			}
			_, err = memento.NewTool(s, nil).View(t.Context(), "/memories")
			return err
		},
		"Error: This memory store no longer exists. Tell the user; nothing can be read or saved.",
	},
	{
		"contents that are no text", func(t *testing.T) error {
			_, err := memento.NewTool(newStore(memento.Limits{}), nil).Create(t.Context(), "/memories/notes.md", "\xff")
			return err
		},
		"Error: The text for /memories/notes.md is not valid UTF-8. Send plain text.",
	},
	{
		"a path that is no text", func(t *testing.T) error {
			_, err := memento.NewTool(newStore(memento.Limits{}), nil).View(t.Context(), "/memories/a\xffb")
			return err
		},
		"Error: Invalid path /memories/a\xffb: it is not valid UTF-8",
	},
	{
		"input that is no text", run("{\"command\": \"view\", \"path\": \"/memories/\xff\"}"),
		"Error: The input is not a JSON object: it is not valid UTF-8. Send an object such as {\"command\": \"view\", \"path\": \"/memories\"}.",
	},
	{
		"another tool", func(t *testing.T) error {
			b := memento.NewTool(newStore(memento.Limits{}), nil).RunBlock(t.Context(), []byte(`{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}`))
			return errors.New(b.Content)
		},
		"Error: Tool 'bash' not found",
	},
	{
		"a directory whose files would get too long paths", func(t *testing.T) error {
			s := newStore(memento.Limits{})
			deep := memento.Path("/d/" + strings.Repeat("x", 900))
			mustPut(t, s, deep, "")
			_, err := memento.NewTool(s, nil).Rename(t.Context(), "/memories/d", "/memories/"+strings.Repeat("y", 200))
			return err
		},
		"Error: Invalid path /memories/" + strings.Repeat("y", 200) + "/" + strings.Repeat("x", 900) + ": it would have 1,102 bytes; at most 1,024 are allowed. Use shorter names.",
	},
	{
		"a block that was not read",
		func(*testing.T) error { return errors.New(memento.TooLong(1 << 20).Content) },
		"Error: The command is longer than 1,048,576 bytes, so it was not read and nothing was done. Send less text at once.",
	},
	{"an empty path", parse(""), `invalid path "": it is empty`},
	{"a relative path", parse("a.md"), `invalid path "a.md": it does not start with a slash`},
	{"the root as a memory", parse("/"), `invalid path "/": it is the root directory, not a file`},
}

// The operator reads the cause of what the agent only reads to have failed, and
// nothing about what the agent did wrong itself.
func TestFaultsAreLogged(t *testing.T) {
	var log strings.Builder
	cause := errors.New("the cable is cut")
	s := memento.OpenNamed(broken{memstore.New(nil), cause}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"})
	tool := memento.NewTool(s, &memento.ToolOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	tool.Run(t.Context(), []byte(`{"command":"view","path":"/memories/none.md"}`))
	tool.Run(t.Context(), []byte(`{"command":"dance"}`))
	if log.Len() > 0 {
		t.Errorf("the agent's own mistakes are logged: %s", log.String())
	}
	r := tool.Run(t.Context(), []byte(`{"command":"create","path":"/memories/notes.md","file_text":"a secret"}`))
	if !r.IsError || strings.Contains(r.Content, "cable") {
		t.Errorf("the agent reads %q", r.Content)
	}
	if text := log.String(); !strings.Contains(text, "create failed") || !strings.Contains(text, cause.Error()) || strings.Contains(text, "secret") {
		t.Errorf("the log reads %q", text)
	}
}

func createOnBroken(err error) func(*testing.T) error {
	return func(t *testing.T) error {
		s := memento.OpenNamed(broken{memstore.New(nil), err}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"})
		_, got := memento.NewTool(s, nil).Create(t.Context(), "/memories/notes.md", "x")
		if !errors.Is(got, err) {
			t.Errorf("%v does not tell %v", got, err)
		}
		return got
	}
}

func run(input string) func(*testing.T) error {
	return func(t *testing.T) error {
		return errors.New(memento.NewTool(newStore(memento.Limits{}), nil).Run(t.Context(), []byte(input)).Content)
	}
}

func parse(path string) func(*testing.T) error {
	return func(*testing.T) error {
		_, err := memento.ParsePath(path)
		return err
	}
}

func TestDirectAnswers(t *testing.T) {
	for _, tt := range direct {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.ask(t)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error("(-want +got):\n" + diff)
			}
		})
	}
}

// TestEverySentence checks that each sentence in text.go is held by a transcript
// or a direct test, and that each refusal in those is a sentence in text.go.
func TestEverySentence(t *testing.T) {
	var answers, refusals []string
	for _, file := range transcripts(t) {
		conversation, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range conversation.Files {
			switch section.Name {
			case "error":
				refusals = append(refusals, answerText(&section))
				fallthrough
			case "result":
				answers = append(answers, answerText(&section))
			}
		}
	}
	for _, d := range direct {
		answers = append(answers, d.want)
	}
	sentences := sentencesOf(t, "text.go")
	if len(sentences) < 50 {
		t.Fatalf("only %d sentences found", len(sentences))
	}
	for name, re := range sentences {
		if !slices.ContainsFunc(answers, re.MatchString) {
			t.Errorf("%s is held by no test: %s", name, re)
		}
	}
	for _, refusal := range refusals {
		known := false
		for name, re := range sentences {
			known = known || strings.HasPrefix(name, "text") && re.MatchString(refusal)
		}
		if !known {
			t.Errorf("not in text.go: %s", refusal)
		}
	}
}

// sentencesOf returns the constants in a file by name, each as a pattern for
// what can be made with it.
func sentencesOf(t *testing.T, name string) map[string]*regexp.Regexp {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Beginnings and parts of answers; all other texts are whole answers.
	beginnings := []string{"textDirectory", "textFile", "textReplaced"}
	parts := []string{"textDirEntry", "textMoreEntries", "textMoreLines", "textCutLine", "textCutLineMore"}
	sentences := map[string]*regexp.Regexp{}
	for _, decl := range file.Decls {
		consts, ok := decl.(*ast.GenDecl)
		if !ok || consts.Tok != token.CONST {
			continue
		}
		for _, spec := range consts.Specs {
			spec := spec.(*ast.ValueSpec)
			literal := spec.Values[0].(*ast.BasicLit)
			format, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			id := spec.Names[0].Name
			pattern := formatPattern(format)
			if strings.HasPrefix(id, "text") && !slices.Contains(parts, id) {
				pattern = "^" + pattern
				if !slices.Contains(beginnings, id) {
					pattern += "$"
				}
			}
			sentences[id] = regexp.MustCompile("(?s)" + pattern)
		}
	}
	return sentences
}

var verb = regexp.MustCompile(`%\d*[a-z]`)

// formatPattern returns a pattern for what a format can give.
func formatPattern(format string) string {
	var b strings.Builder
	end := 0
	for _, at := range verb.FindAllStringIndex(format, -1) {
		b.WriteString(regexp.QuoteMeta(format[end:at[0]]))
		if format[at[1]-1] == 'd' {
			b.WriteString(`-?\d+`)
		} else {
			b.WriteString(`.*?`)
		}
		end = at[1]
	}
	b.WriteString(regexp.QuoteMeta(format[end:]))
	return b.String()
}
