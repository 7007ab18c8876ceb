package conformance

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"memento"
	"memento/backend/sqlitestore"
	"memento/claude/claudetest"
)

// The TypeScript SDK through memento serve --gateway: it completes turns with calls of the
// memory beside its own tool, what it accumulates of a stream is what it gets without
// streaming, and its tool runner never sees the memory. That of the newer major begins with a
// message thread, and goes on without one when it is refused.
func TestGateway(t *testing.T) {
	weather := func(city string) claudetest.Call {
		return claudetest.Call{Tool: "weather", Input: map[string]any{"city": city}}
	}
	memory := func(input map[string]any) claudetest.Call { return claudetest.Call{Tool: "memory", Input: input} }
	upstream := httptest.NewServer(claudetest.New(claudetest.Script(
		claudetest.Turn{User: "Plan", Say: "I look.", Calls: []claudetest.Call{
			memory(map[string]any{"command": "view", "path": "/memories"}), weather("Rome"),
			memory(map[string]any{"command": "create", "path": "/memories/plan.md", "file_text": "Rome\n"})}},
		claudetest.Turn{Say: "Also Oslo.", Expect: []string{"created successfully", "sunny in Rome"}, Calls: []claudetest.Call{weather("Oslo")}},
		claudetest.Turn{Say: "Saved.", Calls: []claudetest.Call{memory(map[string]any{"command": "insert", "path": "/memories/plan.md", "insert_line": 1, "insert_text": "Oslo"})}},
		claudetest.Turn{Say: "Done."},
	), &claudetest.Options{Key: "sk-upstream"}))
	t.Cleanup(upstream.Close)
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte("sk-upstream"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := installPackages("sdk"); err != nil {
		t.Fatal(err)
	}
	for sdk, threads := range map[string]int{"sdk-0": 0, "sdk-1": 2} { // for two runners
		t.Run(sdk, func(t *testing.T) {
			s := startServer(t, "--gateway", upstream.URL, "--gateway-key-file", keyFile)
			node := exec.CommandContext(t.Context(), "node", "gateway.mjs", sdk, s.url, s.key)
			node.Dir, node.Stderr = "sdk", os.Stderr
			out, err := node.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Plain, Streamed        []map[string]any
				Runner, StreamedRunner string
				Threads                struct{ Refused, Accepted int }
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if len(got.Plain) != 3 || !reflect.DeepEqual(got.Plain, got.Streamed) {
				t.Errorf("without streaming %v, and with it %v", got.Plain, got.Streamed)
			}
			if got.Runner != "Saved. Done." || got.StreamedRunner != got.Runner {
				t.Errorf("the tool runner ended with %q, and streaming with %q", got.Runner, got.StreamedRunner)
			}
			if got.Threads.Refused != threads || got.Threads.Accepted != 0 {
				t.Errorf("%d threads were refused and %d accepted, want %d and none", got.Threads.Refused, got.Threads.Accepted, threads)
			}
			b, err := sqlitestore.Open(t.Context(), s.file, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			for _, user := range []string{"plain", "streamed", "runner", "streamed-runner"} {
				store := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "user-" + user}, nil)
				if m, err := store.Get(t.Context(), memento.ByPath("/plan.md")); err != nil || m.Content != "Rome\nOslo\n" {
					t.Errorf("the memory of %s is %q, %v", user, m.Content, err)
				}
			}
		})
	}
}
