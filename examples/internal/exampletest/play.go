// Package exampletest runs an example program as its comment says, against a scripted
// upstream that plays the file scenario.yaml beside it.
package exampletest

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/claude/claudetest"
	"memento/local"
)

// variable tells a process that it is the program and not its test.
const variable = "MEMENTO_EXAMPLE"

// Main is the TestMain of an example. In a process that [Play] starts, it runs the program.
func Main(m *testing.M, program func()) {
	if os.Getenv(variable) != "" {
		program()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A Run is one run of the program.
type Run struct {
	Output   string // standard output
	Requests []claudetest.Request
}

// Told returns everything that Claude was sent in the run.
func (r Run) Told() string {
	var all strings.Builder
	for _, request := range r.Requests {
		all.Write(request.Body)
		all.WriteByte('\n')
	}
	return all.String()
}

// Play runs the commands in the package comment of main.go, one after the other, in a
// folder that has only a copy of the given folders of the example. Each run must keep the
// rules of the API, and begin with an empty context. Play returns the folder and the runs.
func Play(t *testing.T, folders ...string) (dir string, runs []Run) {
	t.Helper()
	script, err := os.ReadFile("scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := claudetest.Load(script)
	if err != nil {
		t.Fatal(err)
	}
	upstream := claudetest.New(scenario, &claudetest.Options{RequireEditBeta: true, BindThinking: true})
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)

	example, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	name := filepath.Base(example)
	for _, folder := range folders {
		if err := os.CopyFS(filepath.Join(dir, "examples", name, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range commands(t, name) {
		before := len(upstream.Requests())
		output, err := execute(dir, server.URL, args)
		run := Run{Output: output, Requests: upstream.Requests()[before:]}
		for _, r := range run.Requests {
			if r.Err != nil {
				t.Fatalf("%q: the upstream refused a request: %v\n%s", args, r.Err, r.Body)
			}
		}
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, output)
		}
		if n := messages(t, run); n != 1 {
			t.Errorf("%q begins with %d messages, want an empty context and one message", args, n)
		}
		runs = append(runs, run)
	}
	return dir, runs
}

// messages returns how many messages the first request of a run has.
func messages(t *testing.T, run Run) int {
	t.Helper()
	if len(run.Requests) == 0 {
		return 0
	}
	var first struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(run.Requests[0].Body, &first); err != nil {
		t.Fatal(err)
	}
	return len(first.Messages)
}

// commands returns the arguments of the commands in the comment of main.go.
func commands(t *testing.T, name string) (all [][]string) {
	t.Helper()
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := bytes.Cut(source, []byte("\npackage "))
	for line := range strings.Lines(string(comment)) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "//\tgo run ./examples/"+name+" ")
		if !ok {
			continue
		}
		var args []string
		for _, word := range regexp.MustCompile(`"[^"]*"|\S+`).FindAllString(command, -1) {
			args = append(args, strings.Trim(word, `"`))
		}
		all = append(all, args)
	}
	if len(all) < 2 {
		t.Fatalf("the comment of main.go has %d commands, want at least two", len(all))
	}
	return all
}

// execute runs the program in a process of its own.
func execute(dir, url string, args []string) (output string, err error) {
	binary, err := os.Executable()
	if err != nil {
		return "", err
	}
	command := exec.Command(binary, args...)
	command.Dir = dir
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_") })
	command.Env = append(command.Env, variable+"=1", "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=test")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	return string(out) + stderr.String(), err
}

// Memories returns the memories in a file that a program has left, by path.
func Memories(t *testing.T, file string) map[string]string {
	t.Helper()
	store := open(t, file)
	all := map[string]string{}
	for e, err := range store.List(t.Context(), memento.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Dir {
			continue
		}
		m, err := store.Get(t.Context(), memento.ByPath(e.Path))
		if err != nil {
			t.Fatal(err)
		}
		all[string(e.Path)] = m.Content
	}
	return all
}

// Actors returns who made the versions of a memory, oldest first.
func Actors(t *testing.T, file string, path memento.Path) (ids []string) {
	t.Helper()
	for v, err := range open(t, file).Versions(t.Context(), memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Path == path {
			ids = append(ids, v.CreatedBy.ID)
		}
	}
	return ids
}

func open(t *testing.T, file string) *memento.Store {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err) // rather than make it
	}
	store, backend, err := local.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
