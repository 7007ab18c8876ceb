package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var updateSessions = flag.Bool("update-sessions", false, "write the recorded sessions of MCP clients")

// recordedSession is what every client gets in the session of mcp/session.mjs.
const recordedSession = "mcp/session.json"

// mcpTimeout is how long a client may take for a session.
const mcpTimeout = 3 * time.Minute

// The official clients for TypeScript, of both majors, and for Go, in both eras and over
// both transports, play the recorded session.
func TestMCPClients(t *testing.T) {
	if err := installPackages("mcp"); err != nil {
		t.Fatal(err)
	}
	for _, client := range []struct{ name, version string }{{"v1", ""}, {"v2", ""}, {"v2", "2026-07-28"}, {"go", "2025-11-25"}, {"go", "2026-07-28"}} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(client.name+" "+client.version+" "+transport, func(t *testing.T) {
				r := &recorder{name: strings.TrimSuffix(client.name+"-"+transport+"-"+client.version, "-")}
				if client.name != "go" {
					r.name = "typescript-" + r.name
				}
				r.Session.Client = client.name
				given := mcpTarget{Client: client.name, Version: client.version}
				if transport == "stdio" {
					given.Command = []string{binary, "--backend", "sqlite:" + filepath.Join(t.TempDir(), "m.db"), "mcp"}
					if *updateSessions {
						given.Command = r.stdio(t, given.Command)
					}
				} else {
					s := startServer(t)
					given.URL, given.Key = s.url+"/mcp", s.key
					if *updateSessions {
						given.URL = r.http(t, given.URL)
					}
				}
				var got []byte
				if client.name == "go" {
					got = goSession(t, given)
				} else {
					argument, err := json.Marshal(given)
					if err != nil {
						t.Fatal(err)
					}
					got = runMCP(t, "node", "session.mjs", string(argument))
				}
				if *updateSessions {
					r.save(t)
				}
				if *updateSessions && client.name != "go" {
					if err := os.WriteFile(recordedSession, got, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(recordedSession)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
					t.Errorf("(-recorded +got)\n%s", diff)
				}
			})
		}
	}
}

// decoded returns a JSON value without the order of its members.
func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// An mcpTarget is what a client is told: which it is, and where the server is.
type mcpTarget struct {
	Client  string   `json:"client"`
	Version string   `json:"version"`
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
	Key     string   `json:"key,omitempty"`
}

// The inspector's command line lists, calls and reads over both transports and in both eras.
func TestMCPInspector(t *testing.T) {
	if err := installPackages("mcp"); err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{"legacy", "modern"} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(era+" "+transport, func(t *testing.T) { inspect(t, era, transport) })
		}
	}
}

func inspect(t *testing.T, era, transport string) {
	s := startServer(t)
	file := filepath.Join(t.TempDir(), "m.db")
	recorded := 0
	run := func(more ...string) map[string]any {
		t.Helper()
		recorded++
		r := &recorder{name: fmt.Sprintf("inspector-%s-%s-%d", transport, era, recorded)}
		r.Session.Client = "inspector"
		command, url := []string{binary, "mcp"}, s.url+"/mcp"
		if *updateSessions && transport == "stdio" {
			command = r.stdio(t, command)
		} else if *updateSessions {
			url = r.http(t, url)
		}
		target := append(command, "-e", "MEMENTO_BACKEND=sqlite:"+file)
		if transport == "http" {
			target = []string{url, "--header", "Authorization: Bearer " + s.key}
		}
		args := slices.Concat([]string{"node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", "--cli"}, target, []string{"--protocol-era", era}, more)
		var answer map[string]any
		if out := runMCP(t, "node", args...); json.Unmarshal(out, &answer) != nil {
			t.Fatalf("%v printed %s", more, out)
		}
		if *updateSessions {
			r.save(t)
		}
		return answer
	}
	if tools, ok := run("--method", "tools/list")["tools"].([]any); !ok || len(tools) != 2 {
		t.Errorf("the tools are %v", tools)
	}
	made := run("--method", "tools/call", "--tool-name", "memory", "--tool-arg", "command=create", "path=/memories/a.md", "file_text=hello")
	if made["isError"] == true {
		t.Errorf("create: %v", made)
	}
	read := run("--method", "resources/read", "--uri", "memory:///memories/a.md")
	if contents, ok := read["contents"].([]any); !ok || len(contents) != 1 || contents[0].(map[string]any)["text"] != "hello" {
		t.Errorf("the resource is %v", read)
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
