package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento/test/proctest"
)

// dataHome gives the program a data directory of its own.
func dataHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "LocalAppData", "HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("MEMENTO_BACKEND", "")
	return dir
}

// A serving is a server that runs as a process.
type serving struct {
	*exec.Cmd
	t    *testing.T
	at   serverJSON
	said *proctest.Buffer // on standard error
	key  string
}

// serve starts a server on free ports, or those in args, and waits until it listens.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	args = append([]string{"serve", "--json", "--address", "127.0.0.1:0", "--metrics", "127.0.0.1:0"}, args...)
	s := &serving{Cmd: exec.CommandContext(t.Context(), "memento", args...), t: t, said: &proctest.Buffer{}}
	s.Stderr = s.said
	if err := proctest.Serve(t.Context(), s.Cmd, &s.at); err != nil {
		t.Fatalf("%v; on standard error: %s", err, s.said)
	}
	if s.at.KeyFile == "" {
		return s // its backend has keys already
	}
	key, err := os.ReadFile(s.at.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	s.key = strings.TrimSpace(string(key))
	return s
}

// ask sends a request with the key and returns the status and the body.
func (s *serving) ask(method, path, body string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.at.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("x-api-key", s.key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// end asks the process to end, and returns its exit code.
func (s *serving) end() int {
	s.t.Helper()
	return s.code(proctest.Interrupt(s.Cmd))
}

// wait waits for the process, and returns its exit code.
func (s *serving) wait() int {
	s.t.Helper()
	return s.code(s.Wait())
}

// code returns the exit code that Wait tells.
func (s *serving) code(err error) int {
	s.t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		s.t.Error(err)
	}
	return 0
}

// begin begins a request whose body, except a first part, is sent later, and waits
// until the server has it under way. The caller closes the connection.
func (s *serving) begin(path, body string, first int) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.at.Address)
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nx-api-key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, s.key, len(body), body[:first])
	proctest.Until(s.t, "the request is under way", func() bool {
		res, err := http.Get("http://" + s.at.Metrics + "/metrics")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return strings.Contains(string(text), "memento_http_requests_in_flight 1")
	})
	return conn
}

// The first start makes a key and says where it is; memories outlive the process,
// and so does the key.
func TestServe(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no interrupts to send
	}
	dir := dataHome(t)
	s := serve(t)
	if !strings.HasPrefix(s.at.KeyFile, dir) || s.at.Type != "memento_server" || s.at.URL != "http://"+s.at.Address || s.at.Metrics == "" || s.at.Pprof != "" {
		t.Errorf("it is at %+v", s.at)
	}
	for _, line := range []string{"memento: listening on " + s.at.URL + "\n", "memento: backend: sqlite:", "memento: admin key: " + s.at.KeyFile + "\n"} {
		proctest.Until(t, "it says "+line, func() bool { return strings.Contains(s.said.String(), line) })
	}
	for path, want := range map[string]os.FileMode{s.at.KeyFile: 0o600, filepath.Dir(s.at.KeyFile): os.ModeDir | 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
		}
	}
	if status, text := s.ask("GET", "/v1/whoami", ""); status != 200 || !strings.Contains(text, `"role":"admin"`) {
		t.Errorf("who am I: %d %s", status, text)
	}
	status, text := s.ask("POST", "/v1/memory_stores/by-name", `{"name":"default"}`)
	var store struct{ ID string }
	if err := json.Unmarshal([]byte(text), &store); err != nil || status != 200 {
		t.Fatalf("a store: %d %s", status, text)
	}
	if status, text := s.ask("POST", "/v1/memory_stores/"+store.ID+"/memories", `{"path":"/a.md","content":"kept"}`); status != 200 {
		t.Errorf("a memory: %d %s", status, text)
	}
	if code, text, errs := runWith(t, "", "--backend", s.at.URL, "cat", "/a.md"); code != exitOK || text != "kept" {
		t.Errorf("the command line, which finds the key: exit code %d, %q, %s", code, text, errs)
	}
	if res, err := http.Get("http://" + s.at.Metrics + "/metrics"); err != nil || res.StatusCode != 200 {
		t.Errorf("metrics: %v", err)
	} else {
		res.Body.Close()
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d; it said %s", code, s.said)
	}

	again := serve(t, "--address", s.at.Address)
	if again.at.KeyFile != s.at.KeyFile || again.key != s.key {
		t.Errorf("the second start has the key %q in %s", again.key, again.at.KeyFile)
	}
	if status, text := again.ask("GET", "/v1/memory_stores/"+store.ID+"/memories/by-path?path=/a.md&view=full", ""); status != 200 || !strings.Contains(text, `"kept"`) {
		t.Errorf("after the second start: %d %s", status, text)
	}

	code, _, errs := runWith(t, "", "--backend", "mem:", "serve", "--address", again.at.Address, "--metrics", "off")
	if code != exitConflict || !strings.Contains(errs, "memento: address (flag --address): port ") || !strings.Contains(errs, "is in use; stop the program that uses it") {
		t.Errorf("a port in use: exit code %d, %s", code, errs)
	}
	if code := again.end(); code != exitOK {
		t.Errorf("exit code %d; it said %s", code, again.said)
	}

	// At another address no key is at hand, and it says how to come by one.
	other := serve(t, "--address", "localhost:0")
	proctest.Until(t, "it says how to make a key", func() bool {
		return strings.Contains(other.said.String(), `memento: keys exist; the admin key was saved when they were created. To create another: memento keys create NAME --role admin --backend sqlite:`)
	})
	if code := other.end(); code != exitOK {
		t.Errorf("exit code %d; it said %s", code, other.said)
	}
	if strings.Contains(s.said.String()+again.said.String(), s.key) {
		t.Error("it said the key")
	}
}

// A request that has begun when the process is asked to end is finished.
func TestServeFinishes(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no interrupts to send
	}
	dataHome(t)
	s := serve(t, "--backend", database(t), "--shutdown-grace", "20s")
	body := `{"name":"slow"}`
	conn := s.begin("/v1/memory_stores", body, 3)
	defer conn.Close()
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, "nothing new is accepted", func() bool {
		conn, err := net.Dial("tcp", s.at.Address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	fmt.Fprint(conn, body[3:])
	if status, err := bufio.NewReader(conn).ReadString('\n'); err != nil || status != "HTTP/1.1 200 OK\r\n" {
		t.Errorf("the request was answered with %q, %v", status, err)
	}
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d; it said %s", code, s.said)
	}
}

// A request that does not finish is cut off, and a second interrupt ends at once.
func TestServeCutsOff(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no interrupts to send
	}
	dataHome(t)
	for _, grace := range []string{"50ms", "10m"} {
		s := serve(t, "--backend", "mem:", "--shutdown-grace", grace)
		conn := s.begin("/v1/memory_stores", `{"name":1}`, 1)
		if err := s.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if grace == "10m" {
			proctest.Until(t, "it is ending", func() bool { return strings.Contains(s.said.String(), "finishing running requests") })
			if err := s.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		code := s.wait()
		if told := strings.Contains(s.said.String(), "requests were interrupted"); grace == "50ms" && (code != exitFailure || !told) {
			t.Errorf("exit code %d; it said %s", code, s.said)
		}
		if grace == "10m" && code == exitOK {
			t.Errorf("after a second interrupt: exit code %d; it said %s", code, s.said)
		}
		conn.Close()
	}
}

// On SIGHUP the configuration is read again; one with a fault changes nothing.
func TestServeReload(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there is no such signal
	}
	dataHome(t)
	file := filepath.Join(t.TempDir(), "memento.yaml")
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("log: {level: error}\n")
	s := serve(t, "--backend", "mem:", "--config", file)
	s.ask("GET", "/v1/whoami", "")
	set("log: {level: info}\n")
	hangup(t, s)
	proctest.Until(t, "it is read again", func() bool { return strings.Contains(s.said.String(), "configuration reloaded") })
	if strings.Contains(s.said.String(), "route=/v1/whoami") {
		t.Error("a request was logged at the level error")
	}
	s.ask("GET", "/v1/whoami", "")
	proctest.Until(t, "requests are logged", func() bool { return strings.Contains(s.said.String(), "route=/v1/whoami") })
	set("log: {level: canary}\n")
	hangup(t, s)
	proctest.Until(t, "the fault is told", func() bool {
		return strings.Contains(s.said.String(), "configuration reload failed; the old configuration stays active") && strings.Contains(s.said.String(), "log.level (file, line 1)")
	})
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d; it said %s", code, s.said)
	}
}

// What would let others read what crosses the network is warned of.
func TestServeExposed(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no interrupts to send
	}
	dataHome(t)
	s := serve(t, "--backend", "mem:", "--address", ":0")
	proctest.Until(t, "it warns", func() bool {
		said := s.said.String()
		return strings.Contains(said, "memento: warning: this address is reachable from other machines") && strings.Contains(said, "--tls-cert-file")
	})
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	local := serve(t, "--backend", "mem:", "--log-format", "json")
	if code := local.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for line := range strings.Lines(local.said.String()) {
		var record struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &record); err != nil || record.Msg == "" {
			t.Errorf("%q is no record: %v", line, err)
		}
		if strings.Contains(line, "warning") {
			t.Errorf("a server of this machine warns: %s", line)
		}
	}
}

// A server without a home directory gets its first key from a file, or writes it to one, and
// starts without a key if it cannot. Only the file with the key is written.
func TestServeFirstKeyFile(t *testing.T) {
	home := dataHome(t)
	nowhere := filepath.Join(home, "file", "home")
	if err := os.WriteFile(filepath.Join(home, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	whoami := func(s *serving, want int) {
		t.Helper()
		if status, text := s.ask("GET", "/v1/whoami", ""); status != want {
			t.Errorf("whoami: %d %s; want %d", status, text, want)
		}
	}
	for _, dir := range []string{"", nowhere} { // none, and one that cannot be written
		for _, name := range []string{"XDG_DATA_HOME", "LocalAppData", "HOME"} {
			t.Setenv(name, dir)
		}
		folder := t.TempDir()
		file := filepath.Join(folder, "secrets", "first.key")

		s := serve(t, "--backend", database(t), "--first-key-file", file)
		whoami(s, http.StatusOK)
		if code := s.end(); code != 0 || s.at.KeyFile != file || !strings.Contains(s.said.String(), "admin key: "+file) {
			t.Errorf("exit code %d, the key is in %q; said %s", code, s.at.KeyFile, s.said)
		}

		// Another server, as in a new container, takes the key of the file, which it cannot write.
		if err := os.Chmod(file, 0o444); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("MEMENTO_FIRST_KEY_FILE", file)
		s = serve(t, "--backend", database(t))
		whoami(s, http.StatusOK)
		s.end()
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("the file was changed: %v", err)
		}
		t.Setenv("MEMENTO_FIRST_KEY_FILE", "")

		s = serve(t, "--backend", database(t), "--first-key-file", "none")
		whoami(s, http.StatusUnauthorized)
		if s.end(); s.at.KeyFile != "" || strings.Contains(s.said.String(), "admin key:") {
			t.Errorf("a key although none was wanted: %s", s.said)
		}

		s = serve(t, "--backend", database(t))
		whoami(s, http.StatusUnauthorized)
		if s.end(); s.at.KeyFile != "" || !strings.Contains(s.said.String(), "there is no API key, and none can be created") || !strings.Contains(s.said.String(), "--first-key-file") {
			t.Errorf("without a place for the key: %q, %s", s.at.KeyFile, s.said)
		}

		if err := os.WriteFile(filepath.Join(folder, "notes"), []byte("canary"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "memento", "serve", "--address", "127.0.0.1:0", "--metrics", "off",
			"--backend", database(t), "--first-key-file", filepath.Join(folder, "notes")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "--first-key-file") || strings.Contains(string(out), "canary") {
			t.Errorf("with a file that is no key: %v, %s", err, out)
		}
	}
}
