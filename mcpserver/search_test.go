package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/memstore"
	"memento/mcpserver"
	"memento/test/memories"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answerOf returns a tool's answer as text and as structured content.
func answerOf(t *testing.T, session *mcp.ClientSession, tool string, arguments any, into any) string {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	shown := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		t.Fatalf("%s: %s", tool, shown)
	}
	encoded, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, into); err != nil {
		t.Fatal(err)
	}
	if len(shown) > mcpserver.MaxAnswerBytes || len(encoded) > mcpserver.MaxAnswerBytes {
		t.Errorf("%s answered %d bytes of text and %d of JSON; at most %d are promised", tool, len(shown), len(encoded), mcpserver.MaxAnswerBytes)
	}
	return shown
}

type found struct {
	Matches []struct {
		Path      string `json:"path"`
		Line      int    `json:"line"`
		FirstLine int    `json:"first_line"`
		LastLine  int    `json:"last_line"`
		Passage   string `json:"passage"`
		Score     float64
		Words     []string
	} `json:"matches"`
	Next string `json:"next_cursor"`
	More bool   `json:"more"`
}

func TestSearch(t *testing.T) {
	store := newStore("default")
	memories.Put(t, store, "/diet.md", "# Diet\n\nno nuts\nlikes mango\nand tea\nand rice\n")
	memories.Put(t, store, "/work/tea.md", "a list")
	memories.Put(t, store, "/.hidden.md", "tea")
	session := connect(t, newServer(t, store, mcpserver.Options{}), "2026-07-28", nil)
	var got found
	shown := answerOf(t, session, "memory_search", args{"query": "does she eat nuts or mangos?"}, &got)
	if !strings.HasPrefix(shown, "/memories/diet.md\n") || !strings.Contains(shown, "\n     3\tno nuts\n     4\tlikes mango") {
		t.Errorf("the text is %q", shown)
	}
	if len(got.Matches) != 1 {
		t.Fatalf("the matches are %+v", got.Matches)
	}
	best := got.Matches[0]
	lines := strings.Split("# Diet\n\nno nuts\nlikes mango\nand tea\nand rice", "\n")
	if want := strings.Join(lines[best.FirstLine-1:best.LastLine], "\n"); best.Path != "/memories/diet.md" || best.Passage != want || best.FirstLine > 3 || best.LastLine < 4 {
		t.Errorf("the passage is that of the lines %d to %d, %q; want %q", best.FirstLine, best.LastLine, best.Passage, want)
	}
	if best.Line != 3 && best.Line != 4 || best.Score <= 0 || !slices.Equal(best.Words, []string{"nuts", "mango"}) {
		t.Errorf("the match is %+v", best)
	}
	got = found{}
	answerOf(t, session, "memory_search", args{"query": "tea -rice"}, &got)
	if len(got.Matches) != 1 || got.Matches[0].Path != "/memories/work/tea.md" {
		t.Errorf("without rice the matches are %+v", got.Matches)
	}
	answerOf(t, session, "memory_search", args{"query": "tea"}, &got)
	if len(got.Matches) != 2 {
		t.Errorf("the matches are %+v; hidden files are not shown", got.Matches)
	}
	got = found{}
	answerOf(t, session, "memory_search", args{"query": "tea", "path": "/memories/work"}, &got)
	if len(got.Matches) != 1 || got.Matches[0].Path != "/memories/work/tea.md" {
		t.Errorf("the matches are %+v", got.Matches)
	}
	for _, bad := range []args{{}, {"query": " "}, {"query": "x", "limit": 0}, {"query": 5}, {"query": "x", "cursor": "-1"}, {"query": "x", "path": "/etc"}} {
		if text, isError := call(t, session, "memory_search", bad); !isError || !strings.HasPrefix(text, "Error: ") {
			t.Errorf("%v: answered %q", bad, text)
		}
	}
}

// A search that cannot show all its matches says so.
func TestSearchSaysWhatIsMissing(t *testing.T) {
	store := newStore("default")
	fill := func(form string, files int) {
		t.Helper()
		var changes []memento.Change
		for i := range files {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf(form, i)), Content: "needle"})
		}
		for batch := range slices.Chunk(changes, 500) {
			if _, err := store.Apply(t.Context(), memento.Actor{}, batch...); err != nil {
				t.Fatal(err)
			}
		}
	}
	fill("/many/%d.md", 1200)
	fill("/few/%d.md", 3)
	session := connect(t, newServer(t, store, mcpserver.Options{}), "2026-07-28", nil)
	// all follows the cursors to the end.
	all := func(path string) (matches int, last string, got found) {
		t.Helper()
		for {
			cursor := got.Next
			got = found{}
			last = answerOf(t, session, "memory_search", args{"query": "needle", "path": path, "limit": 50, "cursor": cursor}, &got)
			matches += len(got.Matches)
			if got.Next == "" {
				return matches, last, got
			}
			if got.More {
				t.Error("an answer with a cursor says that no cursor leads on")
			}
		}
	}
	const sentence = "There may be more matches"
	if n, last, got := all("/memories/many"); n >= 1200 || !got.More || !strings.Contains(last, sentence) {
		t.Errorf("%d matches, and more: %v: …%s", n, got.More, last[max(0, len(last)-200):])
	}
	if n, last, got := all("/memories/few"); n != 3 || got.More || strings.Contains(last, sentence) {
		t.Errorf("%d matches, and more: %v: %s", n, got.More, last)
	}
	// Hidden files, which are not shown, may take all places of an answer.
	store = newStore("hidden")
	fill("/.hidden/%d.md", 10_000)
	session = connect(t, newServer(t, store, mcpserver.Options{}), "2026-07-28", nil)
	if n, last, got := all("/memories"); n != 0 || !got.More || !strings.Contains(last, sentence) {
		t.Errorf("%d matches, and more: %v: %s", n, got.More, last)
	}
}

// Whatever is stored, no answer is larger than promised, and following the cursors leads
// to everything.
func TestBounds(t *testing.T) {
	store := newStore("default")
	const files = 150
	for i := range files {
		name := fmt.Sprintf("/%03d-%s.md", i, strings.Repeat("long name ", 20))
		memories.Put(t, store, memento.Path(name), strings.Repeat("\"needle\" <&>\t\n", 100))
	}
	session := connect(t, newServer(t, store, mcpserver.Options{History: true}), "2026-07-28", nil)
	if text, isError := call(t, session, "memory", args{"command": "view", "path": "/memories"}); isError || len(text) > mcpserver.MaxAnswerBytes {
		t.Errorf("the listing has %d bytes", len(text))
	} else if !strings.Contains(text, "entries are shown") {
		t.Errorf("the listing does not say that it is not complete: …%s", text[len(text)-200:])
	}
	seen := map[string]bool{}
	for cursor, pages := "", 0; ; pages++ {
		var got found
		shown := answerOf(t, session, "memory_search", args{"query": "needle", "limit": 50, "cursor": cursor}, &got)
		for _, m := range got.Matches {
			seen[m.Path] = true
		}
		if got.Next == "" {
			break
		}
		if !strings.Contains(shown, fmt.Sprintf("cursor %q", got.Next)) || pages > files {
			t.Fatalf("the text does not say how to go on: …%s", shown[max(len(shown)-200, 0):])
		}
		cursor = got.Next
	}
	if len(seen) != files {
		t.Errorf("the pages of the search have %d files; want %d", len(seen), files)
	}
	clear(seen)
	for cursor := ""; ; {
		var got struct {
			Versions []struct{ ID string }
			Next     string `json:"next_cursor"`
		}
		answerOf(t, session, "memory_history", args{"limit": 100, "cursor": cursor}, &got)
		for _, v := range got.Versions {
			seen[v.ID] = true
		}
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	if len(seen) != files {
		t.Errorf("the pages of the history have %d versions; want %d", len(seen), files)
	}
}

// The bounds hold for folders that are read as resources, for several stores at once, for the
// text of a version, and for texts in which each character has many bytes.
func TestBoundsOfAnyForm(t *testing.T) {
	one, two := newStore("one"), newStore("two")
	for _, store := range []*memento.Store{one, two} {
		var changes []memento.Change
		for i := range 400 {
			changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/%03d-%s.md", i, strings.Repeat("日本語", 15))), Content: strings.Repeat("茶\"\\\u2028", 2000)})
		}
		if _, err := store.Apply(t.Context(), memento.Actor{}, changes...); err != nil {
			t.Fatal(err)
		}
	}
	s := newServer(t, nil, mcpserver.Options{Tools: mcpserver.SixTools, History: true, Open: func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
		return mcpserver.Memory{Mounts: []memento.Mount{{Name: "one", Store: one}, {Name: "two", Store: two}}}, nil
	}})
	session := connect(t, s, "2026-07-28", nil)
	for _, dir := range []string{"/memories", "/memories/one", "/memories/two/"} {
		text, isError := call(t, session, "memory_view", args{"path": dir})
		if isError || len(text) > mcpserver.MaxAnswerBytes || !strings.Contains(text, "entries are shown") {
			t.Errorf("the listing of %s has %d bytes: …%s", dir, len(text), text[max(0, len(text)-200):])
		}
	}
	for _, uri := range []string{"memory:///memories/", "memory:///memories/one/"} {
		got, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(got.Contents[0].Text) > mcpserver.MaxAnswerBytes {
			t.Errorf("%s has %d bytes, %v", uri, len(got.Contents[0].Text), err)
		}
	}
	var matches found
	answerOf(t, session, "memory_search", args{"query": "茶", "limit": 50}, &matches)
	if len(matches.Matches) == 0 || matches.Next == "" {
		t.Errorf("%d matches, and the cursor %q", len(matches.Matches), matches.Next)
	}
	var past struct {
		Versions []struct{ ID string }
		Text     string
	}
	answerOf(t, session, "memory_history", args{"limit": 1}, &past)
	shown := answerOf(t, session, "memory_history", args{"version": past.Versions[0].ID}, &past)
	if past.Text == "" || !strings.Contains(shown, "bytes are shown") {
		t.Errorf("the text of a version has %d bytes: …%s", len(past.Text), shown[max(0, len(shown)-200):])
	}
}

func TestHistoryAndRestore(t *testing.T) {
	store := newStore("default")
	session := connect(t, newServer(t, store, mcpserver.Options{History: true}), "2026-07-28", nil)
	for _, input := range []args{
		{"command": "create", "path": "/memories/a.md", "file_text": "first"},
		{"command": "str_replace", "path": "/memories/a.md", "old_str": "first", "new_str": "second"},
		{"command": "delete", "path": "/memories/a.md"},
	} {
		if text, isError := call(t, session, "memory", input); isError {
			t.Fatal(text)
		}
	}
	var got struct {
		Versions []struct{ ID, Operation, Path, By string }
		Text     string
	}
	answerOf(t, session, "memory_history", args{"path": "/memories/a.md"}, &got)
	if len(got.Versions) != 3 || got.Versions[0].Operation != "deleted" || got.Versions[2].Path != "/memories/a.md" || got.Versions[0].By != "session sesn_test" {
		t.Fatalf("the versions are %+v", got.Versions)
	}
	oldest := got.Versions[2].ID
	answerOf(t, session, "memory_history", args{"version": oldest}, &got)
	if got.Text != "first" {
		t.Errorf("the text of the version is %q", got.Text)
	}
	var restored struct{ Written, Removed []string }
	for _, step := range []struct {
		restore args
		want    string
	}{
		{args{"version": oldest}, "first"},
		{args{"path": "/memories/a.md"}, "does not exist"}, // undoes the restore
		{args{"path": "/memories/a.md"}, "first"},
	} {
		answerOf(t, session, "memory_restore", step.restore, &restored)
		if text, _ := call(t, session, "memory", args{"command": "view", "path": "/memories/a.md"}); !strings.Contains(text, step.want) {
			t.Errorf("after restore %v it has %q; want %q", step.restore, text, step.want)
		}
	}
	if text, isError := call(t, session, "memory_restore", args{"version": "memver_none"}); !isError {
		t.Errorf("answered %q", text)
	}
}

// With several stores, searches and the history show all of them; a read-only one cannot
// be restored.
func TestMounts(t *testing.T) {
	me, team := newStore("me"), newStore("team")
	memories.Put(t, me, "/a.md", "tea for me")
	memories.Put(t, team, "/b.md", "tea for all")
	s := newServer(t, nil, mcpserver.Options{History: true, Open: func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
		return mcpserver.Memory{Mounts: []memento.Mount{{Name: "me", Store: me}, {Name: "team", Store: team, ReadOnly: true}}}, nil
	}})
	session := connect(t, s, "2026-07-28", nil)
	var got found
	answerOf(t, session, "memory_search", args{"query": "tea"}, &got)
	if len(got.Matches) != 2 || got.Matches[0].Path != "/memories/me/a.md" || got.Matches[1].Path != "/memories/team/b.md" {
		t.Errorf("the matches are %+v", got.Matches)
	}
	got = found{}
	answerOf(t, session, "memory_search", args{"query": "tea", "path": "/memories/team"}, &got)
	if len(got.Matches) != 1 || got.Matches[0].Path != "/memories/team/b.md" {
		t.Errorf("the matches are %+v", got.Matches)
	}
	var past struct {
		Versions []struct{ ID, Path string }
		Next     string `json:"next_cursor"`
	}
	answerOf(t, session, "memory_history", args{"limit": 1}, &past)
	first := past.Versions[0].Path
	answerOf(t, session, "memory_history", args{"limit": 1, "cursor": past.Next}, &past)
	if first != "/memories/me/a.md" || past.Versions[0].Path != "/memories/team/b.md" {
		t.Errorf("the history has %s and %s", first, past.Versions[0].Path)
	}
	for _, a := range []args{{"path": "/memories/team/b.md"}, {"version": past.Versions[0].ID}} {
		if text, isError := call(t, session, "memory_restore", a); !isError || !strings.Contains(text, "read-only") {
			t.Errorf("%v: answered %q", a, text)
		}
	}
}

// However many hidden files match, those that an agent may see are found, on all pages.
func TestSearchBehindHiddenFiles(t *testing.T) {
	store := newStore("default")
	const visible = 15
	for i := range visible {
		memories.Put(t, store, memento.Path(fmt.Sprintf("/notes/%02d.md", i)), "a long note in which tea occurs once, among many other words")
	}
	for i := range 60 {
		memories.Put(t, store, memento.Path(fmt.Sprintf("/.hidden/tea%02d.md", i)), "tea tea tea")
	}
	session := connect(t, newServer(t, store, mcpserver.Options{}), "2026-07-28", nil)
	seen := map[string]bool{}
	for cursor := ""; ; {
		var got found
		answerOf(t, session, "memory_search", args{"query": "tea", "cursor": cursor}, &got)
		for _, m := range got.Matches {
			if strings.Contains(m.Path, ".hidden") {
				t.Errorf("%s is shown", m.Path)
			}
			seen[m.Path] = true
		}
		if cursor = got.Next; cursor == "" {
			break
		}
	}
	if len(seen) != visible {
		t.Errorf("%d files are found; want %d", len(seen), visible)
	}
}

// A refusal says what is wrong, and is no failure of the storage: nothing is logged.
func TestRefusals(t *testing.T) {
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "small", Limits: memento.Limits{Memories: 1}}, memories.Guarded())
	memories.Put(t, store, "/a.md", "one")
	var log bytes.Buffer
	session := connect(t, newServer(t, store, mcpserver.Options{History: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}), "2026-07-28", nil)
	if text, isError := call(t, session, "memory", args{"command": "delete", "path": "/memories/a.md"}); isError {
		t.Fatal(text)
	}
	memories.Put(t, store, "/b.md", "two")
	var past struct {
		Versions []struct{ ID, Operation string }
	}
	answerOf(t, session, "memory_history", args{"path": "/memories/a.md"}, &past)
	for _, v := range past.Versions {
		want := "limit exceeded"
		if v.Operation == "deleted" {
			want = "is a deletion; restore the one before it"
		}
		text, isError := call(t, session, "memory_restore", args{"version": v.ID})
		if !isError || !strings.Contains(text, want) {
			t.Errorf("the restore of a version that was %s is answered %q", v.Operation, text)
		}
	}
	if len(past.Versions) != 2 {
		t.Errorf("the versions are %+v", past.Versions)
	}
	noSearch := memento.OpenNamed(struct{ memento.Backend }{memstore.New(nil)}, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
	session = connect(t, newServer(t, noSearch, mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}), "2026-07-28", nil)
	if text, isError := call(t, session, "memory_search", args{"query": "tea"}); !isError || !strings.Contains(text, "cannot do this") {
		t.Errorf("a search without an index is answered %q", text)
	}
	if log.Len() > 0 {
		t.Errorf("the log has %s", &log)
	}
}
