package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento/examples/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

// The second session goes on with what the first one has saved: nothing else tells it
// the VAT and the next feature.
func TestProject(t *testing.T) {
	dir, runs := exampletest.Play(t)
	if got, want := runs[1].Output, "The receipts are done, with 19 percent VAT. All features are done.\n"; got != want {
		t.Errorf("the second session says %q, want %q", got, want)
	}
	if first := string(runs[1].Requests[0].Body); strings.Contains(first, "19 percent") || strings.Contains(first, "receipts") {
		t.Errorf("the second session is told by its first request: %s", first)
	}
	want := map[string]string{
		"/shop/progress.md": "# Progress\n- decided: VAT is 19 percent, and prices are in cents\n- done: prices.go has Gross\n- next: receipts\n",
		"/shop/features.md": "- [x] prices\n- [x] receipts\n",
		"/shop/startup.md":  "go test . in the folder of the shop\n",
	}
	if diff := cmp.Diff(want, exampletest.Memories(t, filepath.Join(dir, "project.db"))); diff != "" {
		t.Error("memories (-want +got):\n" + diff)
	}
	for name, holds := range map[string]string{"prices.go": "net*19/100", "receipts.go": "with 19 percent VAT"} {
		if source, err := os.ReadFile(filepath.Join(dir, "shop", name)); err != nil || !strings.Contains(string(source), holds) {
			t.Errorf("%s: %v, %s", name, err, source)
		}
	}
}
