package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
)

// mcpHeaders are those of a call of a tool in 2026-07-28.
var mcpHeaders = []string{
	"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "memory",
}

// memoryCall is a call of the memory tool.
func memoryCall(input string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"name":"memory","arguments":` + input + `}}`
}

const createTea = `{"command":"create","path":"/memories/tea.md","file_text":"green tea"}`

// The endpoint takes the API's keys; a key sees its workspace, and its role decides what it
// may change.
func TestMCPKeys(t *testing.T) {
	r := start(t, testConfig())
	if a := r.ask("POST", "/mcp", "wrong", memoryCall(createTea), mcpHeaders...); a.StatusCode != http.StatusUnauthorized || strings.Contains(a.Header.Get("WWW-Authenticate"), "resource_metadata") {
		t.Errorf("a wrong key got %d %v", a.StatusCode, a.Header)
	}
	if a := r.ask("GET", "/.well-known/oauth-protected-resource", "", ""); a.StatusCode == http.StatusOK {
		t.Errorf("without an issuer, the metadata are %s", a.text)
	}
	a := r.ask("POST", "/mcp", r.key, memoryCall(createTea), mcpHeaders...)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.text, "File created successfully") {
		t.Fatalf("got %d %s", a.StatusCode, a.text)
	}
	s := memento.OpenNamed(r.backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, nil)
	for v, err := range s.Versions(t.Context(), memento.VersionListOptions{}) {
		if err != nil || v.Path != "/tea.md" || v.CreatedBy.Kind != memento.ActorAPIKey {
			t.Errorf("the version is %+v, %v", v, err)
		}
	}
	view := memoryCall(`{"command":"view","path":"/memories"}`)
	other := r.addKey("other", apikey.RoleWrite)
	if a := r.ask("POST", "/mcp", other, view, mcpHeaders...); a.StatusCode != http.StatusOK || strings.Contains(a.text, "tea.md") {
		t.Errorf("another workspace sees %d %s", a.StatusCode, a.text)
	}
	reader := r.addKey(memento.DefaultWorkspace, apikey.RoleRead)
	if a := r.ask("POST", "/mcp", reader, view, mcpHeaders...); a.StatusCode != http.StatusOK || !strings.Contains(a.text, "tea.md") {
		t.Errorf("a reader sees %d %s", a.StatusCode, a.text)
	}
	if a := r.ask("POST", "/mcp", reader, memoryCall(`{"command":"delete","path":"/memories/tea.md"}`), mcpHeaders...); !strings.Contains(a.text, `"isError":true`) {
		t.Errorf("a reader's deletion got %d %s", a.StatusCode, a.text)
	}
	// Another store, named in the URL.
	if a := r.ask("POST", "/mcp?store=work", r.key, view, mcpHeaders...); a.StatusCode != http.StatusOK || strings.Contains(a.text, "tea.md") {
		t.Errorf("the store work has %d %s", a.StatusCode, a.text)
	}
	if a := r.ask("POST", "/mcp?store=a&store=b", r.key, view, mcpHeaders...); a.StatusCode != http.StatusBadRequest {
		t.Errorf("two stores got %d %s", a.StatusCode, a.text)
	}
	for _, name := range badStoreNames {
		if a := r.ask("POST", "/mcp?store="+url.QueryEscape(name), r.key, view, mcpHeaders...); a.StatusCode != http.StatusBadRequest {
			t.Errorf("the store %q got %d %s", name, a.StatusCode, a.text)
		}
	}
}

// badStoreNames are names that no store can have, and that a header can hold.
var badStoreNames = []string{strings.Repeat("n", 256), "a\u2028b", "a\u202eb", "a\tb", "a\xff"}

// Web pages of other origins are refused, and other names of the server.
func TestMCPOrigin(t *testing.T) {
	c := testConfig()
	c.Origins = []string{"https://app.example.com"}
	r := start(t, c)
	view := memoryCall(`{"command":"view","path":"/memories"}`)
	with := func(headers ...string) answer {
		return r.ask("POST", "/mcp", r.key, view, slices.Concat(mcpHeaders, headers)...)
	}
	if a := with("Origin", "https://evil.example.com"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another origin got %d %s", a.StatusCode, a.text)
	}
	a := with("Origin", "https://app.example.com")
	if a.StatusCode != http.StatusOK || !strings.Contains(strings.Join(a.Header.Values("Access-Control-Expose-Headers"), ","), "Mcp-Session-Id") {
		t.Errorf("an allowed origin got %d %v", a.StatusCode, a.Header)
	}
}

// With an issuer, tokens are accepted, and a client without one learns where to get one.
func TestMCPTokens(t *testing.T) {
	i := newIssuer(t)
	c := testConfig()
	c.OIDC = i.config()
	c.OIDC.DefaultRole = apikey.RoleWrite
	r := start(t, c)
	a := r.ask("POST", "/mcp", "", memoryCall(createTea), mcpHeaders...)
	where := r.url + "/.well-known/oauth-protected-resource/mcp"
	if a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.Header.Get("WWW-Authenticate"), `resource_metadata="`+where+`"`) {
		t.Fatalf("without a token: %d %v", a.StatusCode, a.Header)
	}
	a = r.ask("GET", strings.TrimPrefix(where, r.url), "", "")
	if a.StatusCode != http.StatusOK || !strings.Contains(a.text, `"resource":"`+r.url+`/mcp"`) || !strings.Contains(a.text, `"authorization_servers":["`+c.OIDC.Issuer+`"]`) {
		t.Errorf("the metadata are %d %s", a.StatusCode, a.text)
	}
	a = r.ask("POST", "/mcp", i.token(t), memoryCall(createTea), mcpHeaders...)
	if a.StatusCode != http.StatusOK || !strings.Contains(a.text, "File created successfully") {
		t.Errorf("with a token: %d %s", a.StatusCode, a.text)
	}
	c.MCP.URL = "https://memory.example.com/"
	r = start(t, c)
	if a := r.ask("GET", "/.well-known/oauth-protected-resource", "", ""); !strings.Contains(a.text, `"resource":"https://memory.example.com/mcp"`) {
		t.Errorf("the metadata are %s", a.text)
	}
}

func TestMCPSettings(t *testing.T) {
	c := testConfig()
	c.MCP.Tools = "off"
	r := start(t, c)
	if a := r.ask("POST", "/mcp", r.key, memoryCall(createTea), mcpHeaders...); a.StatusCode != http.StatusNotFound {
		t.Errorf("without the endpoint: %d %s", a.StatusCode, a.text)
	}
	c = testConfig()
	c.MCP.Mounts = []string{"mine={store}", "team=handbook:ro"}
	r = start(t, c)
	if a := r.ask("POST", "/mcp", r.key, memoryCall(`{"command":"create","path":"/memories/team/a.md","file_text":"x"}`), mcpHeaders...); !strings.Contains(a.text, "read-only") {
		t.Errorf("a read-only mount: %d %s", a.StatusCode, a.text)
	}
	if a := r.ask("POST", "/mcp", r.key, memoryCall(`{"command":"create","path":"/memories/mine/a.md","file_text":"x"}`), mcpHeaders...); !strings.Contains(a.text, "File created") {
		t.Errorf("a mount: %d %s", a.StatusCode, a.text)
	}
	c.MCP.Mounts = []string{"a/b=x"}
	if _, err := New(c, Deps{Backend: r.backend}); err == nil || !strings.Contains(err.Error(), "mcp.mounts") {
		t.Errorf("a bad name of a mount: %v", err)
	}
}

// Calls over MCP are counted as those of the API are, and by what came of them.
func TestMCPToolCallMetrics(t *testing.T) {
	c := testConfig()
	c.MCP.History = true
	r := start(t, c)
	call := func(tool, arguments string) {
		t.Helper()
		headers := slices.Clone(mcpHeaders)
		headers[len(headers)-1] = tool
		body := strings.Replace(memoryCall(arguments), `"name":"memory"`, `"name":"`+tool+`"`, 1)
		if a := r.ask("POST", "/mcp", r.key, body, headers...); a.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", a.StatusCode, a.text)
		}
	}
	call("memory", createTea)
	call("memory", createTea)
	call("memory", `{"command":"canary"}`)
	call("memory", `{"type":"tool_use","id":"toolu_1","name":"memory","input":`+createTea+`}`)
	call("memory_search", `{"query":"tea"}`)
	call("memory_search", `{"query":""}`)
	call("memory_history", `{}`)
	call("memory_restore", `{"path":"/memories/none.md"}`)
	text := r.scrape()
	for _, want := range []string{
		`memento_tool_calls_total{command="create",outcome="ok"} 1`,
		`memento_tool_calls_total{command="create",outcome="refused"} 1`,
		`memento_tool_calls_total{command="malformed",outcome="refused"} 2`,
		`memento_tool_calls_total{command="search",outcome="ok"} 1`,
		`memento_tool_calls_total{command="search",outcome="refused"} 1`,
		`memento_tool_calls_total{command="history",outcome="ok"} 1`,
		`memento_tool_calls_total{command="restore",outcome="refused"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("a label has what a caller chose")
	}
}

// A call over MCP that fails because of the storage counts by that, not as a refusal.
func TestMCPToolCallFails(t *testing.T) {
	r := startOn(t, testConfig(), failing{memstore.New(nil)})
	if a := r.ask("POST", "/mcp", r.key, memoryCall(createTea), mcpHeaders...); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.text)
	}
	if a := r.ask("POST", "/mcp", r.key, memoryCall(`{"command":"view","path":"/memories"}`), mcpHeaders...); !strings.Contains(a.text, `"isError":true`) {
		t.Errorf("%d %s", a.StatusCode, a.text)
	}
	if text := r.scrape(); !strings.Contains(text, `memento_tool_calls_total{command="view",outcome="unavailable"} 1`+"\n") {
		t.Error(text)
	}
}
