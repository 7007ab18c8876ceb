package memento_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/backend/memstore"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata/tool")

// A transcript in testdata/tool is a conversation with the tool, one section a
// turn. Its sections are
//
//	mount NAME       what follows, up to the next one, is of the store mounted as NAME
//	mount NAME ro    the same, the mount being read-only
//	store            limits of the store, as JSON
//	settings         settings of the store, as JSON; what is left out is the default
//	tool             options of the tool, as JSON
//	profile NAME     the profile of the tool
//	put P            a memory that is there already, at the store's path P
//	put P xN         the same, its text N times
//	archive          the store is archived here
//	input            what the agent sends
//	result           the answer to it
//	error            the answer to it, marked as an error
//
// Without mounts the tool is on one store. The line end before the next section
// is not part of an answer.
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
		st   = newStage()
		last memento.Result
	)
	for i := range conversation.Files {
		section := &conversation.Files[i]
		if st.set(t, section) {
			continue
		}
		switch section.Name {
		case "input":
			last = st.tool(t).Run(t.Context(), section.Data)
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
			if diff := cmp.Diff(answerText(section), last.Content); section.Name != got || diff != "" {
				t.Errorf("section %d, answer to %s: got %s (-want +got):\n%s", i+1, conversation.Files[i-1].Data, got, diff)
			}
		default:
			t.Fatalf("section %d: unknown name %q", i+1, section.Name)
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
	return memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default", Limits: limits}, guarded())
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
