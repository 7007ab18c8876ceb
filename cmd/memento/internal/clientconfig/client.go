// Package clientconfig writes the MCP server memento into the configuration files of MCP
// clients, and removes it from them.
//
// Start at [Clients], the table of clients, and [Client.Set]. Files are edited as text: what
// is not part of memento's entry keeps its bytes, comments included. [Open] and [File.Replace]
// read and replace a file of a user.
package clientconfig

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// A Scope says for whom a server is configured.
type Scope string

const (
	// User is the scope of one user, in every project.
	User Scope = "user"

	// Project is the scope of everybody who works in one folder.
	Project Scope = "project"
)

// Scopes are all scopes.
var Scopes = []Scope{User, Project}

// ErrNoScope says that a client has no configuration of a scope.
var ErrNoScope = errors.New("the client has no such configuration")

// A System is where the clients are installed. Tests describe other systems than their own.
type System struct {
	OS     string                                 // as runtime.GOOS
	Home   string                                 // home directory
	Folder string                                 // folder of the project
	Env    func(name string) string               // as os.Getenv
	Glob   func(pattern string) ([]string, error) // as filepath.Glob
}

// join joins parts of a path with the separator of the system.
func (s System) join(parts ...string) string {
	if s.OS == "windows" {
		return strings.Join(parts, `\`)
	}
	return filepath.Join(parts...)
}

// config returns the folder in which programs keep the configuration of the user.
func (s System) config() string {
	switch s.OS {
	case "windows":
		if dir := s.Env("APPDATA"); dir != "" {
			return dir
		}
		return s.join(s.Home, "AppData", "Roaming")
	case "darwin":
		return s.join(s.Home, "Library", "Application Support")
	}
	return s.xdg()
}

// xdg returns the folder for configuration of the XDG Base Directory Specification, which
// ignores relative values of the variable.
func (s System) xdg() string {
	if dir := s.Env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return s.join(s.Home, ".config")
}

// A Client is a program that starts MCP servers.
type Client struct {
	Name  string // as in command lines, such as "claude-code"
	Title string // as its makers write it

	// Servers is the name of the object, or of the table, with one entry for each server.
	Servers string

	format format

	// typed is whether entries name their transport, "type": "stdio".
	typed bool

	// user returns the path of the file of the user.
	user func(System) string

	// project is the path of the file in a project; nil for none.
	project []string

	// traces are further paths that exist where the client is installed.
	traces func(System) []string
}

// A format is how a client writes its configuration.
type format int

const (
	jsonc format = iota // JSON; comments and commas at the end are kept
	toml
)

// Clients are all clients, in order of their names.
//
// Sources: of Claude Code "Connect Claude Code to tools via MCP" (scopes) and "Settings"
// (CLAUDE_CONFIG_DIR) at code.claude.com/docs; of Claude Desktop "Connect to local MCP servers"
// at modelcontextprotocol.io/docs, and issue 26073 of anthropics/claude-code for packages of
// Windows; of Codex "Model Context Protocol" at developers.openai.com/codex/mcp; of Cursor
// cursor.com/docs/mcp; of Gemini CLI "MCP servers" and "Configuration" at geminicli.com/docs; of
// VS Code "MCP configuration reference" and "User and workspace settings" at
// code.visualstudio.com/docs; of Windsurf docs.windsurf.com/windsurf/cascade/mcp; of Zed
// "Model Context Protocol" and "Configuring Zed" at zed.dev/docs.
var Clients = []Client{
	{
		Name: "claude-code", Title: "Claude Code", Servers: "mcpServers", typed: true,
		user: func(s System) string {
			if dir := s.Env("CLAUDE_CONFIG_DIR"); dir != "" {
				return s.join(dir, ".claude.json")
			}
			return s.join(s.Home, ".claude.json")
		},
		project: []string{".mcp.json"},
		traces:  func(s System) []string { return []string{s.join(s.Home, ".claude")} },
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", Servers: "mcpServers",
		user: func(s System) string { return s.join(s.desktop(), "claude_desktop_config.json") },
	},
	{
		Name: "codex", Title: "Codex", Servers: "mcp_servers", format: toml,
		user: func(s System) string {
			if dir := s.Env("CODEX_HOME"); dir != "" {
				return s.join(dir, "config.toml")
			}
			return s.join(s.Home, ".codex", "config.toml")
		},
		project: []string{".codex", "config.toml"},
	},
	{
		Name: "cursor", Title: "Cursor", Servers: "mcpServers", typed: true,
		user:    func(s System) string { return s.join(s.Home, ".cursor", "mcp.json") },
		project: []string{".cursor", "mcp.json"},
	},
	{
		Name: "gemini", Title: "Gemini CLI", Servers: "mcpServers",
		user:    func(s System) string { return s.join(s.Home, ".gemini", "settings.json") },
		project: []string{".gemini", "settings.json"},
	},
	{
		Name: "vscode", Title: "VS Code", Servers: "servers", typed: true,
		user:    func(s System) string { return s.join(s.config(), "Code", "User", "mcp.json") },
		project: []string{".vscode", "mcp.json"},
	},
	{
		Name: "windsurf", Title: "Windsurf", Servers: "mcpServers",
		user: func(s System) string { return s.join(s.Home, ".codeium", "windsurf", "mcp_config.json") },
	},
	{
		Name: "zed", Title: "Zed", Servers: "context_servers",
		user: func(s System) string {
			if s.OS == "windows" {
				return s.join(s.config(), "Zed", "settings.json")
			}
			if s.OS == "darwin" {
				return s.join(s.Home, ".config", "zed", "settings.json")
			}
			return s.join(s.xdg(), "zed", "settings.json")
		},
		project: []string{".zed", "settings.json"},
	},
}

// desktop returns the folder of Claude Desktop's configuration. Windows redirects what
// packaged applications read below APPDATA to a folder of the package.
func (s System) desktop() string {
	if s.OS == "windows" {
		pattern := s.join(s.Env("LOCALAPPDATA"), "Packages", "Claude_*", "LocalCache", "Roaming", "Claude")
		if found, err := s.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return s.join(s.config(), "Claude")
}

// Names returns the names of all clients.
func Names() []string {
	names := make([]string, len(Clients))
	for i, c := range Clients {
		names[i] = c.Name
	}
	return names
}

// Find returns the client of a name.
func Find(name string) (Client, bool) {
	i := slices.IndexFunc(Clients, func(c Client) bool { return c.Name == name })
	if i < 0 {
		return Client{}, false
	}
	return Clients[i], true
}

// Path returns the path of the client's file of a scope. Errors: ErrNoScope.
func (c Client) Path(s System, scope Scope) (string, error) {
	switch {
	case scope == User:
		return c.user(s), nil
	case scope == Project && c.project != nil:
		return s.join(append([]string{s.Folder}, c.project...)...), nil
	}
	return "", ErrNoScope
}

// Traces returns paths of which one exists where the client is installed: its file, the
// folder of it unless that is a home directory, and others.
func (c Client) Traces(s System) []string {
	file := c.user(s)
	found := []string{file}
	separator := "/"
	if s.OS == "windows" {
		separator = `\`
	}
	if dir := file[:strings.LastIndex(file, separator)]; dir != s.Home {
		found = append(found, dir)
	}
	if c.traces != nil {
		found = append(found, c.traces(s)...)
	}
	return found
}
