package memento_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/memstore"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/tool")

// A transcript in testdata/tool is a conversation with the tool, one section a
// turn. Its sections are
//
//	store       limits of the store, as JSON
//	tool        options of the tool, as JSON
//	put P       a memory that is there already, at the store's path P
//	put P xN    the same, its text N times
//	archive     the store is archived here
//	input       what the agent sends
//	result      the answer to it
//	error       the answer to it, marked as an error
//
// The line end before the next section is not part of an answer.
func TestTranscripts(t *testing.T) {
	for _, file := range transcripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			conversation, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			play(t, conversation)
			if !*update {
				return
			}
			if err := os.WriteFile(file, txtar.Format(conversation), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func transcripts(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/tool/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	return files
}

// play goes through a conversation and compares the answers; with -update it
// writes them into it.
func play(t *testing.T, conversation *txtar.Archive) {
	t.Helper()
	var (
		spec = memento.StoreSpec{Name: "default"}
		opts memento.ToolOptions
		b    = memstore.New(nil)
		s    *memento.Store
		last memento.Result
		line int // of the turn, counted in sections
	)
	store := func() *memento.Store {
		if s == nil {
			s = memento.OpenNamed(b, memento.DefaultWorkspace, spec)
		}
		return s
	}
	for i := range conversation.Files {
		section := &conversation.Files[i]
		line++
		kind, rest, _ := strings.Cut(section.Name, " ")
		switch kind {
		case "store":
			decode(t, section.Data, &spec.Limits)
		case "tool":
			decode(t, section.Data, &opts)
		case "put":
			p, count, many := strings.Cut(rest, " x")
			text := string(section.Data)
			if many {
				n, err := strconv.Atoi(count)
				if err != nil {
					t.Fatal(err)
				}
				text = strings.Repeat(text, n)
			}
			mustPut(t, store(), memento.Path(p), text)
		case "archive":
			id, err := store().Ensure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.UpdateStore(t.Context(), memento.DefaultWorkspace, id, memento.StoreUpdate{Archive: true}); err != nil {
				t.Fatal(err)
			}
		case "input":
			last = memento.NewTool(store(), &opts).Run(t.Context(), section.Data)
			checkAnswer(t, last)
		case "result", "error":
			got := "result"
			if last.IsError {
				got = "error"
			}
			if *update {
				section.Name, section.Data = got, []byte(last.Content+"\n")
				continue
			}
			if diff := cmp.Diff(answerText(section), last.Content); kind != got || diff != "" {
				t.Errorf("section %d, answer to %s: got %s (-want +got):\n%s", line, conversation.Files[i-1].Data, got, diff)
			}
		default:
			t.Fatalf("section %d: unknown name %q", line, section.Name)
		}
	}
}

func answerText(section *txtar.File) string {
	return strings.TrimSuffix(string(section.Data), "\n")
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
}

// checkAnswer checks what holds for every answer.
func checkAnswer(t *testing.T, r memento.Result) {
	t.Helper()
	switch {
	case r.Content == "":
		t.Error("the answer is empty")
	case !utf8.ValidString(r.Content):
		t.Errorf("the answer is not valid UTF-8: %q", r.Content)
	}
}

func mustPut(t testing.TB, s *memento.Store, p memento.Path, text string) {
	t.Helper()
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: p, Content: text}); err != nil {
		t.Fatal(err)
	}
}

// newStore returns a store in memory.
func newStore(limits memento.Limits) *memento.Store {
	return memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default", Limits: limits})
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
