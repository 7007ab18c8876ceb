package transcripts

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// TestTranscripts plays every transcript and compares the answers.
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
	files, err := filepath.Glob("testdata/*.txtar")
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

// Every text of a profile can be changed: the transcript profile_own does.
func TestProfileOwnIsComplete(t *testing.T) {
	conversation, err := txtar.ParseFile("testdata/profile_own.txtar")
	if err != nil {
		t.Fatal(err)
	}
	st := newStage()
	st.set(t, &conversation.Files[0])
	v := reflect.ValueOf(*st.opts.Profile)
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.String && v.Field(i).Len() == 0 {
			t.Errorf("%s has no text", v.Type().Field(i).Name)
		}
	}
}

// A mount is to the agent what the root of a store is: every transcript of a tool
// on one store reads the same below a mount.
func TestMountsAreLikeRoots(t *testing.T) {
	// Sentences about /memories itself.
	of := regexp.MustCompile(`Path must start with /memories|would escape /memories directory|"path": "/memories"\}|longer than 1,024 bytes`)
	compared := 0
	for _, file := range transcripts(t) {
		if strings.HasPrefix(filepath.Base(file), "mounts") {
			continue
		}
		conversation, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		st := newStage()
		st.now.mount = "user"
		st.enter(&scene{mount: "other", spec: memento.StoreSpec{Name: "other"}})
		st.now = st.stores[0]
		for i := range conversation.Files {
			section := &conversation.Files[i]
			if st.set(t, section) || section.Name != "input" {
				continue
			}
			want := answerText(&conversation.Files[i+1])
			if of.MatchString(want) || !strings.Contains(string(section.Data), "/memories") {
				continue
			}
			in := strings.ReplaceAll(string(section.Data), "/memories", "/memories/user")
			r := st.tool(t).Run(t.Context(), []byte(in))
			got := strings.ReplaceAll(strings.ReplaceAll(r.Content, " (/memories/user)", ""), "/memories/user", "/memories")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, section %d, answer to %s (-want +got):\n%s", file, i+1, in, diff)
			}
			compared++
		}
	}
	if compared < 150 {
		t.Errorf("only %d answers compared", compared)
	}
}
