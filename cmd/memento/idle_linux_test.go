package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"memento/test/proctest"
)

// A server that nobody uses for a while keeps few pages of the program, and answers as
// before.
func TestMCPIdle(t *testing.T) {
	cmd := exec.Command("memento", "--backend", "sqlite:"+filepath.Join(t.TempDir(), "m.db"), "mcp")
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
	lines := bufio.NewReader(out)
	ask := func(message string) {
		t.Helper()
		fmt.Fprintln(in, message)
		if line, err := lines.ReadString('\n'); err != nil || strings.Contains(line, "rror") {
			t.Fatalf("%s is answered with %s, %v", message, line, err)
		}
	}
	// ofFiles returns how much of the program is in its memory, in kB.
	ofFiles := func() (kB int) {
		t.Helper()
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "\nRssFile:")
		if _, err := fmt.Sscan(rest, &kB); err != nil {
			t.Fatal(err)
		}
		return kB
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	for i := range 2 { // after the start, and after a call
		ask(rawMCP(i+2, map[string]any{"command": "view", "path": "/memories"}))
		proctest.Until(t, "few pages of the program are in memory", func() bool { return ofFiles() < 15_000 })
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Pages are removed only where they cannot differ from the program's file.
func TestUnchangedRanges(t *testing.T) {
	const smaps = `00400000-01e90000 r-xp 00000000 fe:00 1234  /usr/bin/memento
Size:              27200 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01e90000-03e95000 r--p 01a90000 fe:00 1234  /usr/bin/memento
Anonymous:             0 kB
03e95000-03e96000 r--p 03a95000 fe:00 1234  /usr/bin/memento
Anonymous:             4 kB
03e96000-03f8b000 rw-p 03a96000 fe:00 1234  /usr/bin/memento
Anonymous:             0 kB
03f8b000-03f8c000 r--s 03a96000 fe:00 1234  /usr/bin/memento
Anonymous:             0 kB
7f178f111000-7f178f267000 r-xp 00000000 fe:00 77  /usr/lib/libc.so.6
Anonymous:             0 kB
7f178f267000-7f178f268000 r-xp 00000000 00:00 0
Anonymous:             0 kB
7f178f300000-7f178f301000 r-xp 00000000 fe:00 77  /usr/bin/memento (deleted)
Anonymous:             0 kB
`
	got, err := unchangedRanges(strings.NewReader(smaps), "/usr/bin/memento")
	want := []addressRange{{0x400000, 0x1e90000}, {0x1e90000, 0x3e95000}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, %v; want %x", got, err, want)
	}
}
