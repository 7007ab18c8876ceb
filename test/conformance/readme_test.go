package conformance

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memento/test/modulecopy"
	"memento/test/proctest"
)

// A block is a fenced code block of the README.
type block struct {
	line     int    // of its first line of text
	language string // after the fence
	before   string // the text between the block before and this one
	text     string
}

// readme returns the lines of the README, and its blocks.
func readme(t *testing.T) (lines []string, blocks []block) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var prose []string
	for i := 0; i < len(lines); i++ {
		language, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			prose = append(prose, lines[i])
			continue
		}
		length := slices.Index(lines[i+1:], "```")
		if length < 0 {
			t.Fatalf("line %d: the block does not end", i+1)
		}
		body := lines[i+1 : i+1+length]
		blocks = append(blocks, block{i + 2, language, strings.Join(prose, "\n"), strings.Join(body, "\n") + "\n"})
		prose = nil
		i += length + 1
	}
	return lines, blocks
}

// suites is the block that runs all tests, this one among them.
const suites = "go run ./test/suites\n"

// TestReadme types the README into a shell, in a fresh copy of the module and a home of its
// own: each block in sh is run as it stands, and each other one is saved as the file that
// the text before it names last. Only the address of the server is another.
func TestReadme(t *testing.T) {
	t.Parallel()
	lines, blocks := readme(t)
	if len(lines) >= 150 {
		t.Errorf("it has %d lines; what is more than 149 belongs into docs", len(lines))
	}
	work := t.TempDir()
	top, home := filepath.Join(work, "memento"), filepath.Join(work, "home")
	if err := modulecopy.Copy(t.Context(), "../..", top); err != nil {
		t.Fatal(err)
	}
	sh := startShell(t, top, home)

	output := map[string]string{} // by language, what the shell printed after its block
	languages := []string{}
	for _, b := range blocks {
		text := strings.ReplaceAll(b.text, "127.0.0.1:8377", sh.address)
		switch {
		case b.text == suites:
			checkSuites(t)
		case b.language == "sh":
			output["sh"] += sh.run(b, text)
		default:
			languages = append(languages, b.language)
			save(t, top, b, text)
		}
	}
	if want := []string{"go", "python", "ts"}; !slices.Equal(languages, want) {
		t.Errorf("there are programs in %v, want %v", languages, want)
	}
	for _, printed := range []string{
		`"tool_use_id":"toolu_01Memento13","content":"Here're the files`, // tool < examples/calls.jsonl
		"refactoring/\n", // ls
		"(renamed from /customer_service_guidelines.md)",                             // log
		"conversation 2, with an empty context",                                      // demo
		"File created successfully at: /memories/go.md\n",                            // main.go
		"File created successfully at: /memories/python.md\n",                        // try.py
		"File created successfully at: /memories/typescript.md\n",                    // try.ts
		`{"type":"tool_result","tool_use_id":"toolu_4","content":"Here're the files`, // curl
		`/memories/python.md\n`,
		`/memories/typescript.md`,
	} {
		if !strings.Contains(output["sh"], printed) {
			t.Errorf("nothing printed %q", printed)
		}
	}
	if t.Failed() {
		t.Logf("it printed:\n%s\non standard error:\n%s", output["sh"], &sh.errors)
	}

	// The user's own store, and everything else at home, is as it was.
	for _, name := range []string{".local/share/memento/memento.db", ".local/share/memento/memento.db-reserve", ".local/share/memento/keys"} {
		if _, err := os.Lstat(filepath.Join(home, name)); !os.IsNotExist(err) {
			t.Errorf("there is a %s at home: %v", name, err)
		}
	}
}

var inCode = regexp.MustCompile("`([^`\n]+)`")

// save writes a block to the file that the text before it names last.
func save(t *testing.T, top string, b block, text string) {
	t.Helper()
	names := inCode.FindAllStringSubmatch(b.before, -1)
	if len(names) == 0 {
		t.Fatalf("line %d: the text before the block names no file", b.line)
	}
	file := filepath.Join(top, filepath.FromSlash(names[len(names)-1][1]))
	if !strings.HasSuffix(file, "."+map[string]string{"go": "go", "python": "py", "ts": "ts"}[b.language]) {
		t.Fatalf("line %d: %s is no name for a program in %s", b.line, file, b.language)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkSuites checks that what the README says is how changes are tested.
func checkSuites(t *testing.T) {
	t.Helper()
	script, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(script), "\nexec "+suites) {
		t.Errorf("changes are tested by another command than %s%s", suites, script)
	}
}

// A shell runs the README's blocks one after the other, as a person at a terminal does.
type shell struct {
	t       *testing.T
	dir     string
	in      io.WriteCloser
	out     *bufio.Reader
	errors  proctest.Buffer
	address string // of the server that a block has started
}

func startShell(t *testing.T, dir, home string) *shell {
	t.Helper()
	s := &shell{t: t, dir: t.TempDir(), address: "127.0.0.1:8377"}
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh")
	cmd.Dir, cmd.Stderr = dir, &s.errors
	cmd.Env = append(shellEnvironment(t), "HOME="+home, "MEMENTO_ADDRESS=127.0.0.1:0", "MEMENTO_METRICS=off")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The server ends first: it has the shell's output open.
		fmt.Fprintln(s.in, `test -z "$!" || { kill "$!"; wait; }`)
		s.in.Close()
		_, _ = io.Copy(io.Discard, s.out)
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the shell ended with %v: %s", err, &s.errors)
		}
	})
	return s
}

// shellEnvironment is the environment without what belongs to memento, and with the caches
// of Go and npm, which are at home.
func shellEnvironment(t *testing.T) (env []string) {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "MEMENTO_") && !strings.HasPrefix(name, "XDG_") {
			env = append(env, v)
		}
	}
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	values := strings.Split(string(out), "\n")
	npm, err := exec.Command("npm", "config", "get", "cache").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(env, "GOCACHE="+values[0], "GOMODCACHE="+values[1], "GOPATH="+values[2],
		// Packages are the same in each copy of the module, so that they are compiled once.
		"GOFLAGS="+values[3]+" -trimpath",
		"npm_config_cache="+strings.TrimSpace(string(npm)))
}

// run runs a block and returns what it prints. Each of its commands must succeed. If the
// last one starts a server, it waits for it.
func (s *shell) run(b block, text string) string {
	s.t.Helper()
	file := filepath.Join(s.dir, fmt.Sprintf("line%d.sh", b.line))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	const end = "--- the end of the block ---\n"
	fmt.Fprintf(s.in, "set -e; . %s </dev/null; set +e; echo; printf -- '%s'\n", file, strings.ReplaceAll(end, "\n", `\n`))
	var out strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if line == end {
			break
		}
		out.WriteString(line)
		if err != nil {
			s.t.Fatalf("line %d: the block failed: %v; it printed:\n%s\non standard error:\n%s", b.line, err, &out, &s.errors)
		}
	}
	if strings.HasSuffix(text, " &\n") {
		listening := regexp.MustCompile(`listening on http://(\S+)`)
		proctest.Until(s.t, "the server listens", func() bool {
			m := listening.FindStringSubmatch(s.errors.String())
			if m != nil {
				s.address = m[1]
			}
			return m != nil
		})
	}
	return out.String()
}
