//go:build linux && faults

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"memento"
	"memento/backend/storeurl"
	"memento/test/longtest"
)

// injected are the system calls that are made to fail, once each, at one call after
// the other, and how.
var injected = []struct {
	calls string
	errno string
}{
	{"fsync,fdatasync", "EIO"},
	{"write", "EIO"},
	{"write", "ENOSPC"},
	{"pwrite64", "EIO"},
	{"pwrite64", "ENOSPC"},
	{"pread64", "EIO"},
	{"openat", "EIO"},
	{"openat", "ENOSPC"},
	{"renameat,renameat2", "EIO"},
	{"renameat,renameat2", "ENOSPC"},
	{"unlinkat", "EIO"},
	{"mkdirat", "EIO"},
	{"mkdirat", "ENOSPC"},
	{"ftruncate,fallocate", "EIO"},
	{"ftruncate,fallocate", "ENOSPC"},
	{"flock", "EIO"},
	{"fchmod,fchmodat,?fchmodat2", "EIO"},
	{"fstat,newfstatat,statx", "EIO"},
	{"getdents64", "EIO"},
	{"fcntl", "EIO"},
}

// script is what the process is told to do, in this order; keys are the paths of the
// store, values the contents, and a change without contents removes.
var script = []struct {
	input  map[string]any
	before map[string]string // of what the command changes
	after  map[string]string
}{
	{
		map[string]any{"command": "create", "path": "/memories/new/deep/n.md", "file_text": "new"},
		map[string]string{}, map[string]string{"/new/deep/n.md": "new"},
	},
	{
		map[string]any{"command": "str_replace", "path": "/memories/edit.md", "old_str": "one", "new_str": "two"},
		map[string]string{"/edit.md": "one"}, map[string]string{"/edit.md": "two"},
	},
	{
		map[string]any{"command": "rename", "old_path": "/memories/from.md", "new_path": "/memories/to/there.md"},
		map[string]string{"/from.md": "moves"}, map[string]string{"/to/there.md": "moves"},
	},
	{
		map[string]any{"command": "delete", "path": "/memories/gone.md"},
		map[string]string{"/gone.md": "gone"}, map[string]string{},
	},
	{
		map[string]any{"command": "rename", "old_path": "/memories/folder", "new_path": "/memories/moved/folder"},
		map[string]string{"/folder/a.md": "a", "/folder/sub/b.md": "b"},
		map[string]string{"/moved/folder/a.md": "a", "/moved/folder/sub/b.md": "b"},
	},
	{
		map[string]any{"command": "delete", "path": "/memories/old"},
		map[string]string{"/old/a.md": "old a", "/old/sub/b.md": "old b"}, map[string]string{},
	},
}

// TestFaultInjected makes one system call fail while memories and directories are
// made, changed, renamed and deleted. What was acknowledged is there afterwards; where
// the agent read that nothing was changed, nothing was; and the store is in order.
func TestFaultInjected(t *testing.T) {
	binary := buildBinary(t)
	for _, engine := range []string{"dir", "sqlite"} {
		t.Run(engine, func(t *testing.T) {
			prepared := filepath.Join(t.TempDir(), "prepared")
			prepareInjected(t, binary, engineURL(engine, prepared))
			runs, hits, mu := 0, 0, sync.Mutex{}
			t.Run("calls", func(t *testing.T) {
				for _, fault := range injected {
					calls := countCalls(t, binary, engine, prepared, fault.calls)
					for n := range sampled(calls) {
						t.Run(fmt.Sprintf("%s/%s/%d", fault.calls, fault.errno, n), func(t *testing.T) {
							if longtest.Enabled() {
								t.Parallel()
							}
							hit := runInjected(t, binary, engine, prepared, fault.calls, fmt.Sprintf("error=%s:when=%d", fault.errno, n))
							mu.Lock()
							defer mu.Unlock()
							if runs++; hit {
								hits++
							}
						})
					}
				}
			})
			t.Logf("%d runs, in %d of them the answers tell of the fault", runs, hits)
			if hits == 0 {
				t.Error("no fault was noticed: nothing was tested")
			}
		})
	}
}

// sampled yields which calls of n are made to fail: one, or in a long run all.
func sampled(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		first, step := 1, 1
		if !longtest.Enabled() {
			first, step = max(1, n*2/3), n+1
		}
		for i := first; i <= n && yield(i); i += step {
		}
	}
}

func engineURL(engine, place string) string {
	if engine == "sqlite" {
		return "sqlite:" + filepath.Join(place, "memento.db")
	}
	return "dir:" + filepath.Join(place, "folder")
}

func prepareInjected(t *testing.T, binary, url string) {
	t.Helper()
	if err := os.Mkdir(filepath.Dir(strings.SplitN(url, ":", 2)[1]), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range script {
		for path, text := range step.before {
			cmd := exec.Command(binary, "--backend", url, "put", path)
			cmd.Stdin = strings.NewReader(text)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
}

// commands is what the script is on the standard input of "memento tool".
func commands(t *testing.T) []byte {
	t.Helper()
	var lines bytes.Buffer
	for _, step := range script {
		if err := json.NewEncoder(&lines).Encode(step.input); err != nil {
			t.Fatal(err)
		}
	}
	return lines.Bytes()
}

// countCalls returns how many of some system calls a thread makes, at the most, while
// nothing fails: strace counts those of each thread.
func countCalls(t *testing.T, binary, engine, prepared, calls string) int {
	t.Helper()
	place := filepath.Join(t.TempDir(), "counted")
	if err := os.CopyFS(place, os.DirFS(prepared)); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-qq", "-o", trace, "-e", "trace="+calls, binary, "--backend", engineURL(engine, place), "tool")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // one thread makes most calls
	cmd.Stdin = bytes.NewReader(commands(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	byThread := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		thread, call, _ := strings.Cut(line, " ")
		if !strings.Contains(call, "resumed>") && strings.Contains(call, "(") {
			byThread[thread]++
		}
	}
	return slices.Max(append(slices.Collect(maps.Values(byThread)), 0))
}

// runInjected runs the script with a fault, and reports whether an answer told of one.
func runInjected(t *testing.T, binary, engine, prepared, calls, fault string) (hit bool) {
	t.Helper()
	place := filepath.Join(t.TempDir(), "faulty")
	if err := os.CopyFS(place, os.DirFS(prepared)); err != nil {
		t.Fatal(err)
	}
	url := engineURL(engine, place)
	cmd := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace="+calls, "-e", "inject="+calls+":"+fault, binary, "--backend", url, "tool")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdin = bytes.NewReader(commands(t))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() < 0 || exit.ExitCode() == 2) {
		// Go itself does not survive a failed write to the event by which it wakes up:
		// that is as good as a kill.
		if !strings.Contains(stderr.String(), "runtime: netpollBreak write failed") {
			t.Fatalf("the process ended with %v: %s", err, stderr.String())
		}
		stderr.Reset()
	}
	for _, never := range []string{"goroutine ", "damaged", memento.ErrFormat.Error(), "ResultCode("} {
		if strings.Contains(stderr.String(), never) || strings.Contains(stdout.String(), never) {
			t.Errorf("the process said %q: %s%s", never, stderr.String(), stdout.String())
		}
	}
	found := contentsOf(t, binary, url)
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	for i, step := range script {
		said := "no answer"
		before, after := true, true // what may be found
		if i < len(lines) && lines[i] != "" {
			var r memento.ResultBlock
			if err := json.Unmarshal([]byte(lines[i]), &r); err != nil {
				break // it ended in the middle of a line
			}
			said = r.Content
			before = r.IsError
			after = !r.IsError || !strings.Contains(said, "Nothing was changed.")
			hit = hit || r.IsError
		} else {
			hit = true
		}
		if !(before && isFound(found, step.before, step.after)) && !(after && isFound(found, step.after, step.before)) {
			t.Errorf("%v: the agent read %q, and there is %v", step.input, said, found)
		}
	}
	return hit
}

// isFound reports whether all of want is there, and nothing at the other paths.
func isFound(found, want, other map[string]string) bool {
	for path, text := range want {
		if found[path] != text {
			return false
		}
	}
	for path := range other {
		if _, both := want[path]; !both && found[path] != "" {
			return false
		}
	}
	return true
}

// contentsOf opens a store that should be in order, and returns its memories.
func contentsOf(t *testing.T, binary, url string) map[string]string {
	t.Helper()
	b, err := storeurl.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatalf("the store does not open any more: %v", err)
	}
	found := map[string]string{}
	for info, err := range b.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range b.List(t.Context(), info.ID, memento.ListOptions{Contents: true}) {
			if err != nil {
				t.Fatal(err)
			}
			found[string(e.Path)] = e.Memory.Content
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if place, ok := strings.CutPrefix(url, "dir:"); ok {
		if files := filesBelow(t, filepath.Join(place, "memories")); !maps.Equal(files, found) {
			t.Errorf("there are the files %v, and the memories %v", files, found)
		}
	}
	if out, err := exec.Command(binary, "--backend", url, "doctor").CombinedOutput(); err != nil {
		t.Errorf("doctor: %v: %s", err, out)
	}
	return found
}

// filesBelow returns the contents of the files in a folder, by path.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		files[strings.TrimPrefix(name, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A write whose flush fails once has not happened, also for whoever opens the database
// after a crash, although the log had all of it.
func TestFaultFailedFlushIsGone(t *testing.T) {
	binary := buildBinary(t)
	for flush := 4; flush <= longtest.Scaled(7, 14); flush++ {
		// strace counts the flushes of each thread: when two threads reach the number one
		// after the other, the flush fails and so does what undoes it.
		faults := 0
		for attempt := 0; attempt < 20 && faults != 1; attempt++ {
			faults = failFlush(t, binary, flush)
		}
		if faults != 1 {
			t.Errorf("flush %d: %d flushes failed, want 1: nothing was tested", flush, faults)
		}
	}
}

// failFlush writes until a flush fails, and checks what is there after a crash if it was
// the only one. It returns how many flushes failed.
func failFlush(t *testing.T, binary string, flush int) int {
	t.Helper()
	place := t.TempDir()
	url := "sqlite:" + filepath.Join(place, "memento.db")
	warm := startTool(t, binary, "--backend", url, "tool")
	if r := warm.create(0, "first"); r.IsError {
		t.Fatal(r.Content)
	}
	warm.end()
	// With -D strace is the child, so that to wait is to wait for the end of the process.
	trace := filepath.Join(place, "trace")
	cmd := exec.Command("strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=fsync,fdatasync", "-e", "signal=none",
		"-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d", flush), binary, "--backend", url, "tool")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := startCommand(t, cmd)
	refused, said := 0, ""
	for n := 1; n < 40 && refused == 0; n++ {
		if r := c.create(n, fmt.Sprint("text ", n)); r.IsError {
			refused, said = n, r.Content
		}
	}
	traced, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if refused == 0 {
		t.Fatalf("flush %d: no write was refused: nothing was tested", flush)
	}
	faults := strings.Count(string(traced), "(INJECTED)")
	if faults != 1 {
		return faults
	}
	if !strings.Contains(said, "Nothing was changed.") {
		t.Errorf("flush %d: the agent read %q", flush, said)
	}
	found := contentsOf(t, binary, url)
	if text, there := found[fmt.Sprintf("/n%04d.md", refused)]; there {
		t.Errorf("flush %d: what was refused is there after a crash: %q", flush, text)
	}
	if len(found) != refused {
		t.Errorf("flush %d: %d memories are there, want %d", flush, len(found), refused)
	}
	return faults
}
