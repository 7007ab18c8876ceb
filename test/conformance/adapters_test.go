package conformance

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	typescriptAdapter = "../../claude/adapters/typescript"
	pythonAdapter     = "../../claude/adapters/python"
)

// packTypeScript builds the adapter's package, unpacks it into a new folder beside a major
// of the SDK, named as in sdk/package.json, and returns the folder of the package. Its
// tests are there as well.
func packTypeScript(t *testing.T, sdk string) string {
	t.Helper()
	for _, dir := range []string{typescriptAdapter, "sdk"} {
		if err := installPackages(dir); err != nil {
			t.Fatal(err)
		}
	}
	modules := filepath.Join(t.TempDir(), "node_modules")
	pkg := filepath.Join(modules, "memento-memory-tool")
	if err := os.MkdirAll(filepath.Join(modules, "@anthropic-ai"), 0o755); err != nil {
		t.Fatal(err)
	}
	target, err := filepath.Abs(filepath.Join("sdk/node_modules", sdk))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(modules, "@anthropic-ai/sdk")); err != nil {
		t.Fatal(err)
	}
	runIn(t, typescriptAdapter, nil, "npm", "pack", "--silent", "--pack-destination", modules)
	archives, err := filepath.Glob(filepath.Join(modules, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("npm pack made %v: %v", archives, err)
	}
	runIn(t, modules, nil, "tar", "-xzf", archives[0])
	if err := os.Rename(filepath.Join(modules, "package"), pkg); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "dist/index.js", "dist/index.d.ts"} {
		if _, err := os.Stat(filepath.Join(pkg, name)); err != nil {
			t.Error(err)
		}
	}
	if err := os.CopyFS(filepath.Join(pkg, "dist/test"), os.DirFS(filepath.Join(typescriptAdapter, "dist/test"))); err != nil {
		t.Fatal(err)
	}
	return pkg
}

// runIn runs a program in a folder and returns what it prints.
func runIn(t *testing.T, dir string, env []string, program ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

func TestTypeScriptAdapter(t *testing.T) {
	t.Parallel()
	for _, sdk := range []string{"sdk-0", "sdk-1"} {
		t.Run(sdk, func(t *testing.T) {
			pkg := packTypeScript(t, sdk)
			t.Run("Flow", func(t *testing.T) {
				testFlow(t, func(env []string, transport string) string {
					return runIn(t, pkg, env, "node", "dist/test/flow.js", transport)
				})
			})
			t.Run("Calls", func(t *testing.T) {
				runIn(t, pkg, adapterEnvironment(t), "node", "--test", "dist/test/adapter.test.js")
			})
		})
	}
}

// The SDK of the Python adapter is a stand-in, and its transports, server and process are
// not.
func TestPythonAdapter(t *testing.T) {
	t.Parallel()
	python := []string{"PYTHONPATH=" + strings.Join([]string{".", "tests"}, string(os.PathListSeparator)), "PYTHONDONTWRITEBYTECODE=1"}
	t.Run("Flow", func(t *testing.T) {
		for _, kind := range []string{"sync", "async"} {
			out := testFlow(t, func(env []string, transport string) string {
				return runIn(t, pythonAdapter, append(env, python...), "python3", "tests/flow.py", kind, transport)
			})
			_, after, cleared := strings.Cut(out, "/memories/prefs/style.md\nAll memory cleared\n")
			if !cleared || strings.Count(after, "/memories") != 2 {
				t.Errorf("%s: after the conversation it printed %q", kind, out)
			}
		}
	})
	t.Run("Calls", func(t *testing.T) {
		runIn(t, pythonAdapter, append(adapterEnvironment(t), python...), "python3", "-W", "error", "-m", "unittest", "discover", "-s", "tests")
	})
}

// testFlow has a program talk to a model with a script, over a server and over a process,
// and returns what the latter printed.
func testFlow(t *testing.T, run func(env []string, transport string) string) (out string) {
	t.Helper()
	s := startServer(t)
	transports := map[string]any{"url": s.url, "key": s.key, "store": "user 42"}
	file := "sqlite:" + filepath.Join(t.TempDir(), "memento.db")
	for _, transport := range []any{transports, map[string]any{"command": []string{binary, "--backend", file, "tool"}}} {
		text, err := json.Marshal(transport)
		if err != nil {
			t.Fatal(err)
		}
		m := startModel(t)
		out = run([]string{"ANTHROPIC_BASE_URL=" + m.url, "ANTHROPIC_API_KEY=of the model"}, string(text))
		if !strings.Contains(out, "I will remember that.\n") {
			t.Errorf("over %s it printed %q", text, out)
		}
		m.check(t)
	}
	return out
}

// adapterEnvironment starts what the tests of an adapter need, and returns variables with
// the addresses: a server, and servers with faults.
func adapterEnvironment(t *testing.T) []string {
	t.Helper()
	s := startServer(t)
	losing := startProxy(t, s.url)
	losing.loseAnswer(http.MethodPost, "/tool")
	moved := httptest.NewServer(http.RedirectHandler(s.url, http.StatusTemporaryRedirect))
	t.Cleanup(moved.Close)
	return []string{
		"MEMENTO_BINARY=" + binary, "MEMENTO_URL=" + s.url, "MEMENTO_KEY=" + s.key,
		"MEMENTO_LOSING_URL=" + losing.url,
		"MEMENTO_BUSY_URL=" + startBusy(t, s.url),
		"MEMENTO_MOVED_URL=" + moved.URL,
		"MEMENTO_SILENT_URL=" + startSilent(t),
	}
}

// startBusy starts a proxy that answers every other request with 503.
func startBusy(t *testing.T, target string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	next := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%2 == 1 {
			w.Header().Set("retry-after", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// startSilent starts a server that takes connections and never answers.
func startSilent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "http://" + l.Addr().String()
}
