package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A server describes memento in a registry of MCP servers. Source: server.json of
// modelcontextprotocol/registry, schema 2025-12-11.
type server struct {
	Schema      string   `json:"$schema"`
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Packages    []bundle `json:"packages"`
}

// A bundle is a file that clients install.
type bundle struct {
	Type      string    `json:"registryType"` // "mcpb"
	URL       string    `json:"identifier"`
	Version   string    `json:"version"`
	SHA256    string    `json:"fileSha256"`
	Transport transport `json:"transport"`
}

type transport struct {
	Type string `json:"type"` // "stdio"
}

const schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// inRegistry are the names that a registry takes: a domain in reverse, a slash and a name.
var inRegistry = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// newServer describes bundles that are published below a URL under the names of the files.
func newServer(name, base, version string, bundles []string) (server, error) {
	if !inRegistry.MatchString(name) {
		return server{}, fmt.Errorf("%q is no name for a registry; want one such as io.github.OWNER/memento", name)
	}
	at, err := url.Parse(base)
	if err != nil || at.Scheme != "https" || at.Host == "" {
		return server{}, fmt.Errorf("--url is %q; want the https URL of the folder with the bundles", base)
	}
	if !semantic.MatchString(version) {
		return server{}, fmt.Errorf("%q is no version; want one such as 1.2.3", version)
	}
	if len(bundles) == 0 {
		return server{}, errors.New("give the bundles: mcpb registry [flags] dist/*.mcpb")
	}
	s := server{Schema: schema, Name: name, Title: "memento", Description: description, Version: version}
	for _, file := range slices.Sorted(slices.Values(bundles)) {
		if !strings.HasSuffix(file, ".mcpb") {
			return server{}, fmt.Errorf("%s is no bundle", file)
		}
		sum, err := hash(file)
		if err != nil {
			return server{}, err
		}
		s.Packages = append(s.Packages, bundle{
			Type: "mcpb", URL: at.JoinPath(filepath.Base(file)).String(), Version: version, SHA256: sum, Transport: transport{"stdio"},
		})
	}
	return s, nil
}

// hash returns the SHA-256 of a file in hexadecimal.
func hash(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
