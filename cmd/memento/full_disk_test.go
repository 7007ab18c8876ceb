//go:build linux && faults

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"memento/test/proctest"
	"memento/test/smalldisk"
)

// A program is the binary under test, with a backend.
type program struct {
	t      *testing.T
	binary string
	url    string
	disk   string // to be full before each run, unless ""
	home   string
}

func (p *program) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, p.binary, append([]string{"--backend", p.url}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_DATA_HOME="+p.home, "XDG_CONFIG_HOME="+p.home)
	return cmd
}

// run runs a command in a process of its own, and returns its output and its exit code.
func (p *program) run(args ...string) (out, errs string, code int) {
	p.t.Helper()
	if p.disk != "" {
		smalldisk.Fill(p.t, p.disk)
	}
	cmd := p.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return stdout.String(), stderr.String(), exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), 0
}

// must is run for what has to work.
func (p *program) must(args ...string) string {
	p.t.Helper()
	out, errs, code := p.run(args...)
	if code != 0 {
		p.t.Errorf("memento %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
	return out
}

// refused is run for what has to be refused, since the disk is full.
func (p *program) refused(args ...string) {
	p.t.Helper()
	_, errs, code := p.run(args...)
	if code != exitStorage || !strings.Contains(errs, "the disk that holds the database is full (") {
		p.t.Errorf("memento %s: exit code %d: %s", strings.Join(args, " "), code, errs)
	}
}

// fullDisks are the file systems that are filled.
func fullDisks() map[string]func(t *testing.T) (dir string) {
	return map[string]func(*testing.T) string{
		"tmpfs": func(t *testing.T) string { return smalldisk.Mount(t, "32m") },
		"ext4":  func(t *testing.T) string { return ext4Disk(t, 48<<20) },
	}
}

// ext4Disk mounts a new ext4 of a size, from a file, until the test ends.
func ext4Disk(t *testing.T, size int64) (dir string) {
	t.Helper()
	image := filepath.Join(t.TempDir(), "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, size)); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, command := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	smalldisk.UnmountAtEnd(t, dir)
	return dir
}

// On a disk without a free byte every command that reads or removes works, each in a
// process of its own; those that write say what is full. With room everything works.
func TestFaultFullDiskCommands(t *testing.T) {
	binary := buildBinary(t)
	for name, disk := range fullDisks() {
		for _, scheme := range []string{"sqlite", "dir"} {
			t.Run(name+"/"+scheme, func(t *testing.T) { testFullDiskCommands(t, binary, disk(t), scheme) })
		}
	}
}

// prepareFullDisk makes stores on a disk, and fills it.
func prepareFullDisk(t *testing.T, binary, disk, scheme string) (p *program, filler string) {
	t.Helper()
	path := filepath.Join(disk, "memento.db")
	if scheme == "dir" {
		path = filepath.Join(disk, "memories")
	}
	p = &program{t: t, binary: binary, url: scheme + ":" + path, home: t.TempDir()}
	text := strings.Repeat("some text ", 200)
	c := startTool(t, binary, "--backend", p.url, "tool")
	for i := range 60 {
		if r := c.create(i, fmt.Sprintf("word%d %s", i, text)); r.IsError {
			t.Fatal(r.Content)
		}
	}
	if r := c.call(map[string]any{"command": "str_replace", "path": "/memories/n0055.md", "old_str": "word55 ", "new_str": "another "}); r.IsError {
		t.Fatal(r.Content)
	}
	c.end()
	p.must("stores", "create", "other")
	c = startTool(t, binary, "--backend", p.url, "--store", "other", "tool")
	for i := range 60 {
		if r := c.create(i, text); r.IsError {
			t.Fatal(r.Content)
		}
	}
	c.end()
	p.must("stores", "settings", "--history-age", "1s", "--history-versions", "1")
	filler = smalldisk.Fill(t, disk)
	p.disk = disk
	return p, filler
}

func testFullDiskCommands(t *testing.T, binary, disk, scheme string) {
	p, filler := prepareFullDisk(t, binary, disk, scheme)
	elsewhere := t.TempDir()
	if out := p.must("ls"); strings.Count(out, "\n") != 60 {
		t.Errorf("ls: %s", out)
	}
	if out := p.must("cat", "/n0059.md"); !strings.HasPrefix(out, "word59 ") {
		t.Errorf("cat: %.40s", out)
	}
	if out := p.must("search", "word58"); !strings.Contains(out, "n0058.md") {
		t.Errorf("search: %s", out)
	}
	p.must("log")
	p.must("stats")
	p.must("stores", "list")
	p.must("export", filepath.Join(elsewhere, "export.tar.gz"))
	p.must("backup", "create", filepath.Join(elsewhere, "backup.db"))
	p.must("doctor")
	big := filepath.Join(elsewhere, "big")
	if err := os.WriteFile(big, bytes.Repeat([]byte("x"), 60_000), 0o600); err != nil {
		t.Fatal(err)
	}
	p.refused("import", "--store", "new", filepath.Join(elsewhere, "export.tar.gz"))
	for i := range 40 {
		p.must("rm", fmt.Sprintf("/n%04d.md", i))
	}
	var versions []string
	for line := range strings.Lines(p.must("log", "--json", "/n0055.md")) {
		var v struct{ ID string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v.ID)
	}
	if len(versions) != 2 {
		t.Fatalf("versions: %v", versions)
	}
	p.must("redact", "--yes", versions[1])
	time.Sleep(1100 * time.Millisecond)
	p.must("expire")
	p.must("gc")
	p.must("stores", "delete", "--yes", "other")
	if out := p.must("ls"); strings.Count(out, "\n") != 20 {
		t.Errorf("ls afterwards: %s", out)
	}
	p.must("doctor", "--deep")

	p.disk = ""
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	p.must("import", "--store", "new", filepath.Join(elsewhere, "export.tar.gz"))
	p.must("doctor")
}

// A server on a full disk, started there or before, answers reads and removals; writes are
// 507, not to be repeated, /readyz is 503, and both end when there is room.
func TestFaultFullDiskServer(t *testing.T) {
	binary := buildBinary(t)
	for _, scheme := range []string{"sqlite", "dir"} {
		for _, started := range []string{"before", "on the full disk", "without a reserve"} {
			t.Run(scheme+"/"+started, func(t *testing.T) {
				testFullDiskServer(t, binary, smalldisk.Mount(t, "32m"), scheme, started)
			})
		}
	}
}

func testFullDiskServer(t *testing.T, binary, disk, scheme, started string) {
	p, filler := prepareFullDisk(t, binary, disk, scheme)
	p.disk = ""
	if started == "before" {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
	if started == "without a reserve" {
		reserves, _ := filepath.Glob(filepath.Join(disk, "*-reserve"))
		more, _ := filepath.Glob(filepath.Join(disk, "memories", ".memento", "*-reserve"))
		if reserves = append(reserves, more...); len(reserves) != 1 {
			t.Fatalf("reserves: %v", reserves)
		}
		if err := os.Remove(reserves[0]); err != nil {
			t.Fatal(err)
		}
		smalldisk.Fill(t, disk)
	}
	cmd := p.command("serve", "--json", "--address", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	said := func() string {
		text, err := os.ReadFile(stderr.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			cmd.Process.Kill()
			cmd.Wait()
		}
	}()
	var at serverJSON
	if err := json.NewDecoder(out).Decode(&at); err != nil {
		cmd.Wait()
		t.Fatalf("serve: %v: %s", err, said())
	}
	status := func(method, path, key, body string) (int, http.Header, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, at.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("x-api-key", key)
		r.Header.Set("anthropic-beta", "managed-agents-2026-04-01")
		if body != "" {
			r.Header.Set("content-type", "application/json")
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header, string(text)
	}
	ready := func(want int, word string) {
		t.Helper()
		time.Sleep(1100 * time.Millisecond) // for as long an answer is kept
		if code, _, text := status("GET", "/readyz", "", ""); code != want || text != `{"status":"`+word+"\"}\n" {
			t.Errorf("/readyz: %d %s", code, text)
		}
	}
	if started != "before" {
		if at.KeyFile != "" {
			t.Errorf("a key was made: %s", at.KeyFile)
		}
		proctest.Until(t, "serve says that there is no key", func() bool {
			return strings.Contains(said(), "there is no API key, and none can be created")
		})
		ready(http.StatusServiceUnavailable, "storage full")
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		ready(http.StatusOK, "ready")
	} else {
		ready(http.StatusOK, "ready")
		key, err := os.ReadFile(at.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		k := strings.TrimSpace(string(key))
		_, _, text := status("GET", "/v1/memory_stores", k, "")
		var stores struct{ Data []struct{ ID, Name string } }
		if err := json.Unmarshal([]byte(text), &stores); err != nil || len(stores.Data) != 2 {
			t.Fatalf("stores: %v: %s", err, text)
		}
		store := "/v1/memory_stores/" + stores.Data[1].ID // made first
		_, _, text = status("GET", store+"/memories?limit=100", k, "")
		var memories struct{ Data []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &memories); err != nil || len(memories.Data) < 50 {
			t.Fatalf("memories: %v: %s", err, text)
		}
		smalldisk.Fill(t, disk)
		ready(http.StatusServiceUnavailable, "storage full")
		create := func(path string) (int, http.Header, string) {
			t.Helper()
			body, _ := json.Marshal(map[string]string{"path": path, "content": strings.Repeat("x", 60_000)})
			return status("POST", store+"/memories", k, string(body))
		}
		code, header, text := create("/x.md")
		if code != http.StatusInsufficientStorage || header.Get("x-should-retry") != "false" || !strings.Contains(text, `"code":"no_space"`) || strings.Contains(text, disk) {
			t.Errorf("a write: %d %v %s", code, header, text)
		}
		for i := range 40 {
			smalldisk.Fill(t, disk)
			id := memories.Data[i].ID
			if code, _, text := status("GET", store+"/memories/"+id, k, ""); code != http.StatusOK {
				t.Errorf("read %d: %d %s", i, code, text)
			}
			if code, _, text := status("DELETE", store+"/memories/"+id, k, ""); code != http.StatusOK {
				t.Errorf("delete %d: %d %s", i, code, text)
			}
		}
		smalldisk.Fill(t, disk)
		ready(http.StatusServiceUnavailable, "storage full")
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		if code, _, text := create("/x.md"); code != http.StatusOK {
			t.Errorf("a write, with room: %d %s", code, text)
		}
		ready(http.StatusOK, "ready")
	}
	ended = true
	if err := errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()); err != nil {
		t.Errorf("serve ended with %v: %s", err, said())
	}
}
