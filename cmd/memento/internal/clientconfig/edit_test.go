package clientconfig

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	json1 = Client{Name: "j", Servers: "mcpServers", typed: true}
	toml1 = Client{Name: "t", Servers: "mcp_servers", format: toml}

	server = Server{Command: "/bin/memento", Args: []string{"mcp", "--store", "a b"}, Env: map[string]string{"MEMENTO_PROFILE": ""}}
	named  = Server{Command: `C:\m.exe`, Args: []string{"mcp"}, Env: map[string]string{"MEMENTO_PROFILE": "work"}}
)

func TestSet(t *testing.T) {
	const entry = `{
      "type": "stdio",
      "command": "/bin/memento",
      "args": ["mcp", "--store", "a b"]
    }`
	for _, tt := range []struct {
		name   string
		c      Client
		s      Server
		before string
		after  string
	}{
		{"nothing", json1, server, "", "{\n  \"mcpServers\": {\n    \"m\": " + entry + "\n  }\n}\n"},
		{"with a variable", json1, named, "{}", `{
  "mcpServers": {
    "m": {
      "type": "stdio",
      "command": "C:\\m.exe",
      "args": ["mcp"],
      "env": {
        "MEMENTO_PROFILE": "work"
      }
    }
  }
}`},
		{"other servers", json1, server,
			"{\n  // mine\n  \"mcpServers\": {\n    \"x\": {\"url\": 1} // last\n  },\n  \"z\": 1e2\n}\n",
			"{\n  // mine\n  \"mcpServers\": {\n    \"x\": {\"url\": 1}, // last\n    \"m\": " + entry + "\n  },\n  \"z\": 1e2\n}\n"},
		{"a comma at the end", json1, server,
			"{\n  \"mcpServers\": {\n    \"x\": {}, /* c */\n  },\n}\n",
			"{\n  \"mcpServers\": {\n    \"x\": {}, /* c */\n    \"m\": " + entry + ",\n  },\n}\n"},
		{"tabs and CRLF", json1, server,
			"{\r\n\t\"a\": 1\r\n}\r\n",
			"{\r\n\t\"a\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"m\": {\r\n\t\t\t\"type\": \"stdio\",\r\n\t\t\t\"command\": \"/bin/memento\",\r\n\t\t\t\"args\": [\"mcp\", \"--store\", \"a b\"]\r\n\t\t}\r\n\t}\r\n}\r\n"},
		{"one line", json1, server, `{"a":1,"mcpServers":{"x":{}}}`,
			`{"a":1,"mcpServers":{"x":{}, "m": {"type": "stdio", "command": "/bin/memento", "args": ["mcp", "--store", "a b"]}}}`},
		{"an empty object with a comment", json1, server, "{\n  \"mcpServers\": {\n    // none\n  }\n}",
			"{\n  \"mcpServers\": {\n    // none\n    \"m\": " + entry + "\n  }\n}"},
		{"a mark", json1, server, "\ufeff{\n}", "\ufeff{\n  \"mcpServers\": {\n    \"m\": " + entry + "\n  }\n}"},
		{"an entry of ours", json1, server,
			`{"mcpServers": {"m": {"args": ["mcp"], /* old */ "command": "/old", "disabled": true, "env": {"KEY": "k", "MEMENTO_PROFILE": "p"}}}}`,
			`{"mcpServers": {"m": {"args": ["mcp", "--store", "a b"], /* old */ "command": "/bin/memento", "disabled": true, "env": {"KEY": "k"}, "type": "stdio"}}}`},
		{"nothing", toml1, server, "", "[mcp_servers.m]\ncommand = \"/bin/memento\"\nargs = [\"mcp\", \"--store\", \"a b\"]\n"},
		{"after others", toml1, named, "model = 'x' # c\n\n[mcp_servers.x]\nurl = 1",
			"model = 'x' # c\n\n[mcp_servers.x]\nurl = 1\n\n[mcp_servers.m]\ncommand = \"C:\\\\m.exe\"\nargs = [\"mcp\"]\nenv = { MEMENTO_PROFILE = \"work\" }\n"},
		{"an entry of ours", toml1, server,
			"[mcp_servers.m] # h\nenabled = true\nargs = [ # a\n  'mcp', # b\n] # c\ncommand = '/old' # d\n\n[mcp_servers.m.env]\nKEY = 'k'\nMEMENTO_PROFILE = 'p'\n\n[b]\nc = 2\n",
			"[mcp_servers.m] # h\nenabled = true\nargs = [\"mcp\", \"--store\", \"a b\"] # c\ncommand = \"/bin/memento\" # d\n\n[mcp_servers.m.env]\nKEY = 'k'\n\n[b]\nc = 2\n"},
		{"variables in a table", toml1, named, "[mcp_servers.m]\ncommand = 'x'\nargs = ['mcp']\n[mcp_servers.m.env]\nKEY = 'k'",
			"[mcp_servers.m]\ncommand = \"C:\\\\m.exe\"\nargs = ['mcp']\n[mcp_servers.m.env]\nMEMENTO_PROFILE = \"work\"\nKEY = 'k'"},
		{"variables with dots", toml1, named, "[mcp_servers.m]\ncommand = 'x'\nargs = ['mcp']\nenv.KEY = 'k'",
			"[mcp_servers.m]\nenv.MEMENTO_PROFILE = \"work\"\ncommand = \"C:\\\\m.exe\"\nargs = ['mcp']\nenv.KEY = 'k'"},
		{"inline variables", toml1, named, "[mcp_servers.m]\ncommand = 'x'\nargs = ['mcp']\nenv = {KEY = 'k'} # e",
			"[mcp_servers.m]\ncommand = \"C:\\\\m.exe\"\nargs = ['mcp']\nenv = { KEY = \"k\", MEMENTO_PROFILE = \"work\" } # e"},
	} {
		got, err := tt.c.Set([]byte(tt.before), "m", tt.s)
		if err != nil {
			t.Errorf("%s %s: %v", tt.c.Name, tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.after, string(got)); diff != "" {
			t.Errorf("%s %s: (-want +got)\n%s", tt.c.Name, tt.name, diff)
		}
		again, err := tt.c.Set(got, "m", tt.s)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s %s: the second time: %v\n%s", tt.c.Name, tt.name, err, again)
		}
		s, ok, err := tt.c.Get(got, "m")
		if err != nil || !ok || s.Command != tt.s.Command || !reflect.DeepEqual(s.Args, tt.s.Args) || s.Env["MEMENTO_PROFILE"] != tt.s.Env["MEMENTO_PROFILE"] {
			t.Errorf("%s %s: it has %+v, %v, %v", tt.c.Name, tt.name, s, ok, err)
		}
	}
}

// What was added is removed without a trace.
func TestRemoveWhatWasSet(t *testing.T) {
	for _, tt := range []struct {
		c    Client
		text string
	}{
		{json1, "{\n  \"mcpServers\": {\n    \"x\": {\"url\": 1} // last\n  },\n  \"z\": 1e2\n}\n"},
		{json1, "{\n  \"mcpServers\": {\n    \"x\": {}, /* c */\n  },\n}\n"},
		{json1, "\ufeff{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}\r\n"},
		{json1, "{\n  \"mcpServers\": {\n    // none\n  }\n}"},
		{json1, `{"mcpServers": {"x": {}}}`},
		{toml1, "a = 1\n"},
		{toml1, "a = 1 # c\r\n\r\n[mcp_servers.x]\r\nurl = 1\r\n"},
		{toml1, ""},
	} {
		set, err := tt.c.Set([]byte(tt.text), "m", named)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := tt.c.Remove(set, "m")
		if err != nil || !ok || string(got) != tt.text {
			t.Errorf("%q became %q, %v, %v", tt.text, got, ok, err)
		}
	}
}

func TestRemove(t *testing.T) {
	for _, tt := range []struct {
		c             Client
		before, after string
	}{
		{json1, `{"mcpServers": {"m": {"command": "a", "args": ["mcp"]}, "x": 1}}`, `{"mcpServers": {"x": 1}}`},
		{json1, "{\"mcpServers\": {\n  // above\n  \"m\": {\"command\": \"a\", \"args\": [\"mcp\"]}, // beside\n  \"x\": 1}}", "{\"mcpServers\": {\n  // above\n  // beside\n  \"x\": 1}}"},
		{json1, "{\"mcpServers\": {\n  \"x\": 1, // x\n  \"m\": {\"command\": \"a\", \"args\": [\"mcp\"]} /* m */\n}}", "{\"mcpServers\": {\n  \"x\": 1 // x\n  /* m */\n}}"},
		{toml1, "a = 1\n\n[mcp_servers.m]\ncommand = 'a'\n# why\nargs = [\n  'mcp',\n]\n\n[mcp_servers.m.env]\nA = 'b'\n\n# of x\n[mcp_servers.x]\nb = 2\n", "a = 1\n\n# why\n\n# of x\n[mcp_servers.x]\nb = 2\n"},
		{toml1, "[mcp_servers]\nm = {command = 'a', args = ['mcp']}\nx.url = 1\n", "[mcp_servers]\nx.url = 1\n"},
		{toml1, "mcp_servers.m.command = 'a'\nmcp_servers.m.args = ['mcp']\nb = 1\n", "b = 1\n"},
	} {
		got, ok, err := tt.c.Remove([]byte(tt.before), "m")
		if err != nil || !ok {
			t.Errorf("%q: %v, %v", tt.before, ok, err)
		}
		if diff := cmp.Diff(tt.after, string(got)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", tt.before, diff)
		}
	}
	for _, c := range []Client{json1, toml1} {
		if got, ok, err := c.Remove(nil, "m"); ok || err != nil || len(got) > 0 {
			t.Errorf("%s: of nothing: %q, %v, %v", c.Name, got, ok, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		c    Client
		name string
		text string
		want error
	}{
		{json1, "a b", "{}", ErrName},
		{json1, "", "{}", ErrName},
		{json1, "m", `{"mcpServers": `, ErrBroken},
		{json1, "m", `[]`, ErrBroken},
		{json1, "m", strings.Repeat("[", maxDepth+1), ErrBroken},
		{json1, "m", strings.Repeat(`["]",`, 1<<20), ErrBroken},
		{json1, "m", `{"mcpServers": null}`, ErrForm},
		{json1, "m", `{"mcpServers": {"m": "x"}}`, ErrForm},
		{json1, "m", `{"mcpServers": {}, "mcpServers": {}}`, ErrForm},
		{json1, "m", `{"mcpServers": {"m": {"command": "npx", "args": ["-y"]}}}`, ErrOther},
		{json1, "m", `{"mcpServers": {"m": {"url": "https://example.com"}}}`, ErrOther},
		{toml1, "m", "a = \n", ErrBroken},
		{toml1, "m", "mcp_servers = { x = 1 }\n", ErrForm},
		{toml1, "m", "[[mcp_servers]]\na = 1\n", ErrForm},
		{toml1, "m", "[mcp_servers]\nm = {command = 'a', args = ['mcp']}\n", ErrForm},
		{toml1, "m", "[mcp_servers.m]\nurl = 'x'\n", ErrOther},
	} {
		if got, err := tt.c.Set([]byte(tt.text), tt.name, server); !errors.Is(err, tt.want) {
			t.Errorf("%s %.80q: %q, %v; want %v", tt.c.Name, tt.text, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		c    Client
		text string
		want error
	}{
		{json1, `{`, ErrBroken},
		{json1, `{"mcpServers": {"m": {"command": "npx", "args": ["-y"]}}}`, ErrOther},
		{toml1, "mcp_servers = { m = { command = 'a', args = ['mcp'] } }\n", ErrForm},
	} {
		if got, ok, err := tt.c.Remove([]byte(tt.text), "m"); !errors.Is(err, tt.want) {
			t.Errorf("%s %q: %q, %v, %v; want %v", tt.c.Name, tt.text, got, ok, err, tt.want)
		}
	}
}
