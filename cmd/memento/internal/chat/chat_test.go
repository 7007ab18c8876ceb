package chat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/claude/claudetest"
	"memento/sensitive"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
)

// A recorder is a screen that keeps what it is shown.
type recorder struct {
	text  strings.Builder
	notes []string
	again int
}

func (r *recorder) Text(text string) { r.text.WriteString(text) }
func (r *recorder) Note(note string) { r.notes = append(r.notes, note) }
func (r *recorder) Again()           { r.again++ }

// A world is an upstream with a script, a store, and a place for sessions.
type world struct {
	upstream *claudetest.Server
	client   anthropic.Client
	store    *memento.Store
	sessions Sessions
	screen   *recorder
}

func newWorld(t *testing.T, opts *claudetest.Options, turns ...claudetest.Turn) *world {
	t.Helper()
	upstream := claudetest.New(claudetest.Script(turns...), opts)
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	return &world{
		upstream: upstream,
		client:   anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("key")),
		store:    memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()}),
		sessions: Sessions{filepath.Join(t.TempDir(), "sessions")},
		screen:   &recorder{},
	}
}

// open returns the conversation of a session: the saved one, or a new one.
func (w *world) open(t *testing.T, id string) *Conversation {
	t.Helper()
	s, err := w.sessions.Load(id)
	if errors.Is(err, ErrNoSession) {
		s, err = &Session{ID: id, Model: "claude-sonnet-5-5", Store: "default", Thinking: "adaptive"}, nil
	}
	if err != nil {
		t.Fatal(err)
	}
	tool := memento.NewTool(w.store, &memento.ToolOptions{Actor: memento.Actor{Kind: memento.ActorSession, ID: id}})
	c, err := New(t.Context(), Conversation{
		Client: w.client, Tool: tool, Session: s, Sessions: w.sessions, Screen: w.screen, MaxTokens: 2000, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.pause = time.Microsecond
	return c
}

// accepted fails the test if the upstream has refused a request.
func (w *world) accepted(t *testing.T) {
	t.Helper()
	for i, r := range w.upstream.Requests() {
		if r.Err != nil {
			t.Errorf("request %d was refused: %v", i, r.Err)
		}
	}
}

// saved fails the test if the session on disk is not the one of c.
func (w *world) saved(t *testing.T, c *Conversation) {
	t.Helper()
	s, err := w.sessions.Load(c.Session.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encode(t, c.Session), encode(t, s)); diff != "" {
		t.Errorf("the saved session differs (-conversation +file)\n%s", diff)
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func memoryCall(command, path string, more ...string) claudetest.Call {
	input := map[string]any{"command": command, "path": path}
	for i := 0; i < len(more); i += 2 {
		input[more[i]] = more[i+1]
	}
	return claudetest.Call{Tool: memento.ToolName, Input: input}
}

// tea is a conversation that saves something.
var tea = []claudetest.Turn{
	{Thinking: "Is it known?", Say: "Let me look.", Calls: []claudetest.Call{memoryCall("view", "/memories")}},
	{Calls: []claudetest.Call{
		memoryCall("create", "/memories/user.md", "file_text", "Likes tea.\n"),
		memoryCall("view", "/memories/none.md"),
		memoryCall("insert", "/memories/user.md"),
	}},
	{Say: "I will remember that you like tea, and not only today but whenever we talk about drinks."},
	{Say: "You like tea."},
}

func TestAnswer(t *testing.T) {
	w := newWorld(t, nil, tea...)
	c := w.open(t, "sesn_1")
	text, err := c.Answer(t.Context(), "I like tea")
	if want := "I will remember that you like tea, and not only today but whenever we talk about drinks."; err != nil || text != want {
		t.Errorf("the answer is %q, %v; want %q", text, err, want)
	}
	if got := w.screen.text.String(); got != "Let me look."+text {
		t.Errorf("shown: %q", got)
	}
	want := []string{
		"thinking", "memory: view /memories", "memory: create /memories/user.md",
		"memory: view /memories/none.md: The path /memories/none.md does not exist. Please provide a valid path.",
	}
	if len(w.screen.notes) != 5 || !slices.Equal(w.screen.notes[:4], want) || !strings.HasPrefix(w.screen.notes[4], "memory: insert /memories/user.md: ") {
		t.Errorf("notes: %q", w.screen.notes)
	}
	w.saved(t, c)

	// It goes on where it stopped, in another process.
	text, err = w.open(t, "sesn_1").Answer(t.Context(), "What do I like?")
	if err != nil || text != "You like tea." {
		t.Errorf("the second answer is %q, %v", text, err)
	}
	w.accepted(t)

	for v, err := range w.store.Versions(t.Context(), memento.VersionListOptions{}) {
		if err != nil || v.CreatedBy.ID != "sesn_1" {
			t.Errorf("the version of %s is by %v: %v", v.Path, v.CreatedBy, err)
		}
	}

	// Requests have context editing and compaction, and differ in messages alone.
	var first map[string]any
	for _, r := range w.upstream.Requests() {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		delete(body, "messages")
		if first == nil {
			first = body
		}
		if diff := cmp.Diff(first, body); diff != "" {
			t.Errorf("requests differ: %s", diff)
		}
	}
	edits := encode(t, first["context_management"])
	if !strings.Contains(edits, "clear_tool_uses_20250919") || !strings.Contains(edits, "compact_20260112") {
		t.Errorf("the edits are %s", edits)
	}
}

// A conversation that is interrupted, at whichever event of a stream, keeps what was
// written and goes on.
func TestInterruptedAtEveryEvent(t *testing.T) {
	whole := newWorld(t, nil, tea...)
	if _, err := whole.open(t, "sesn_1").Answer(t.Context(), "I like tea"); err != nil {
		t.Fatal(err)
	}
	full := whole.screen.text.String()
	cuts := 0
	for request := range 3 {
		for at := 0; ; at++ {
			ctx, cancel := context.WithCancel(t.Context())
			reached := false
			w := newWorld(t, &claudetest.Options{Cut: func(r, e int) bool {
				if reached || r != request || e != at {
					return false
				}
				reached = true
				cancel()
				return true
			}}, tea...)
			c := w.open(t, "sesn_1")
			_, err := c.Answer(ctx, "I like tea")
			cancel()
			if !reached {
				if err != nil {
					t.Fatal(err)
				}
				break // the stream of this request has no more events
			}
			cuts++
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("request %d, event %d: %v; want an interruption", request, at, err)
			}
			w.saved(t, c)
			shown := w.screen.text.String()
			if !strings.HasPrefix(full, shown) || strings.Join(texts(c.Session), "") != shown {
				t.Errorf("request %d, event %d: shown %q, kept %q", request, at, shown, texts(c.Session))
			}
			if _, err := w.open(t, "sesn_1").Answer(t.Context(), "Go on."); err != nil {
				t.Errorf("request %d, event %d: going on: %v", request, at, err)
			}
			w.accepted(t)
		}
	}
	if cuts < 30 {
		t.Errorf("only %d interruptions", cuts)
	}
}

// texts returns what the assistant has said in a session.
func texts(s *Session) (all []string) {
	for _, m := range s.Messages {
		if m.OfAssistant == nil {
			continue
		}
		for _, block := range m.OfAssistant.Content {
			if block.OfText != nil {
				all = append(all, block.OfText.Text)
			}
		}
	}
	return all
}

// An interruption during a call lets it finish; the calls after it are answered, and not
// executed.
func TestInterruptedBetweenCalls(t *testing.T) {
	w := newWorld(t, nil, tea...)
	c := w.open(t, "sesn_1")
	ctx, cancel := context.WithCancel(t.Context())
	c.Screen = noteFunc(func(note string) {
		if !strings.Contains(note, "create") {
			return
		}
		// Whoever resumes the session after a crash would find the calls.
		if s, err := w.sessions.Load("sesn_1"); err != nil || strings.Count(encode(t, s.Messages), `"tool_use"`) != 4 {
			t.Errorf("the calls were not saved before they are executed: %v", err)
		}
		cancel()
	})
	if _, err := c.Answer(ctx, "I like tea"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if m, err := w.store.Get(t.Context(), memento.ByPath("/user.md")); err != nil || m.Content != "Likes tea.\n" {
		t.Errorf("the memory is %q: %v", m.Content, err)
	}
	last := encode(t, c.Session.Messages[len(c.Session.Messages)-1])
	if strings.Count(last, "interrupted the conversation before this call") != 2 || strings.Count(last, "tool_result") != 3 {
		t.Errorf("the results are %s", last)
	}
	if _, err := w.open(t, "sesn_1").Answer(t.Context(), "Go on."); err != nil {
		t.Error(err)
	}
	w.accepted(t)
}

type noteFunc func(string)

func (noteFunc) Text(string)        {}
func (f noteFunc) Note(note string) { f(note) }
func (noteFunc) Again()             {}

func TestBrokenStream(t *testing.T) {
	for _, breaks := range []int{1, 2, attempts} {
		w := newWorld(t, &claudetest.Options{Cut: func(request, event int) bool { return request < breaks && event == 6 }}, tea...)
		c := w.open(t, "sesn_1")
		_, err := c.Answer(t.Context(), "I like tea")
		if breaks < attempts && (err != nil || w.screen.again != breaks) {
			t.Errorf("%d breaks: %v, asked again %d times", breaks, err, w.screen.again)
		}
		if breaks == attempts {
			if !errors.Is(err, ErrBroken) || w.screen.again != attempts-1 {
				t.Errorf("%d breaks: %v, asked again %d times", breaks, err, w.screen.again)
			}
			if _, err := w.open(t, "sesn_1").Answer(t.Context(), "Go on."); err != nil {
				t.Error(err)
			}
		}
		w.accepted(t)
	}
}

// An error within a stream is tried again if it may not come again.
func TestErrorInStream(t *testing.T) {
	for kind, again := range map[string]int{"overloaded_error": 1, "invalid_request_error": 0} {
		w := newWorld(t, nil, tea...)
		requests := 0
		failing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if requests++; requests > 1 {
				w.upstream.ServeHTTP(rw, r)
				return
			}
			rw.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(rw, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"content\":[]}}\n\n"+
				"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\""+kind+"\",\"message\":\"Not now\"}}\n\n")
		}))
		t.Cleanup(failing.Close)
		c := w.open(t, "sesn_1")
		c.Client = anthropic.NewClient(option.WithBaseURL(failing.URL), option.WithAPIKey("key"))
		_, err := c.Answer(t.Context(), "I like tea")
		refused, _ := errors.AsType[*APIError](err)
		if w.screen.again != again || (again == 0) != (refused != nil && refused.Type == kind && refused.Message == "Not now") {
			t.Errorf("%s: %v, asked again %d times", kind, err, w.screen.again)
		}
	}
}

func TestCutOff(t *testing.T) {
	long := strings.Repeat("many words ", 200)
	for name, turn := range map[string]claudetest.Turn{
		"text": {User: "Say", Say: long},
		"call": {User: "Say", Say: "I note it.", Calls: []claudetest.Call{memoryCall("create", "/memories/a.md", "file_text", long)}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil, turn, claudetest.Turn{Say: "Again."}, claudetest.Turn{Say: "Again."})
			c := w.open(t, "sesn_1")
			c.MaxTokens = 50
			text, err := c.Answer(t.Context(), "Say")
			if !errors.Is(err, ErrCutOff) || text == "" || !strings.HasPrefix(turn.Say, text) {
				t.Errorf("%q, %v", text, err)
			}
			if _, err := w.store.Get(t.Context(), memento.ByPath("/a.md")); !errors.Is(err, memento.ErrNotExist) && !errors.Is(err, memento.ErrNoStore) {
				t.Errorf("an incomplete call was executed: %v", err)
			}
			if _, err := c.Answer(t.Context(), "Go on."); err != nil {
				t.Error(err)
			}
			w.accepted(t)
		})
	}
}

func TestRefusal(t *testing.T) {
	w := newWorld(t, nil, claudetest.Turn{User: "a", Say: "Hello."}, claudetest.Turn{Say: "No.", Stop: "refusal"})
	c := w.open(t, "sesn_1")
	if _, err := c.Answer(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	before := encode(t, c.Session.Messages)
	if _, err := c.Answer(t.Context(), "b"); !errors.Is(err, ErrRefused) {
		t.Errorf("%v; want ErrRefused", err)
	}
	if got := encode(t, c.Session.Messages); got != before {
		t.Errorf("the session is %s; want %s", got, before)
	}
	w.saved(t, c)
}

func TestWrongKey(t *testing.T) {
	w := newWorld(t, &claudetest.Options{Key: "right"}, tea...)
	_, err := w.open(t, "sesn_1").Answer(t.Context(), "I like tea")
	refused, ok := errors.AsType[*APIError](err)
	if !ok || refused.Status != 401 || refused.Type != "authentication_error" || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("%v", err)
	}
}

// A process that ends between calls and their results has saved the calls. Whoever
// resumes the session answers them.
func TestResumedAfterCrash(t *testing.T) {
	w := newWorld(t, nil, tea...)
	c := w.open(t, "sesn_1")
	if _, err := c.Answer(t.Context(), "I like tea"); err != nil {
		t.Fatal(err)
	}
	c.Session.Messages = c.Session.Messages[:4] // the last one has the three calls
	if err := w.sessions.Save(c.Session); err != nil {
		t.Fatal(err)
	}
	if _, err := w.open(t, "sesn_1").Answer(t.Context(), "Go on."); err != nil {
		t.Error(err)
	}
	w.accepted(t)
}

func TestSessions(t *testing.T) {
	ss := Sessions{filepath.Join(t.TempDir(), "a", "sessions")}
	if all, err := ss.List(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v; want no sessions", all, err)
	}
	if _, err := ss.Latest(); !errors.Is(err, ErrNoSession) {
		t.Error(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, id := range []string{"sesn_a", "sesn_c", "sesn_b"} {
		s := &Session{ID: id, Updated: at.Add(time.Duration(i) * time.Hour)}
		s.Messages = []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(" hello " + id + "\nmore"))}
		if err := ss.Save(s); err != nil {
			t.Fatal(err)
		}
	}
	latest, err := ss.Latest()
	if err != nil || latest.ID != "sesn_b" || latest.Title() != "hello sesn_b" {
		t.Errorf("the latest is %+v: %v", latest, err)
	}
	if info, err := os.Stat(filepath.Join(ss.Dir, "sesn_a.json")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want a file for the user only", info, err)
	}
	for _, id := range []string{"", "sesn_none", "../sesn_a", "sesn_a/../sesn_a", "sesn_"} {
		if _, err := ss.Load(id); !errors.Is(err, ErrNoSession) {
			t.Errorf("Load(%q): %v", id, err)
		}
		if err := ss.Delete(id); !errors.Is(err, ErrNoSession) {
			t.Errorf("Delete(%q): %v", id, err)
		}
	}
	if err := ss.Delete("sesn_b"); err != nil {
		t.Error(err)
	}
	for name, text := range map[string]string{"sesn_d": "{", "sesn_e": `{"version":2,"id":"sesn_e"}`, "sesn_f": `{"version":1,"id":"sesn_a"}`} {
		if err := os.WriteFile(filepath.Join(ss.Dir, name+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ss.List()
	if len(all) != 2 || all[0].ID != "sesn_c" || err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("%v, %v; want two sessions and three errors", all, err)
	}
}

func TestParseThinking(t *testing.T) {
	for s, want := range map[string]string{"": "null", "off": `{"type":"disabled"}`, "adaptive": `{"type":"adaptive"}`, "2048": `{"budget_tokens":2048,"type":"enabled"}`} {
		config, _, err := ParseThinking(s)
		if got := encode(t, config); err != nil || got != want {
			t.Errorf("%q is %s, %v; want %s", s, got, err, want)
		}
	}
	for _, s := range []string{"on", "1023", "-1", "1e9", "99999999999999999999"} {
		if _, _, err := ParseThinking(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}
