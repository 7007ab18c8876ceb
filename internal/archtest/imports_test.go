package archtest

import (
	"slices"
	"strings"
	"testing"
)

const module = "memento"

// rules are what one top-level folder of the module may import besides the
// standard library and itself.
type rules struct {
	own   []string // other folders of the module
	libs  []string // modules, or parts of them
	tests []string // other folders that its tests need, besides those of inTests
}

var (
	backends  = []string{"memstore", "sqlitestore", "dirstore", "pgstore", "s3store"}
	frontEnds = []string{"httpapi", "mcpserver", "gateway", "contextedit", "console", "claude"}
)

// allowed has one entry for each top-level folder with packages in it. Root imports
// almost nothing. Backends and wrappers know the root and their one client
// library, never each other. Front ends know the root and their protocol library,
// never a backend. Only storeurl knows all backends, and only programs know
// storeurl. Nothing is allowed to import cmd, examples or bench.
var allowed = map[string]rules{
	".":        {libs: []string{"golang.org/x/text"}},
	"internal": {own: []string{"."}, libs: []string{"golang.org/x/text"}},

	"memstore":    {own: []string{".", "internal"}},
	"sqlitestore": {own: []string{".", "internal"}, libs: []string{"zombiezen.com/go/sqlite", "modernc.org"}},
	// dirstore mirrors books that sqlitestore keeps, rather than keep history once
	// more in its own way: the one backend that stands on another. It also knows
	// SQLite, for its record of files, and the system calls that package os lacks.
	"dirstore": {own: []string{".", "internal", "sqlitestore"}, libs: []string{"zombiezen.com/go/sqlite", "golang.org/x/sys", "golang.org/x/text"}},
	"pgstore":  {own: []string{".", "internal"}, libs: []string{"github.com/jackc/pgx/v5"}},
	"s3store":  {own: []string{".", "internal"}, libs: []string{"github.com/minio/minio-go/v7"}},
	// cryptstore encrypts whatever backend it is given, and its tests give it all.
	"cryptstore": {own: []string{".", "internal"}, libs: []string{"github.com/tink-crypto/tink-go/v2"}, tests: backends},

	// httpstore is a server as a backend, and its tests need a server.
	"httpstore": {own: []string{".", "internal"}, tests: []string{"httpapi", "sqlitestore"}},

	// local is the shortest way to a store: one backend, one detector.
	"local": {own: []string{".", "sqlitestore", "sensitive"}},

	"storeurl": {own: slices.Concat([]string{".", "internal", "cryptstore", "httpstore"}, backends), tests: []string{"httpapi"}},
	"storetest": {
		own:  []string{".", "internal", "memstore"}, // memstore is the oracle
		libs: []string{"github.com/google/go-cmp", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine"},
	},

	// transfer copies between backends whose kinds it does not know; its tests do.
	"transfer": {own: []string{"."}, tests: slices.Concat([]string{"cryptstore"}, backends)},

	// doctor checks backends whose kinds it does not know.
	"doctor": {own: []string{"."}, tests: []string{"cryptstore", "sqlitestore"}},

	"archive":   {own: []string{"."}},
	"sensitive": {own: []string{".", "internal"}, libs: []string{"github.com/pelletier/go-toml/v2", "github.com/zricethezav/gitleaks/v8"}},

	// httpapi exports and imports archives, and serves its own description.
	"httpapi": {own: []string{".", "internal", "archive"}, libs: []string{"golang.org/x/time", "go.yaml.in/yaml/v3"}},
	// server runs the API as a process. It knows no backend: the command opens one.
	"server": {own: []string{".", "internal", "httpapi"}, libs: []string{
		"github.com/KimMachineGun/automemlimit/memlimit",
		"go.yaml.in/yaml/v3", "github.com/prometheus/client_golang", "go.opentelemetry.io", "github.com/coreos/go-oidc/v3",
		"github.com/go-jose/go-jose/v4", "google.golang.org/protobuf", "github.com/standard-webhooks/standard-webhooks/libraries", // tests
	}},
	"mcpserver":   {own: []string{".", "internal"}, libs: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"gateway":     {own: []string{".", "internal", "contextedit"}},
	"contextedit": {own: []string{".", "internal"}},
	"console":     {own: []string{".", "internal"}, libs: []string{"github.com/yuin/goldmark"}},
	"claude":      {own: []string{".", "internal"}, libs: []string{"github.com/anthropics/anthropic-sdk-go/v2"}},

	"cmd": {
		own:  slices.Concat([]string{".", "internal", "storeurl", "archive", "sensitive", "server", "transfer", "doctor", "cryptstore"}, frontEnds),
		libs: []string{"github.com/spf13/cobra", "golang.org/x/term", "github.com/rogpeppe/go-internal/diff"},
	},
	"examples": {own: slices.Concat([]string{".", "storeurl", "archive", "sensitive", "local"}, backends, frontEnds)},
	// cluster is tests only, of the program as it is built.
	"cluster": {tests: []string{"httpstore"}},
	"bench":   {own: []string{".", "internal", "sqlitestore", "cryptstore", "sensitive"}, tests: []string{"dirstore"}},
}

// inTests is what test files may import in addition.
var inTests = rules{
	own:  []string{".", "internal", "memstore", "storetest", "sensitive"},
	libs: []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine"},
}

func TestImports(t *testing.T) {
	for _, e := range imports(t) {
		if fault := e.fault(); fault != "" {
			t.Errorf("%s imports %s: %s", e.file, e.path, fault)
		}
	}
}

// fault says what is wrong with an import, or "".
func (e edge) fault() string {
	name := topFolder(e.dir())
	r, known := allowed[name]
	if !known {
		return "folder " + name + " has no rules yet; add them to the map allowed"
	}
	if e.test {
		r.own = slices.Concat(r.own, r.tests, inTests.own)
		r.libs = slices.Concat(r.libs, inTests.libs)
	}
	switch dir, ours := inModule(e.path); {
	case ours && (topFolder(dir) == name || slices.Contains(r.own, topFolder(dir))):
		return ""
	case ours:
		return "folder " + name + " may not import folder " + topFolder(dir)
	case isStandard(e.path):
		return ""
	}
	for _, lib := range r.libs {
		if e.path == lib || strings.HasPrefix(e.path, lib+"/") {
			return ""
		}
	}
	return "folder " + name + " may not use this module"
}

// topFolder returns the top-level folder that dir is in.
func topFolder(dir string) string {
	top, _, _ := strings.Cut(dir, "/")
	return top
}

// inModule returns the folder of a package of this module.
func inModule(imported string) (dir string, ours bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// isStandard reports whether a package is in the standard library: the first
// part of its path is no host name.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	_, ours := inModule(imported)
	return !ours && !strings.Contains(first, ".")
}

// The rules catch what they are for.
func TestFault(t *testing.T) {
	for _, tt := range []struct {
		file, imported string
		allowed        bool
	}{
		{"store.go", "strings", true},
		{"path.go", "golang.org/x/text/unicode/norm", true},
		{"store.go", "golang.org/x/sync/errgroup", false},
		{"store.go", "memento/memstore", false},
		{"store.go", "memento/internal/textindex", false},
		{"store.go", "github.com/google/go-cmp/cmp", false},
		{"store_test.go", "github.com/google/go-cmp/cmp", true},
		{"store_test.go", "memento/memstore", true},
		{"store_test.go", "memento/sqlitestore", false},
		{"sqlitestore/open.go", "memento", true},
		{"sqlitestore/open.go", "memento/internal/textindex", true},
		{"sqlitestore/open.go", "zombiezen.com/go/sqlite/sqlitex", true},
		{"sqlitestore/open.go", "zombiezen.com/go/sqlitenot", false},
		{"sqlitestore/open.go", "memento/memstore", false},
		{"sqlitestore/open.go", "memento/storetest", false},
		{"sqlitestore/open_test.go", "memento/storetest", true},
		{"sqlitestore/open_test.go", "memento/dirstore", false},
		{"sqlitestore/open.go", "memento/sqlitestore/internal/schema", true},
		{"dirstore/open.go", "memento/sqlitestore", true},
		{"dirstore/open.go", "memento/memstore", false},
		{"httpapi/server.go", "memento/memstore", false},
		{"httpapi/server.go", "memento/storeurl", false},
		{"httpapi/server_test.go", "memento/memstore", true},
		{"httpapi/server_test.go", "memento/sqlitestore", false},
		{"server/server.go", "memento/httpapi", true},
		{"server/server.go", "memento/storeurl", false},
		{"server/server.go", "memento/memstore", false},
		{"server/server.go", "github.com/spf13/cobra", false},
		{"server/server_test.go", "memento/memstore", true},
		{"httpstore/open.go", "memento/internal/wire", true},
		{"httpstore/open.go", "memento/httpapi", false},
		{"httpstore/open_test.go", "memento/httpapi", true},
		{"local/local.go", "memento/sqlitestore", true},
		{"local/local.go", "memento/dirstore", false},
		{"store_test.go", "memento/local", false},
		{"storeurl/open.go", "memento/sqlitestore", true},
		{"storeurl/open.go", "memento/httpstore", true},
		{"cmd/memento/root.go", "memento/storeurl", true},
		{"cmd/memento/root.go", "memento/sqlitestore", false},
		{"cmd/memento/root.go", "memento/httpstore", false},
		{"cmd/memento/root.go", "github.com/stretchr/testify/assert", false},
		{"examples/agent/main.go", "memento/sqlitestore", true},
		{"bench/main.go", "memento/cmd/memento", false},
		{"archive/tar.go", "memento/internal/textindex", false},
		{"newroom/new.go", "strings", false},
	} {
		e := edge{file: tt.file, test: strings.HasSuffix(tt.file, "_test.go"), path: tt.imported}
		if fault := e.fault(); (fault == "") != tt.allowed {
			t.Errorf("%s imports %s: %q", tt.file, tt.imported, fault)
		}
	}
}
