package main

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The code of a link is in a file that only its owner can read, and in the arguments of no
// program. It signs in once. Files of earlier links are removed.
func TestConsole(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // there the program that opens browsers cannot be replaced by a script
	}
	data := dataHome(t)
	s := serve(t)
	bin := t.TempDir()
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + filepath.Join(bin, "args") + "\ncp \"$1\" " + filepath.Join(bin, "page") + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	folder := filepath.Join(data, "memento", "console")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, "sign-in-1.html")
	if err := os.WriteFile(old, []byte("an earlier link"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}

	code, out, errs := runWith(t, "", "--backend", s.at.URL, "console")
	if code != exitOK || out != "" || errs != "opened "+s.at.URL+"/console/ in the browser\n" {
		t.Fatalf("exit code %d, %q, %q", code, out, errs)
	}
	args, err := os.ReadFile(filepath.Join(bin, "args"))
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimSpace(string(args))
	if filepath.Dir(file) != folder {
		t.Errorf("the browser was given %q", file)
	}
	for path, want := range map[string]fs.FileMode{file: 0o600, folder: fs.ModeDir | 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the file of an earlier link was not removed")
	}
	page, err := os.ReadFile(filepath.Join(bin, "page"))
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`content="0; url=([^"]+)"`).FindStringSubmatch(string(page))
	if link == nil {
		t.Fatalf("the file is %s", page)
	}
	s.signIn(link[1], http.StatusOK)
	s.signIn(link[1], http.StatusUnauthorized)

	code, out, _ = runWith(t, "", "--backend", s.at.URL, "console", "--print", "--json")
	var printed consoleJSON
	if err := json.Unmarshal([]byte(out), &printed); err != nil || code != exitOK || !printed.ExpiresAt.After(time.Now()) {
		t.Fatalf("exit code %d, %s, %v", code, out, err)
	}
	s.signIn(printed.URL, http.StatusOK)

	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\nprintf %s \"$1\" > "+filepath.Join(bin, "args")+"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runWith(t, "", "--backend", s.at.URL, "console"); code != exitFailure || !strings.Contains(errs, "no browser can be opened: xdg-open: exit status 3") || !strings.Contains(errs, "--print") {
		t.Errorf("without a browser: exit code %d, %s", code, errs)
	}
	if args, err := os.ReadFile(filepath.Join(bin, "args")); err != nil || filepath.Dir(string(args)) != folder {
		t.Errorf("%s, %v", args, err)
	} else if _, err := os.Stat(string(args)); err == nil {
		t.Error("a file that no browser opens stays")
	}
}

// signIn uses a link, as a page does.
func (s *serving) signIn(link string, want int) {
	s.t.Helper()
	at, code, ok := strings.Cut(link, "#code=")
	if !ok || at != s.at.URL+"/console/" {
		s.t.Fatalf("the link is %q", link)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.at.URL+"/console/session", strings.NewReader(`{"code":"`+code+`"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Memento-Console", "1")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != want {
		s.t.Errorf("signing in: %d, want %d", answer.StatusCode, want)
	}
}

// Without a server, or with one that has no console, it says what to do.
func TestNoConsole(t *testing.T) {
	dataHome(t)
	if code, _, errs := runWith(t, "", "--backend", "mem:", "console"); code != exitInvalid || !strings.Contains(errs, `run "memento serve"`) {
		t.Errorf("exit code %d, %s", code, errs)
	}
	s := serve(t, "--console=false")
	if code, _, errs := runWith(t, "", "--backend", s.at.URL, "console", "--print"); code != exitInvalid || !strings.Contains(errs, "has no console") || !strings.Contains(errs, "setting console") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	a := newApp(strings.NewReader(""), nil, nil)
	if err := a.defaultToServer(); err != nil || a.backendURL != "http://127.0.0.1:8377" {
		t.Errorf("nothing chosen: %q, %v", a.backendURL, err)
	}
	t.Setenv("MEMENTO_BACKEND", "sqlite:a.db")
	a = newApp(strings.NewReader(""), nil, nil)
	if err := a.defaultToServer(); err != nil || a.backendURL != "" {
		t.Errorf("a backend in the environment: %q, %v", a.backendURL, err)
	}
}
