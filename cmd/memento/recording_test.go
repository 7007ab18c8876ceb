//go:build linux || darwin

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"memento/test/recording"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
)

var updateRecording = flag.Bool("update", false, "write docs/recording.svg")

// filmed are the commands of the picture in the README.
var filmed = []string{
	"memento demo --seed 1",
	"memento --store demo diff /customers/alex.xml",
	"echo 'postgres://app:Tr0ub4dor@db.example/prod' | memento put /db.md",
	"memento cat /db.md",
}

// notRepeated matches what is another at each recording: IDs and times.
var notRepeated = regexp.MustCompile(`memver_\w+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)

// The picture in the README is what the commands print.
//
//	go test ./cmd/memento -run TestRecording -update
func TestRecording(t *testing.T) {
	const columns = 110
	dir := t.TempDir()
	var steps []recording.Step
	for _, command := range filmed {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "MEMENTO_PAGER=cat", "MEMENTO_BACKEND=sqlite:"+filepath.Join(dir, "memento.db"))
		tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: columns})
		if err != nil {
			t.Fatal(err)
		}
		var output strings.Builder
		_, _ = tty.WriteTo(&output) // on Linux it ends with an error
		tty.Close()
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() > 1 { // 1 says that there are differences
			t.Fatalf("%s: %v: %s", command, err, &output)
		}
		steps = append(steps, recording.Step{Command: command, Output: output.String()})
	}
	svg, err := recording.SVG("An agent meets a customer twice, and remembers the first time", columns, steps)
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/recording.svg"
	if *updateRecording {
		if err := os.WriteFile(file, svg, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(notRepeated.ReplaceAllString(string(stored), "…"), notRepeated.ReplaceAllString(string(svg), "…")); diff != "" {
		t.Errorf("%s is not what the commands print; -update records them again (-stored +printed):\n%s", file, diff)
	}
}
