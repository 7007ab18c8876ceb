package clientconfig

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// system returns a system with variables, on which patterns of Glob match nothing.
func system(goos, home, folder string, env map[string]string) System {
	return System{
		OS: goos, Home: home, Folder: folder,
		Env:  func(name string) string { return env[name] },
		Glob: func(string) ([]string, error) { return nil, nil },
	}
}

func TestPaths(t *testing.T) {
	linux := system("linux", "/home/ana", "/work/app", nil)
	mac := system("darwin", "/Users/ana", "/work/app", nil)
	windows := system("windows", `C:\Users\ana`, `D:\app`, map[string]string{"APPDATA": `C:\Users\ana\AppData\Roaming`, "LOCALAPPDATA": `C:\Users\ana\AppData\Local`})
	for client, want := range map[string][4]string{ // user on Linux, macOS and Windows; project on Linux
		"claude-code":    {"/home/ana/.claude.json", "/Users/ana/.claude.json", `C:\Users\ana\.claude.json`, "/work/app/.mcp.json"},
		"claude-desktop": {"/home/ana/.config/Claude/claude_desktop_config.json", "/Users/ana/Library/Application Support/Claude/claude_desktop_config.json", `C:\Users\ana\AppData\Roaming\Claude\claude_desktop_config.json`, ""},
		"codex":          {"/home/ana/.codex/config.toml", "/Users/ana/.codex/config.toml", `C:\Users\ana\.codex\config.toml`, "/work/app/.codex/config.toml"},
		"cursor":         {"/home/ana/.cursor/mcp.json", "/Users/ana/.cursor/mcp.json", `C:\Users\ana\.cursor\mcp.json`, "/work/app/.cursor/mcp.json"},
		"gemini":         {"/home/ana/.gemini/settings.json", "/Users/ana/.gemini/settings.json", `C:\Users\ana\.gemini\settings.json`, "/work/app/.gemini/settings.json"},
		"vscode":         {"/home/ana/.config/Code/User/mcp.json", "/Users/ana/Library/Application Support/Code/User/mcp.json", `C:\Users\ana\AppData\Roaming\Code\User\mcp.json`, "/work/app/.vscode/mcp.json"},
		"windsurf":       {"/home/ana/.codeium/windsurf/mcp_config.json", "/Users/ana/.codeium/windsurf/mcp_config.json", `C:\Users\ana\.codeium\windsurf\mcp_config.json`, ""},
		"zed":            {"/home/ana/.config/zed/settings.json", "/Users/ana/.config/zed/settings.json", `C:\Users\ana\AppData\Roaming\Zed\settings.json`, "/work/app/.zed/settings.json"},
	} {
		c, ok := Find(client)
		if !ok {
			t.Fatalf("there is no client %s", client)
		}
		for i, s := range []System{linux, mac, windows} {
			if got, err := c.Path(s, User); err != nil || got != want[i] {
				t.Errorf("%s on %s: %q, %v; want %q", client, s.OS, got, err, want[i])
			}
		}
		got, err := c.Path(linux, Project)
		if got != want[3] || errors.Is(err, ErrNoScope) != (want[3] == "") {
			t.Errorf("%s in a project: %q, %v; want %q", client, got, err, want[3])
		}
		for _, s := range []System{linux, windows} {
			if traces := c.Traces(s); slices.Contains(traces, s.Home) {
				t.Errorf("%s is found wherever there is a home directory: %q", client, traces)
			}
		}
	}
	if len(Clients) != 8 || !slices.IsSorted(Names()) {
		t.Errorf("the clients are %q", Names())
	}
}

// Variables of the environment, and packages of Windows, lead elsewhere.
func TestRedirectedPaths(t *testing.T) {
	linux := system("linux", "/home/ana", "", map[string]string{"XDG_CONFIG_HOME": "/etc/ana", "CODEX_HOME": "/srv/codex", "CLAUDE_CONFIG_DIR": "/srv/claude"})
	relative := system("linux", "/home/ana", "", map[string]string{"XDG_CONFIG_HOME": "elsewhere"})
	mac := system("darwin", "/Users/ana", "", map[string]string{"XDG_CONFIG_HOME": "/etc/ana"})
	bare := system("windows", `C:\Users\ana`, "", nil)
	packaged := system("windows", `C:\Users\ana`, "", map[string]string{"LOCALAPPDATA": `C:\L`})
	packaged.Glob = func(pattern string) ([]string, error) {
		if pattern != `C:\L\Packages\Claude_*\LocalCache\Roaming\Claude` {
			t.Errorf("looked for %s", pattern)
		}
		return []string{strings.Replace(pattern, "*", "abc", 1)}, nil
	}
	for _, tt := range []struct {
		client string
		on     System
		want   string
	}{
		{"vscode", linux, "/etc/ana/Code/User/mcp.json"},
		{"zed", linux, "/etc/ana/zed/settings.json"},
		{"codex", linux, "/srv/codex/config.toml"},
		{"claude-code", linux, "/srv/claude/.claude.json"},
		{"vscode", relative, "/home/ana/.config/Code/User/mcp.json"},
		{"zed", mac, "/Users/ana/.config/zed/settings.json"},
		{"vscode", bare, `C:\Users\ana\AppData\Roaming\Code\User\mcp.json`},
		{"claude-desktop", packaged, `C:\L\Packages\Claude_abc\LocalCache\Roaming\Claude\claude_desktop_config.json`},
	} {
		c, _ := Find(tt.client)
		if got, err := c.Path(tt.on, User); err != nil || got != tt.want {
			t.Errorf("%s on %s: %q, %v; want %q", tt.client, tt.on.OS, got, err, tt.want)
		}
	}
}
