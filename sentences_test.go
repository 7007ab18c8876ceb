package memento_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/backend/memstore"
	"memento/test/memories"
)

// broken is a backend whose writes fail.
type broken struct {
	memento.Backend
	err error
}

func (b broken) Apply(context.Context, memento.StoreID, memento.Actor, []memento.Change) (memento.Applied, error) {
	return memento.Applied{}, &memento.Error{Op: "apply", Path: "/notes.md", Err: b.err}
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
		"denied by a server", createOnBroken(memento.ErrDenied),
		"Error: The key in use does not allow this in the memory store. Nothing was changed. Tell the user.",
	},
	{
		"an answer that was lost", createOnBroken(memento.ErrUncertain),
		"Error: The memory store failed, or the connection to it was lost, before it confirmed the command. View /memories/notes.md to see whether the command took effect.",
	},
	{
		"storage that cannot be reached", createOnBroken(fmt.Errorf("%w: dial tcp 10.0.0.1:5432", memento.ErrUnavailable)),
		"Error: The storage of this memory store cannot be reached at present. Nothing was changed. Try again later; if it fails again, tell the user.",
	},
	{
		"a store that cannot be searched", func(t *testing.T) error {
			s := memento.OpenNamed(struct{ memento.Backend }{memstore.New(nil)}, memento.DefaultWorkspace, memento.StoreSpec{Name: "plain"}, memories.Guarded())
			memories.Put(t, s, "/a.md", "a")
			_, err := memento.NewTool(s, &memento.ToolOptions{Search: true}).View(t.Context(), "/memories/.search/a")
			return err
		}, "Error: The files of this memory store cannot be searched. View directories and files instead.",
	},
	{
		"a long search", func(t *testing.T) error {
			_, err := memento.NewTool(memories.New(memento.Limits{}), &memento.ToolOptions{Search: true}).View(t.Context(), "/memories/.search/"+strings.Repeat("word ", 401))
			return err
		}, "Error: What to search for has more than 2000 bytes. Search with fewer words.",
	},
	{
		"other keys", createOnBroken(fmt.Errorf("%w: it needs encryption key 17", memento.ErrDecrypt)),
		"Error: What this memory store holds cannot be decrypted. Nothing was changed. Tell the user, who has to give the right keys.",
	},
	{
		"damaged contents", createOnBroken(&memento.DamageError{Memory: "mem_1", Version: "memver_2", Whole: "memver_1"}),
		"Error: /memories/notes.md is damaged in storage: what it holds is not what was saved, so it cannot be shown or edited. Nothing was changed. Tell the user, who may be able to bring back an earlier version.",
	},
	{
		"a fault of the storage", createOnBroken(errors.New("dial tcp 10.0.0.1:5432: password is hunter2")),
		"Error: The memory store failed to complete the command on /memories/notes.md. Nothing was changed. Try again; if it fails again, tell the user.",
	},
	{
		"something else in the place", createOnBroken(memento.ErrForeign),
		"Error: /memories/notes.md is not a text file that can be read or changed here; it was left alone. Choose another path.",
	},
	{
		"something else in the way", func(t *testing.T) error {
			s := memento.OpenNamed(broken{memstore.New(nil), memento.ErrForeign}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
			_, err := memento.NewTool(s, nil).Delete(t.Context(), "/memories/dir")
			return err
		},
		"Error: /memories/notes.md is not a text file that can be read or changed here; it was left alone. Choose another path.",
	},
	{
		"no detector", func(t *testing.T) error {
			s := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, nil)
			_, err := memento.NewTool(s, nil).Create(t.Context(), "/memories/notes.md", "x")
			if !errors.Is(err, memento.ErrNoDetector) {
				t.Errorf("%v does not tell what is missing", err)
			}
			return err
		},
		"Error: This memory store is not set up to be written to: what looks for sensitive information is missing. Nothing was changed. Tell the user.",
	},
	{
		"a mount that fails", func(t *testing.T) error {
			tool, err := memento.NewScopedTool([]memento.Mount{
				{Name: "user", Store: memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())},
				{Name: "team", Store: memento.OpenNamed(closed(t), memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := tool.View(t.Context(), "/memories")
			if err != nil {
				return err
			}
			_, notice, _ := strings.Cut(text, "\n[") // the rest is held by transcripts
			return errors.New("[" + notice)
		},
		"[What is in /memories/team cannot be shown at present. View it to see why.]",
	},
	{
		"closed", func(t *testing.T) error {
			b := memstore.New(nil)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			_, err := memento.NewTool(memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded()), nil).View(t.Context(), "/memories")
			return err
		},
		"Error: The memory store failed to complete the command on /memories. Nothing was changed. Try again; if it fails again, tell the user.",
	},
	{
		"cancelled", func(t *testing.T) error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := memento.NewTool(memories.New(memento.Limits{}), nil).Create(ctx, "/memories/notes.md", "x")
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
			s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
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
		"Error: This memory store no longer exists. Tell the user; nothing can be read or saved in it.",
	},
	{
		"contents that are no text", func(t *testing.T) error {
			_, err := memento.NewTool(memories.New(memento.Limits{}), nil).Create(t.Context(), "/memories/notes.md", "\xff")
			return err
		},
		"Error: The text for /memories/notes.md is not valid UTF-8. Send plain text.",
	},
	{
		"a path that is no text", func(t *testing.T) error {
			_, err := memento.NewTool(memories.New(memento.Limits{}), nil).View(t.Context(), "/memories/a\xffb")
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
			b := memento.NewTool(memories.New(memento.Limits{}), nil).RunBlock(t.Context(), []byte(`{"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}`))
			return errors.New(b.Content)
		},
		"Error: Tool 'bash' not found",
	},
	{
		"a directory whose files would get too long paths", func(t *testing.T) error {
			s := memories.New(memento.Limits{})
			deep := memento.Path("/d/" + strings.Repeat("x", 900))
			memories.Put(t, s, deep, "")
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
	s := memento.OpenNamed(broken{memstore.New(nil), cause}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
	tool := memento.NewTool(s, &memento.ToolOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	tool.Run(t.Context(), []byte(`{"command":"view","path":"/memories/none.md"}`))
	tool.Run(t.Context(), []byte(`{"command":"dance"}`))
	tool.Run(t.Context(), []byte(`{"command":"create","path":"/memories/sk-test-00000001","file_text":"x"}`))
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

// Nor is the agent's own mistake what a store refuses by its settings.
func TestRefusalsAreNotLogged(t *testing.T) {
	for _, err := range []error{
		memento.ErrProtected, memento.ErrForeign, memento.ErrArchived, &memento.SensitiveError{Found: []memento.FindingLocation{{Kind: "jwt", Line: 1}}},
		&memento.LimitError{Limit: memento.LimitBytes}, context.Canceled,
	} {
		var log strings.Builder
		s := memento.OpenNamed(broken{memstore.New(nil), err}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
		tool := memento.NewTool(s, &memento.ToolOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if r := tool.Run(t.Context(), input("create", "path", "/memories/notes.md", "file_text", "x")); !r.IsError {
			t.Errorf("%v is no error", err)
		}
		if log.Len() > 0 {
			t.Errorf("%v is logged: %s", err, log.String())
		}
	}
}

// unreachable is a backend that cannot be read, and says what was asked of it.
type unreachable struct{ memento.Backend }

func (u unreachable) Get(_ context.Context, _ memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	return memento.Memory{}, &memento.Error{Op: "get", Path: ref.Path, Err: errors.New("the cable is cut")}
}

func (u unreachable) Apply(_ context.Context, _ memento.StoreID, _ memento.Actor, changes []memento.Change) (memento.Applied, error) {
	gone := changes[0].(memento.Remove).Path
	return memento.Applied{}, fmt.Errorf("remove: %w", &memento.Error{Op: "remove", Path: gone, Err: errors.New("the cable is cut")})
}

// whole finds a text that is nothing but a certain path.
type whole struct{}

func (whole) Detect(text string, _ bool) []memento.Finding {
	if text != "/vault" {
		return nil
	}
	return []memento.Finding{{Kind: "place", Start: 0, End: len(text)}}
}

// Paths are not logged, nor what looks sensitive, whatever the store allows, and
// whether or not its settings are known yet.
func TestLogsHoldNothingSensitive(t *testing.T) {
	commands := func(root string, vault bool) [][]byte {
		list := [][]byte{
			input("view", "path", root+"/sk-test-00000001/a.md"),
			input("view", "path", root+"/person-1/a.md"),
			input("str_replace", "path", root+"/of/sk-test-00000001", "old_str", "sk-test-00000002", "new_str", "person-2"),
			input("insert", "path", root+"/person-1", "insert_line", 0, "insert_text", "sk-test-00000002"),
			input("delete", "path", root+"/sk-test-00000001"),
		}
		if vault { // to the detector of the second store
			list = append(list, input("view", "path", root+"/vault"), input("delete", "path", root+"/vault"))
		}
		return list
	}
	open := func(mode memento.SensitiveMode, d memento.Detector) *memento.Store {
		settings := memento.Settings{Sensitive: memento.Sensitive{Mode: mode, Personal: true, Allow: []string{"sk-test-00000001"}}}
		s := memento.OpenNamed(unreachable{memstore.New(nil)}, memento.DefaultWorkspace,
			memento.StoreSpec{Name: "x", Settings: &settings}, &memento.StoreOptions{Detector: d})
		if _, err := s.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, mode := range []memento.SensitiveMode{memento.Mask, memento.Reject, memento.Off} {
		t.Run(string(mode), func(t *testing.T) {
			var log strings.Builder
			opts := &memento.ToolOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))}
			one := open(mode, memories.Planted{})
			several, err := memento.NewScopedTool([]memento.Mount{{Name: "a", Store: one}, {Name: "b", Store: open(mode, whole{})}}, opts)
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			for root, tool := range map[string]*memento.Tool{"/memories": memento.NewTool(one, opts), "/memories/a": several, "/memories/b": several} {
				for _, in := range commands(root, tool == several) {
					asked++
					if r := tool.Run(t.Context(), in); !strings.Contains(r.Content, "failed to complete") {
						t.Errorf("%s: %s", in, r.Content)
					}
				}
			}
			if n := strings.Count(log.String(), "the cable is cut"); n != asked {
				t.Errorf("%d of %d faults are logged", n, asked)
			}
			for _, canary := range []string{"sk-test-0", "person-", "vault", "a.md"} {
				if strings.Contains(log.String(), canary) {
					t.Errorf("the log has %s: %s", canary, log.String())
				}
			}
		})
	}
}

func createOnBroken(err error) func(*testing.T) error {
	return func(t *testing.T) error {
		s := memento.OpenNamed(broken{memstore.New(nil), err}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
		_, got := memento.NewTool(s, nil).Create(t.Context(), "/memories/notes.md", "x")
		if !errors.Is(got, err) {
			t.Errorf("%v does not tell %v", got, err)
		}
		return got
	}
}

func run(input string) func(*testing.T) error {
	return func(t *testing.T) error {
		return errors.New(memento.NewTool(memories.New(memento.Limits{}), nil).Run(t.Context(), []byte(input)).Content)
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

// closed returns a backend that is closed.
func closed(t *testing.T) memento.Backend {
	t.Helper()
	b := memstore.New(nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEverySentence checks that each sentence in sentences.go is held by a transcript
// or a direct test, and that each refusal in those is a sentence in sentences.go.
func TestEverySentence(t *testing.T) {
	var answers, refusals []string
	files, err := filepath.Glob("test/transcripts/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "profile_") {
			continue // texts of others
		}
		conversation, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range conversation.Files {
			switch section.Name {
			case "error":
				refusals = append(refusals, strings.TrimSuffix(string(section.Data), "\n"))
				fallthrough
			case "result":
				answers = append(answers, strings.TrimSuffix(string(section.Data), "\n"))
			}
		}
	}
	for _, d := range direct {
		answers = append(answers, d.want)
	}
	sentences := sentencesOf(t, "sentences.go")
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
			t.Errorf("not in sentences.go: %s", refusal)
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
	beginnings := []string{"textDirectory", "textFile", "textReplaced", "textSearch"}
	parts := []string{
		"textDirEntry", "textMoreEntries", "textMoreLines", "textMoreMatches", "textSearchHint", "textCutLine", "textCutLineMore",
		"textMasked", "textMarked", "textViewMarked", "textNearMemory", "textNearMemories", "textNearBytes",
	}
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
			if spec.Names[0].IsExported() {
				continue // the name of a profile
			}
			pattern := formatPattern(strings.ReplaceAll(format, "%.0s", "")) // which shows nothing
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

func TestProfileNamed(t *testing.T) {
	for _, name := range append(memento.ProfileNames(), "") {
		if p, err := memento.ProfileNamed(name); err != nil || p == nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	_, err := memento.ProfileNamed("cobol")
	if !errors.Is(err, memento.ErrInvalid) || !strings.Contains(err.Error(), "documentation, typescript, python") {
		t.Error(err)
	}
}

// The typed methods answer in the words of the profile, too, with the same errors.
func TestProfileOfMethods(t *testing.T) {
	python, err := memento.ProfileNamed(memento.ProfilePython)
	if err != nil {
		t.Fatal(err)
	}
	tool := memento.NewTool(memories.New(memento.Limits{}), &memento.ToolOptions{Profile: python})
	ctx := t.Context()
	for _, tt := range []struct {
		ask  func() (string, error)
		want string
		err  error
	}{
		{func() (string, error) { return tool.Create(ctx, "/memories/a.md", "a\n") }, "File created successfully at: /memories/a.md", nil},
		{func() (string, error) { return tool.Create(ctx, "/memories/a.md", "a\n") }, "File /memories/a.md already exists", memento.ErrExist},
		{func() (string, error) { return tool.StrReplace(ctx, "/memories/a.md", "", "b") }, "The `old_str` is empty.", memento.ErrInvalid},
		{func() (string, error) { return tool.Insert(ctx, "/memories/a.md", 7, "b") }, "Invalid `insert_line` parameter: 7. It should be within the range [0, 1].", memento.ErrOutOfRange},
		{func() (string, error) { return tool.Delete(ctx, "/memories/b.md") }, "The path /memories/b.md does not exist", memento.ErrNotExist},
	} {
		text, err := tt.ask()
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, tt.want) && tt.err != memento.ErrInvalid || strings.HasPrefix(text, "Error: ") || !errors.Is(err, tt.err) {
			t.Errorf("got %q, %v; want %q, %v", text, err, tt.want, tt.err)
		}
	}
}
