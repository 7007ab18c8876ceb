package memento_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/maintenance"
	"memento/test/memories"

	"github.com/google/go-cmp/cmp"
)

func TestParseCall(t *testing.T) {
	block := func(input string) string {
		return `{"type":"tool_use","id":"toolu_1","name":"` + memento.ToolName + `","input":` + input + `}`
	}
	const (
		view    = `{"command":"view","path":"/memories/created.md"}`
		create  = `{"command":"create","path":"/memories/view.md","file_text":"x"}`
		replace = `{"command":"str_replace","path":"/memories/view.md","old_str":"view"}`
		insert  = `{"command":"insert","path":"/memories/view.md","insert_line":0,"insert_text":"view"}`
		remove  = `{"command":"delete","path":"/memories/view.md"}`
		rename  = `{"command":"rename","old_path":"/memories/view.md","new_path":"/memories/a.md"}`
	)
	for _, tt := range []struct {
		name, text string
		id         string
		writes     bool
		fails      string // what the error begins with; "" if there is none
	}{
		{"a view", view, "", false, ""},
		{"a create", create, "", true, ""},
		{"a str_replace", replace, "", true, ""},
		{"an insert", insert, "", true, ""},
		{"a delete", remove, "", true, ""},
		{"a rename", rename, "", true, ""},
		{"a block that views", block(view), "toolu_1", false, ""},
		{"a block that writes", block(create), "toolu_1", true, ""},
		{"escapes", `{"type":"tool\u005fuse","\u0069d":"toolu_2","input":{"command":"vi\u0065w","path":"/memories"}}`, "toolu_2", false, ""},
		{"an ID that is no string", `{"type":"tool_use","id":5,"input":` + create + `}`, "", true, ""},
		{"an ID of a bare input", `{"id":"toolu_1","command":"view","path":"/memories"}`, "", false, ""},

		{"nothing", "", "", false, "Error: The input is not a JSON object: its syntax is broken"},
		{"a list", `[` + create + `]`, "", false, "Error: The input is not a JSON object: it is something else"},
		{"no command", `{"path":"/memories/created.md"}`, "", false, "Error: The input has no `command`"},
		{"an unknown command", block(`{"command":"created","path":"/memories"}`), "toolu_1", false, "Error: Unknown command `created`"},
		{"a command that is no string", `{"command":["create"]}`, "", false, "Error: Unknown command `[\"create\"]`"},
		{"no text", block(`{"command":"create","path":"/memories/a"}`), "toolu_1", false, "Error: Missing required field `file_text` for command `create`"},
		{"a line that is no number", `{"command":"insert","path":"/memories/a","insert_line":"1","insert_text":""}`, "", false, "Error: Invalid field `insert_line` for command `insert`"},
		{"another tool", `{"type":"tool_use","id":"toolu_1","name":"bash","input":` + create + `}`, "toolu_1", false, "Error: Tool 'bash' not found"},
		{"no input", `{"type":"tool_use","id":"toolu_1","name":"memory"}`, "toolu_1", false, "Error: The input is not a JSON object: its syntax is broken"},
		{"an input that is no object", block(`"create"`), "toolu_1", false, "Error: The input is not a JSON object: it is something else"},
		{"a key of the input twice", block(`{"command":"view","command":"create","path":"/memories"}`), "toolu_1", false, "Error: The input is not a JSON object: the key \"command\" appears twice"},
		{"a key of the block twice", `{"type":"tool_use","id":"toolu_1","input":{},"input":` + create + `}`, "toolu_1", false, "Error: The input is not a JSON object: the key \"input\" appears twice"},
		{"many keys in the input", block(`{` + manyKeys(101) + `}`), "toolu_1", false, "Error: The input is not a JSON object: it has more than 100 keys"},
		{"not UTF-8", "{\"command\":\"create\",\"path\":\"/memories/\xff\",\"file_text\":\"\"}", "", false, "Error: The input is not a JSON object: it is not valid UTF-8"},
		{"half a character in the input", block(`{"command":"create","path":"/memories/a","file_text":"\ud800"}`), "toolu_1", false, "Error: The input is not a JSON object: it has half of a surrogate pair"},
	} {
		call, err := memento.ParseCall([]byte(tt.text))
		if call.ID != tt.id || call.Writes() != tt.writes {
			t.Errorf("%s: ID %q, writes %v; want %q, %v", tt.name, call.ID, call.Writes(), tt.id, tt.writes)
		}
		if _, ok := errors.AsType[*memento.ToolError](err); (err != nil) != (tt.fails != "") || err != nil && (!ok || !errors.Is(err, memento.ErrInvalid) || !strings.HasPrefix(err.Error(), tt.fails)) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.fails)
		}
		result := memento.NewTool(memories.New(memento.Limits{}), nil).RunCall(t.Context(), call)
		if result.ToolUseID != tt.id || result.Type != "tool_result" || err != nil && (!result.IsError || result.Content != err.Error()) {
			t.Errorf("%s: the answer is %+v", tt.name, result)
		}
		again := memento.NewTool(memories.New(memento.Limits{}), nil).RunBlock(t.Context(), []byte(tt.text))
		if again != result {
			t.Errorf("%s: RunBlock answers %+v; want %+v", tt.name, again, result)
		}
	}
}

// manyKeys returns members with so many different keys.
func manyKeys(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = `"` + strings.Repeat("x", i+1) + `":1`
	}
	return strings.Join(members, ",")
}

// A call is parsed once, and can be executed by several tools, and several times.
func TestRunCallAgain(t *testing.T) {
	call, err := memento.ParseCall([]byte(`{"command":"insert","path":"/memories/a.md","insert_line":0,"insert_text":"x\n"}`))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := memories.New(memento.Limits{})
		memories.Put(t, s, "/a.md", "")
		tool := memento.NewTool(s, nil)
		for range 2 {
			if r := tool.RunCall(t.Context(), call); r.IsError {
				t.Fatal(r.Content)
			}
		}
		if m, err := s.Get(t.Context(), memento.ByPath("/a.md")); err != nil || m.Content != "x\nx\n" {
			t.Errorf("%q, %v", m.Content, err)
		}
	}
	if r := memento.NewTool(memories.New(memento.Limits{}), nil).RunCall(t.Context(), memento.Call{}); !r.IsError || !strings.Contains(r.Content, "`command`") {
		t.Errorf("the zero Call: %+v", r)
	}
}

// Result.Err is the storage's error, and none of the agent's; no JSON has it.
func TestResultErr(t *testing.T) {
	tool := memento.NewTool(memories.New(memento.Limits{MemoryBytes: 10}), nil)
	for _, input := range []string{
		`{"command":"view","path":"/memories"}`,
		`{"command":"view","path":"/memories/none"}`,
		`{"command":"view","path":"/etc"}`,
		`{"command":"create","path":"/memories/a","file_text":"far too large a text"}`,
		`{"command":"delete","path":"/memories"}`,
		`{"command":"touch"}`,
		`{`,
	} {
		if r := tool.Run(t.Context(), []byte(input)); r.Err != nil {
			t.Errorf("%s: Err is %v", input, r.Err)
		}
	}
	for _, cause := range []error{errors.New("the cable is cut"), memento.ErrUnavailable, memento.ErrNoSpace, memento.ErrUncertain} {
		s := memento.OpenNamed(broken{memstore.New(nil), cause}, memento.DefaultWorkspace, memento.StoreSpec{Name: "x"}, memories.Guarded())
		tool := memento.NewTool(s, nil)
		input := []byte(`{"command":"create","path":"/memories/notes.md","file_text":"x"}`)
		if r := tool.Run(t.Context(), input); !r.IsError || !errors.Is(r.Err, cause) {
			t.Errorf("Err is %v; want %v", r.Err, cause)
		}
		block := tool.RunBlock(t.Context(), input)
		if !block.IsError || !errors.Is(block.Err, cause) {
			t.Errorf("Err of the block is %v; want %v", block.Err, cause)
		}
		text, err := json.Marshal(block)
		if err != nil || strings.Contains(string(text), cause.Error()) {
			t.Errorf("the block is sent as %s, %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := tool.Run(ctx, []byte(`{"command":"view","path":"/memories"}`)); r.Err != nil {
		t.Errorf("after it was cancelled, Err is %v", r.Err)
	}
}

// A missing store is noticed when the tool is made, not when it is used.
func TestNewToolWithoutStore(t *testing.T) {
	defer func() {
		if text, ok := recover().(string); !ok || !strings.Contains(text, "the store is nil") {
			t.Errorf("the panic is %q", text)
		}
	}()
	memento.NewTool(nil, nil)
}

// A call of an interrupted conversation is executed only if it changes nothing.
func TestInterrupted(t *testing.T) {
	store := memories.New(memento.Limits{})
	memories.Put(t, store, "/a.md", "text\n")
	tool := memento.NewTool(store, nil)
	for _, tt := range []struct{ input, want string }{
		{`{"command":"view","path":"/memories/a.md"}`, "Here's the content of /memories/a.md with line numbers:\n     1\ttext"},
		{`{"command":"delete","path":"/memories/a.md"}`, "Error: The command was cancelled before it finished. View /memories/a.md to see whether it took effect."},
		{`{"command":"rename","old_path":"/memories/a.md","new_path":"/memories/b.md"}`, "Error: The command was cancelled before it finished. View /memories/b.md to see whether it took effect."},
		{`{"command":"create","path":"/memories/c.md"}`, "Error: Missing required field `file_text` for command `create`."},
	} {
		c, _ := memento.ParseCall([]byte(tt.input))
		r := tool.Interrupted(t.Context(), c)
		if r.Content != tt.want || r.IsError != strings.HasPrefix(tt.want, "Error: ") || r.Type != "tool_result" {
			t.Errorf("%s: %+v", tt.input, r)
		}
	}
	if m, err := store.Get(t.Context(), memento.ByPath("/a.md")); err != nil || m.Content != "text\n" {
		t.Errorf("%q, %v", m.Content, err)
	}
}

// input returns a command as an agent sends it. args are names and values.
func input(command string, args ...any) []byte {
	object := map[string]any{"command": command}
	for i := 0; i < len(args); i += 2 {
		object[fmt.Sprint(args[i])] = args[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err) // only strings and numbers go in
	}
	return raw
}

// A witness keeps what it is told.
type witness struct {
	mu   sync.Mutex
	seen []memento.Observation
}

func (w *witness) observe(_ context.Context, o memento.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, o)
}

// told returns what was told since it was last asked.
func (w *witness) told() []memento.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// ops returns which operations were told since it was last asked.
func (w *witness) ops() (ops []string) {
	for _, o := range w.told() {
		ops = append(ops, o.Op)
	}
	return ops
}

// watched returns a store that is watched, its ID and its witness.
func watched(t *testing.T, b memento.Backend) (*memento.Store, memento.StoreID, *witness) {
	t.Helper()
	w := &witness{}
	opts := memories.Guarded()
	opts.Observe = w.observe
	s := memento.OpenNamed(b, workspace, memento.StoreSpec{Name: "notes"}, opts)
	id, err := s.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if told := w.told(); len(told) != 0 {
		t.Fatalf("told of looking it up: %+v", told)
	}
	return s, id, w
}

// Every call is told once, with what it came to.
func TestObserve(t *testing.T) {
	b := memstore.New(nil)
	s, id, w := watched(t, b)
	memories.Put(t, s, "/a", "one")
	memories.Put(t, s, "/a", "two")
	memories.Put(t, s, "/b", "three")
	first := memories.Versions(t, s, memento.VersionListOptions{})[0]
	w.told()
	ctx := t.Context()
	tests := []struct {
		op  string
		do  func() error
		err error
	}{
		{"get", func() error { _, err := s.Get(ctx, memento.ByPath("/a")); return err }, nil},
		{"get", func() error { _, err := s.Get(ctx, memento.ByPath("/missing")); return err }, memento.ErrNotExist},
		{"list", func() error { return lastError(s.List(ctx, memento.ListOptions{})) }, nil},
		{"list", func() error {
			for _, err := range s.List(ctx, memento.ListOptions{}) {
				return err // its caller goes away
			}
			return nil
		}, nil},
		{"search", func() error { _, err := s.Search(ctx, memento.SearchOptions{Query: "two"}); return err }, nil},
		{"get version", func() error { _, err := s.Version(ctx, first.ID); return err }, nil},
		{"get version", func() error { _, err := s.Version(ctx, "memver_unknown"); return err }, memento.ErrNotExist},
		{"list versions", func() error { return lastError(s.Versions(ctx, memento.VersionListOptions{})) }, nil},
		{"redact", func() error { _, err := s.Redact(ctx, first.ID, ann); return err }, nil},
		{"redact", func() error { _, err := s.Redact(ctx, "memver_unknown", ann); return err }, memento.ErrNotExist},
		{"apply", func() error { _, err := s.Apply(ctx, ann, memento.Put{Path: "/c", Content: "x"}); return err }, nil},
		{"apply", func() error { _, err := s.Apply(ctx, ann); return err }, nil},
		{"apply", func() error { _, err := s.Apply(ctx, ann, memento.Remove{Path: "/missing"}); return err }, memento.ErrNotExist},
		{"import", func() error { _, err := s.Import(ctx, nil); return err }, nil},
		{"import", func() error { _, err := s.Import(ctx, []memento.Version{{}}); return err }, memento.ErrInvalid},
		{"prune", func() error { _, err := maintenance.PruneHistory(ctx, s, time.Now(), false); return err }, nil},
	}
	for _, tt := range tests {
		before := time.Now()
		err := tt.do()
		if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.op, err, tt.err)
		}
		told := w.told()
		if len(told) != 1 {
			t.Errorf("%s: told %+v", tt.op, told)
			continue
		}
		o := told[0]
		if o.Op != tt.op || o.Store != id || o.Err != err {
			t.Errorf("%s: told %+v; its caller got %v", tt.op, o, err)
		}
		if o.Start.Before(before) || o.Took < 0 || o.Start.Add(o.Took).After(time.Now()) {
			t.Errorf("%s: from %v, for %v", tt.op, o.Start, o.Took)
		}
	}

	// What does more asks more, and what is refused before asks nothing.
	for name, tt := range map[string]struct {
		do   func() error
		want []string
	}{
		"edit": {func() error {
			_, err := s.Edit(ctx, ann, "/b", func(old string) (string, error) { return old + "x", nil })
			return err
		}, []string{"get", "apply"}},
		"delete":       {func() error { return s.DeleteMemory(ctx, ann, idOf(b, id, "/c"), "") }, []string{"get", "apply"}},
		"path":         {func() error { _, _ = s.Get(ctx, memento.ByPath("a//b")); return nil }, nil},
		"listing":      {func() error { _ = lastError(s.List(ctx, memento.ListOptions{Dir: "a"})); return nil }, nil},
		"detector":     {func() error { _, _ = s.Apply(ctx, ann, memento.Put{Path: "/" + testKey}); return nil }, nil},
		"information":  {func() error { _, err := s.Info(ctx); return err }, nil},
		"what is kept": {func() error { _, err := maintenance.PruneHistory(ctx, s, time.Now(), true); return err }, []string{"prune"}},
	} {
		if err := tt.do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, w.ops()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	// Of a store that is gone, every call fails, and is told.
	if err := b.DeleteStore(ctx, workspace, id); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		lastError(s.List(ctx, memento.ListOptions{})), lastError(s.Versions(ctx, memento.VersionListOptions{})),
	} {
		if !errors.Is(err, memento.ErrNoStore) {
			t.Error(err)
		}
	}
	for _, o := range w.told() {
		if !errors.Is(o.Err, memento.ErrNoStore) {
			t.Errorf("%s: told of %v", o.Op, o.Err)
		}
	}
}

func lastError[T any](seq func(func(T, error) bool)) (last error) {
	for _, err := range seq {
		last = err
	}
	return last
}

func idOf(b memento.Backend, store memento.StoreID, p memento.Path) memento.MemoryID {
	m, _ := b.Get(context.Background(), store, memento.ByPath(p))
	return m.ID
}

// An apply is told with its receipt, but not with what was never written.
func TestObserveReceipts(t *testing.T) {
	b := memstore.New(nil)
	s, id, w := watched(t, b)
	r, err := s.Apply(t.Context(), ann, memento.Put{Path: "/a", Content: testKey})
	if err != nil {
		t.Fatal(err)
	}
	told := w.told()
	if len(told) != 1 || len(told[0].Receipt.Masked) != 1 {
		t.Fatalf("told %+v", told)
	}
	if diff := cmp.Diff(r.Applied, told[0].Receipt.Applied); diff != "" {
		t.Error("versions and usage (-returned +told):\n" + diff)
	}
	if diff := cmp.Diff(r.Masked, told[0].Receipt.Masked); diff != "" {
		t.Error("masked (-returned +told):\n" + diff)
	}
	if _, err := s.Apply(t.Context(), ann, memento.Put{Path: "/a", Content: testKey, If: memento.IfAbsent()}); !errors.Is(err, memento.ErrExist) {
		t.Fatal(err)
	}
	told = w.told()
	if len(told) != 1 || !errors.Is(told[0].Err, memento.ErrExist) || told[0].Receipt.Masked != nil || told[0].Receipt.Versions != nil {
		t.Errorf("of what was refused: %+v", told)
	}

	// By settings that do not hold any more, the backend is asked again.
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	if _, err := b.UpdateStore(t.Context(), workspace, id, memento.StoreUpdate{Settings: &settings}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), ann, memento.Put{Path: "/b", Content: testKey}); err != nil {
		t.Fatal(err)
	}
	told = w.told()
	if len(told) != 2 || !errors.Is(told[0].Err, memento.ErrConflict) || told[1].Err != nil || len(told[1].Receipt.Versions) != 1 || told[1].Receipt.Masked != nil {
		t.Errorf("of a change by other rules: %+v", told)
	}

	// An import, and what a scan has found, are told as well.
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	v := memento.Version{ID: "memver_1", Memory: "mem_1", Operation: memento.Created, Path: "/c", Content: "text", SHA256: memento.HashContent("text"), CreatedAt: at}
	if _, err := s.Import(t.Context(), []memento.Version{v}); err != nil {
		t.Fatal(err)
	}
	if ops := w.ops(); !cmp.Equal(ops, []string{"import"}) {
		t.Errorf("an import: %q", ops)
	}
	fixed := 0
	for x, err := range s.Scan(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		fixed++
		w.told()
		if err := s.Fix(t.Context(), ann, x, false); err != nil {
			t.Fatal(err)
		}
		told := w.told()
		if len(told) != 3 || told[0].Op != "get version" || told[1].Op != "apply" || len(told[1].Receipt.Versions) != 1 || told[2].Op != "redact" {
			t.Errorf("a fix: %+v", told)
		}
	}
	if fixed != 1 {
		t.Errorf("%d versions were fixed, want 1", fixed)
	}
}

// A store that keeps no history prunes after every write.
func TestObserveForgetting(t *testing.T) {
	s, b := screened(t, func(s *memento.Settings) { s.Retention = memento.Retention{} })
	id, err := s.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{}
	opts := memories.Guarded()
	opts.Observe = w.observe
	if s, err = memento.OpenStore(t.Context(), b, workspace, id, opts); err != nil {
		t.Fatal(err)
	}
	memories.Put(t, s, "/a", "one")
	if ops := w.ops(); !cmp.Equal(ops, []string{"apply", "prune"}) {
		t.Errorf("told %q", ops)
	}
}

// Nobody need watch.
func TestNobodyObserves(t *testing.T) {
	s := memento.OpenNamed(memstore.New(nil), workspace, memento.StoreSpec{Name: "notes"}, memories.Guarded())
	memories.Put(t, s, "/a", "one")
	reads, writes := everyUse(t, s)
	for name, err := range writes {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"Get", "List", "Versions", "Search", "Edit"} {
		if err := reads[name]; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
