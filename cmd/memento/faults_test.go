//go:build linux && faults

// Storage that fails, under the real binary: strace makes flushes fail, a small
// tmpfs fills up. The tests need both, and root for the latter, so they have a
// build tag of their own; go run ./test/suites faults installs and runs them.

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/test/smalldisk"
)

// buildBinary builds the program under test.
func buildBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "memento")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// A coprocess is a `memento tool` that is held open.
type coprocess struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startTool(t *testing.T, command ...string) *coprocess {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	return startCommand(t, cmd)
}

// startCommand starts a `memento tool` as it is prepared.
func startCommand(t *testing.T, cmd *exec.Cmd) *coprocess {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return &coprocess{t, cmd, in, lines}
}

// call sends one input and returns the answer.
func (c *coprocess) call(input map[string]any) memento.ResultBlock {
	c.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "%s\n", raw); err != nil {
		c.t.Fatalf("the process is gone: %v", err)
	}
	if !c.lines.Scan() {
		c.t.Fatalf("no answer to %s: %v", raw, c.lines.Err())
	}
	var r memento.ResultBlock
	if err := json.Unmarshal(c.lines.Bytes(), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *coprocess) create(n int, text string) memento.ResultBlock {
	c.t.Helper()
	return c.call(map[string]any{"command": "create", "path": fmt.Sprintf("/memories/n%04d.md", n), "file_text": text})
}

func (c *coprocess) view(n int) memento.ResultBlock {
	c.t.Helper()
	return c.call(map[string]any{"command": "view", "path": fmt.Sprintf("/memories/n%04d.md", n)})
}

func (c *coprocess) end() {
	c.t.Helper()
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the process ended with %v", err)
	}
}

// While flushes fail, writes are refused with a sentence, everything written
// before is still there, and the process lives; then it works again.
func TestFaultFlushFails(t *testing.T) {
	binary := buildBinary(t)
	url := "sqlite:" + filepath.Join(t.TempDir(), "memento.db")

	warm := startTool(t, binary, "--backend", url, "tool")
	if r := warm.create(0, "first"); r.IsError {
		t.Fatal(r.Content)
	}
	warm.end()

	// The tenth to the twentieth flush of each thread fail, of which the process
	// has a few.
	c := startTool(t, "strace", "-f", "-qq", "-o", os.DevNull, "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:error=EIO:when=10..20", binary, "--backend", url, "tool")
	acknowledged := map[int]bool{0: true}
	var refused []string
	writes, well := 0, 0 // well: without a failure, so far
	for ; writes < 60 || well < 20 && writes < 1000; writes++ {
		n := writes + 1
		if r := c.create(n, fmt.Sprintf("text %d", n)); r.IsError {
			refused = append(refused, r.Content)
			well = 0
			if r := c.view(0); r.IsError || !strings.Contains(r.Content, "first") {
				t.Errorf("after a failed flush, an old memory reads %q", r.Content)
			}
			if r := c.view(n); !r.IsError {
				t.Errorf("memory %d was refused and can be read: %q", n, r.Content)
			}
		} else {
			acknowledged[n] = true
			well++
		}
	}
	if len(refused) == 0 {
		t.Fatal("no flush failed: nothing was tested")
	}
	for _, text := range refused {
		// The second is said where the next flush, by which the first is taken back, failed as well.
		if !strings.HasPrefix(text, "Error: The memory store failed to complete the command on /memories/") || !strings.Contains(text, "Nothing was changed.") {
			if strings.HasPrefix(text, "Error: The memory store failed, or the connection to it was lost, before it confirmed the command.") {
				continue
			}
			t.Errorf("the agent reads %q", text)
		}
	}
	if well < 20 {
		t.Error("writes still fail after flushes work again")
	}
	t.Logf("%d of %d writes were refused", len(refused), writes)
	for n := range acknowledged {
		if r := c.view(n); r.IsError {
			t.Errorf("memory %d was acknowledged: %s", n, r.Content)
		}
	}
	c.end()

	again := startTool(t, binary, "--backend", url, "tool")
	for n := range acknowledged {
		if r := again.view(n); r.IsError {
			t.Errorf("memory %d is lost after reopening: %s", n, r.Content)
		}
	}
	again.end()
}

// On a full disk writes are refused with a sentence that says so, everything
// written before is still there, and room made later can be used at once.
func TestFaultDiskFull(t *testing.T) {
	binary := buildBinary(t)
	disk := smalldisk.Mount(t, "6m")
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	url := "sqlite:" + filepath.Join(disk, "memento.db")

	c := startTool(t, binary, "--backend", url, "tool")
	text := strings.Repeat("0123456789 abcdef\n", 2000) // 36 kB
	n := 0
	var full memento.ResultBlock
	for n = 0; n < 1000; n++ {
		if full = c.create(n, text); full.IsError {
			break
		}
	}
	if !full.IsError {
		t.Fatal("the disk never filled up")
	}
	t.Logf("full after %d memories", n)
	if want := "Error: The storage of this memory store is full. Nothing was changed."; !strings.HasPrefix(full.Content, want) {
		t.Errorf("the agent reads %q, want %q", full.Content, want)
	}
	for i := range n {
		if r := c.view(i); r.IsError || !strings.Contains(r.Content, "0123456789") {
			t.Fatalf("memory %d on the full disk: %s", i, r.Content)
		}
	}
	if r := c.view(n); !r.IsError {
		t.Errorf("memory %d was refused and can be read", n)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if r := c.create(n, text); r.IsError {
		t.Errorf("with room again: %s", r.Content)
	}
	c.end()

	again := startTool(t, binary, "--backend", url, "tool")
	for i := range n + 1 {
		if r := again.view(i); r.IsError {
			t.Errorf("memory %d is lost after reopening: %s", i, r.Content)
		}
	}
	again.end()
}
