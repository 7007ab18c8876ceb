package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var updateSessions = flag.Bool("update-sessions", false, "write the recorded session of MCP clients")

// recordedSession is what every client gets in the session of mcp/session.mjs.
const recordedSession = "mcp/session.json"

// mcpTimeout is how long a client may take for a session.
const mcpTimeout = 3 * time.Minute

// The official TypeScript clients, of both majors, in both eras and over both transports,
// play the recorded session.
func TestMCPClients(t *testing.T) {
	if err := installPackages("mcp"); err != nil {
		t.Fatal(err)
	}
	for _, client := range []struct{ name, version string }{{"v1", ""}, {"v2", ""}, {"v2", "2026-07-28"}} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(client.name+" "+client.version+" "+transport, func(t *testing.T) {
				given := map[string]any{"client": client.name, "version": client.version}
				if transport == "stdio" {
					given["command"] = []string{binary, "--backend", "sqlite:" + filepath.Join(t.TempDir(), "m.db"), "mcp"}
				} else {
					s := startServer(t)
					given["url"], given["key"] = s.url+"/mcp", s.key
				}
				argument, err := json.Marshal(given)
				if err != nil {
					t.Fatal(err)
				}
				got := runMCP(t, "node", "session.mjs", string(argument))
				if *updateSessions {
					if err := os.WriteFile(recordedSession, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(recordedSession)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(got)); diff != "" {
					t.Errorf("(-recorded +got)\n%s", diff)
				}
			})
		}
	}
}

// The inspector's command line lists, calls and reads over both transports.
func TestMCPInspector(t *testing.T) {
	if err := installPackages("mcp"); err != nil {
		t.Fatal(err)
	}
	s := startServer(t)
	file := filepath.Join(t.TempDir(), "m.db")
	for name, target := range map[string][]string{
		"stdio": {binary, "mcp", "-e", "MEMENTO_BACKEND=sqlite:" + file},
		"http":  {s.url + "/mcp", "--header", "Authorization: Bearer " + s.key},
	} {
		t.Run(name, func(t *testing.T) {
			inspect := func(more ...string) map[string]any {
				t.Helper()
				args := slices.Concat([]string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"}, target, more)
				var answer map[string]any
				if out := runMCP(t, "node", args...); json.Unmarshal(out, &answer) != nil {
					t.Fatalf("%v printed %s", more, out)
				}
				return answer
			}
			if tools, ok := inspect("--method", "tools/list")["tools"].([]any); !ok || len(tools) != 2 {
				t.Errorf("the tools are %v", tools)
			}
			made := inspect("--method", "tools/call", "--tool-name", "memory", "--tool-arg", "command=create", "path=/memories/a.md", "file_text=hello")
			if made["isError"] == true {
				t.Errorf("create: %v", made)
			}
			read := inspect("--method", "resources/read", "--uri", "memory:///memories/a.md")
			if contents, ok := read["contents"].([]any); !ok || len(contents) != 1 || contents[0].(map[string]any)["text"] != "hello" {
				t.Errorf("the resource is %v", read)
			}
		})
	}
}

// runMCP runs a program in the folder of the clients and returns its standard output.
func runMCP(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), mcpTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = "mcp"
	cmd.Env = append(os.Environ(), "MCP_CATALOG_PATH="+filepath.Join(t.TempDir(), "mcp.json"))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, errs.Bytes())
	}
	return out
}
