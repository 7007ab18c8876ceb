package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memento/test/proctest"
)

// binary is the memento that the tests start, built from the module above.
var binary string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	if len(os.Args) > 3 && os.Args[1] == recordArgument {
		if err := recordStdio(os.Args[2], os.Args[3:]...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	// The SDKs read these.
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_LOG"} {
		os.Unsetenv(name)
	}
	dir, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "memento")
	build := exec.Command("go", "build", "-o", binary, "./cmd/memento")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building memento: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A server is a memento serve on a file of its own.
type server struct {
	url  string
	key  string   // the first key, which is an admin's
	file string   // the backend
	env  []string // with the data directory of its own
	log  proctest.Buffer
}

// startServer starts a server, with more arguments, and ends it with the test.
func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	s := &server{file: filepath.Join(dir, "memento.db"), env: append(os.Environ(), "XDG_DATA_HOME="+dir, "HOME="+dir)}
	args = append([]string{"serve", "--address", "127.0.0.1:0", "--metrics", "", "--backend", "sqlite:" + s.file, "--json"}, args...)
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Stderr = s.env, &s.log
	var started struct {
		URL     string
		KeyFile string `json:"key_file"`
	}
	if err := proctest.Serve(t.Context(), cmd, &started); err != nil {
		t.Fatalf("%v; on standard error: %s", err, &s.log)
	}
	t.Cleanup(func() {
		if err := proctest.Interrupt(cmd); err != nil {
			t.Errorf("the server ended with %v; on standard error: %s", err, &s.log)
		}
	})
	secret, err := os.ReadFile(started.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.url, s.key = started.URL, strings.TrimSpace(string(secret))
	return s
}

// newKey makes a key in the server's backend and returns its secret.
func (s *server) newKey(t *testing.T, workspace, role string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "keys", "create", "another key",
		"--backend", "sqlite:"+s.file, "--workspace", workspace, "--role", role, "--json")
	cmd.Env = s.env
	out, err := cmd.Output()
	var made struct{ Key string }
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		t.Fatalf("keys create: %v\n%s", err, exit.Stderr)
	} else if err != nil || made.Key == "" {
		t.Fatalf("keys create printed %q: %v", out, err)
	}
	return made.Key
}

// fails checks that err is the SDK's error of this status and type, and whole.
func (w *world) fails(t *testing.T, err error, status int, errorType string) detail {
	t.Helper()
	f, ok := w.client.Failure(err)
	if !ok {
		t.Errorf("got %v, want the SDK's error for %d %s", err, status, errorType)
		return detail{}
	}
	d, err := f.Raw.detail()
	if f.Status != status || f.Type != errorType || err != nil || d.message == "" {
		t.Errorf("got %d %s %q, want %d %s and a message", f.Status, f.Type, d.message, status, errorType)
	}
	if id := string(f.Raw["request_id"]); !strings.HasPrefix(f.RequestID, "req_") || id != fmt.Sprintf("%q", f.RequestID) {
		t.Errorf("request ID %q in the header, %s in the body: want one", f.RequestID, id)
	}
	return d
}

// must returns a call's answer, which is to have no error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
