package main

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"time"

	"memento"
)

const (
	// description is that of manifests and of server.json, which allows 100 characters.
	description = "Memory for agents: text files with history, masked secrets and safe concurrent edits."

	manifestVersion = "0.3"
)

// platforms are the names of systems in manifests.
var platforms = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}

// semantic are semantic versions, which clients compare.
var semantic = regexp.MustCompile(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`)

// A manifest says what a bundle has. Source: MANIFEST.md of modelcontextprotocol/mcpb,
// version 0.3.
type manifest struct {
	ManifestVersion string                `json:"manifest_version"`
	Name            string                `json:"name"`
	DisplayName     string                `json:"display_name"`
	Version         string                `json:"version"`
	Description     string                `json:"description"`
	LongDescription string                `json:"long_description"`
	Author          author                `json:"author"`
	License         string                `json:"license"`
	Keywords        []string              `json:"keywords"`
	Server          bundled               `json:"server"`
	Tools           []tool                `json:"tools"`
	ToolsGenerated  bool                  `json:"tools_generated"` // there may be others, by the flags
	UserConfig      map[string]userConfig `json:"user_config"`
	Compatibility   compatibility         `json:"compatibility"`
}

type author struct {
	Name string `json:"name"`
}

type bundled struct {
	Type       string `json:"type"` // "binary"
	EntryPoint string `json:"entry_point"`
	Start      start  `json:"mcp_config"`
}

type start struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// A userConfig is a setting that the client asks the user for.
type userConfig struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Default     any    `json:"default"`
}

type compatibility struct {
	Platforms []string `json:"platforms"`
}

// newManifest returns the manifest of the bundle for an operating system, named as by Go.
func newManifest(version, goos string) (manifest, error) {
	platform, ok := platforms[goos]
	if !ok {
		return manifest{}, fmt.Errorf("there are bundles for linux, darwin and windows, not for %q", goos)
	}
	if !semantic.MatchString(version) {
		return manifest{}, fmt.Errorf("%q is no version; want one such as 1.2.3", version)
	}
	program := "server/memento"
	if goos == "windows" {
		program += ".exe"
	}
	return manifest{
		ManifestVersion: manifestVersion,
		Name:            "memento",
		DisplayName:     "memento",
		Version:         version,
		Description:     description,
		LongDescription: "The model keeps what it should know next time in small text files. " +
			"Each change stays in the history and can be undone, secrets are masked before they are stored, " +
			"and several clients can work on the same memory at once. Everything stays on this computer, unless a server is given.",
		Author:   author{"memento"},
		License:  "Apache-2.0",
		Keywords: []string{"memory", "notes", "history"},
		Server: bundled{
			Type: "binary", EntryPoint: program,
			Start: start{
				Command: "${__dirname}/" + program,
				Args:    []string{"mcp", "--read-only=${user_config.read_only}"},
				// Empty variables are as good as none, which empty arguments are not.
				Env: map[string]string{"MEMENTO_BACKEND": "${user_config.backend}", "MEMENTO_STORE": "${user_config.store}"},
			},
		},
		Tools:          []tool{{memento.ToolName, "Views, writes and edits text files that stay between conversations."}},
		ToolsGenerated: true,
		UserConfig: map[string]userConfig{
			"store":     {Type: "string", Title: "Store", Description: "Name of the store of memories. Clients with the same store share one memory.", Default: "default"},
			"backend":   {Type: "string", Title: "Backend", Description: "Where the store is, such as sqlite:/path/notes.db, dir:/path/notes or https://host. Empty: a file in your data directory.", Default: ""},
			"read_only": {Type: "boolean", Title: "Read-only", Description: "The model can read everything, but change nothing.", Default: false},
		},
		Compatibility: compatibility{[]string{platform}},
	}, nil
}

// writeBundle writes a bundle with a manifest, a program and the license.
func writeBundle(output string, m manifest, binary string) (err error) {
	program, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer program.Close()
	license, err := os.Open("LICENSE")
	if err != nil {
		return fmt.Errorf("%w: run mcpb in the root of the repository", err)
	}
	defer license.Close()
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(output))
		}
	}()
	z := zip.NewWriter(f)
	text, err := add(z, "manifest.json", 0o644)
	if err == nil {
		err = writeJSON(text, m)
	}
	for _, file := range []struct {
		name string
		mode os.FileMode
		from io.Reader
	}{{"LICENSE", 0o644, license}, {path.Clean(m.Server.EntryPoint), 0o755, program}} {
		if err != nil {
			return err
		}
		var w io.Writer
		if w, err = add(z, file.name, file.mode); err == nil {
			_, err = io.Copy(w, file.from)
		}
	}
	return errors.Join(err, z.Close())
}

// add adds a file to a zip, with the same time in every build.
func add(z *zip.Writer, name string, mode os.FileMode) (io.Writer, error) {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	h.SetMode(mode)
	return z.CreateHeader(h)
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
