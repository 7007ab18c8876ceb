package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// In the second week, only the new tickets are read, and counted with those of the first.
func TestWorkflow(t *testing.T) {
	dir, runs := exampletest.Play(t, "tickets")
	if got, want := runs[1].Output, "New is that the export stops at 1000 rows. The login failed again: 3 tickets by now.\n"; got != want {
		t.Errorf("the second report is %q, want %q", got, want)
	}
	told := runs[1].Told()
	for _, text := range []string{"ticket 4104: ", "ticket 4105: "} {
		if !strings.Contains(told, text) {
			t.Errorf("the second week did not read %s", text)
		}
	}
	if strings.Contains(told, "ticket 4101: ") || !strings.Contains(runs[0].Told(), "ticket 4101: ") {
		t.Error("the tickets of the first week were read in both weeks, or in none")
	}
	want := map[string]string{"/tickets.md": `# Procedure
1. read the tickets after the last one
2. count them under the known problems
3. report what is new first
last ticket: 4105
# Known problems
- login fails: 3 tickets
- export stops at 1000 rows: 1 ticket
- wrong address on the invoice: 1 ticket
`}
	if diff := cmp.Diff(want, exampletest.Memories(t, filepath.Join(dir, "workflow.db"))); diff != "" {
		t.Error("memories (-want +got):\n" + diff)
	}
}
