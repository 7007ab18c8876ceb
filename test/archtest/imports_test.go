package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module, under which it may be published.
var module = modulePath()

func modulePath() string {
	text, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimPrefix(first, "module ")
}

// rules are what one top-level folder of the module may import besides the
// standard library and itself.
type rules struct {
	own   []string // other folders of the module
	libs  []string // modules, or parts of them
	tests []string // other folders that its tests need, besides those of inTests
}

var (
	// kit is what every author of a backend may use.
	kit       = []string{".", "internal", "backend", "backend/commitqueue", "backend/textindex", "backend/readnotes", "backend/rollup", "backend/apikey"}
	backends  = []string{"backend/memstore", "backend/sqlitestore", "backend/dirstore", "backend/pgstore", "backend/s3store"}
	frontEnds = []string{"httpapi", "mcpserver", "gateway", "claude/contextedit", "console", "claude"}

	// groups are the top-level folders in which each folder has rules of its own.
	groups = []string{"backend", "claude", "exchange"}

	// leaves are the packages below internal that know nothing of memories. They import
	// nothing of the module but each other, so root may import them.
	leaves = []string{"internal/filewatch", "internal/ids", "internal/keyedlock", "internal/lines", "internal/lookalike", "internal/lru", "internal/refcount", "internal/strictjson",
		"internal/placeholder", "internal/privatetemp", "internal/textfield", "internal/times"}
	// leafLibs are the modules that some leaves need.
	leafLibs = map[string][]string{
		"internal/filewatch":   {"github.com/fsnotify/fsnotify"},
		"internal/lookalike":   {"golang.org/x/text"},
		"internal/privatetemp": {"golang.org/x/sys"}, // locks, and which folders are in memory
	}
)

// allowed has one entry for each top-level folder with packages in it, and one for each
// folder below those of groups; init adds one for each of leaves. Root imports almost nothing.
// Backends and wrappers know the root and their one client
// library, never each other. Front ends know the root and their protocol library,
// never a backend. Only storeurl knows all backends, and only programs know
// storeurl. Nothing is allowed to import cmd or examples, and only tests import test.
var allowed = map[string]rules{
	".":        {own: leaves, tests: []string{"backend", "history", "maintenance"}, libs: []string{"golang.org/x/text"}},
	"internal": {own: slices.Concat(leaves, []string{".", "backend", "backend/apikey", "maintenance", "history"}), libs: []string{"golang.org/x/text"}},

	// What authors of backends share, what runs maintenance, and what keeps API keys.
	"backend":        {own: []string{".", "internal"}, libs: []string{"golang.org/x/text"}},
	"maintenance":    {own: []string{".", "internal", "backend"}, tests: []string{"history"}},
	"backend/apikey": {own: []string{".", "internal"}},

	// history goes back in a store of whichever backend.
	"history": {own: []string{".", "internal"}},

	"backend/textindex": {own: []string{".", "internal"}, libs: []string{"golang.org/x/text", "github.com/blevesearch/snowballstem"}},
	"backend/readnotes": {own: []string{".", "internal"}},
	// embedding searches whatever backend it is given.
	"backend/embedding": {own: kit, tests: append([]string{"backend/cryptstore", "sensitive"}, backends...)},
	"backend/rollup":    {own: []string{".", "internal"}},

	// commitqueue is group commit, for every backend that wants it.
	"backend/commitqueue": {},

	"backend/memstore":    {own: kit},
	"backend/sqlitestore": {own: kit, libs: []string{"zombiezen.com/go/sqlite", "modernc.org"}},
	// dirstore mirrors books that sqlitestore keeps, rather than keep history once
	// more in its own way: the one backend that stands on another. It also knows
	// SQLite, for its record of files, and the system calls that package os lacks.
	"backend/dirstore": {own: append(slices.Clip(kit), "backend/sqlitestore"), libs: []string{"zombiezen.com/go/sqlite", "golang.org/x/sys", "golang.org/x/text"}, tests: []string{"history", "maintenance"}},
	"backend/pgstore":  {own: kit, libs: []string{"github.com/jackc/pgx/v5"}},
	"backend/s3store":  {own: kit, libs: []string{"github.com/minio/minio-go/v7"}},
	// cryptstore encrypts whatever backend it is given, and its tests give it all.
	"backend/cryptstore": {own: kit, libs: []string{"github.com/tink-crypto/tink-go/v2"}, tests: backends},

	// httpstore is a server as a backend, and its tests need a server.
	"backend/httpstore": {own: kit, tests: []string{"httpapi", "backend/sqlitestore", "console"}},

	// local is the shortest way to a store: one backend, one detector.
	"local": {own: []string{".", "backend/sqlitestore", "sensitive"}},

	"backend/storeurl": {own: slices.Concat(kit, []string{"backend/cryptstore", "backend/httpstore"}, backends), tests: []string{"httpapi"}},
	"backend/storetest": {
		own:  append(slices.Clip(kit), "history", "maintenance", "test", "backend/memstore"), // memstore is the oracle
		libs: []string{"github.com/google/go-cmp", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine"},
	},

	// transfer copies between backends whose kinds it does not know; its tests do.
	"exchange/transfer": {own: []string{".", "backend", "backend/apikey"}, tests: slices.Concat([]string{"backend/cryptstore"}, backends)},

	// foldersync compares a folder with a store of whichever backend. It keeps its state in a SQLite file.
	"exchange/foldersync": {own: []string{".", "internal", "backend"}, libs: []string{"zombiezen.com/go/sqlite", "golang.org/x/sys", "golang.org/x/text"}, tests: []string{"backend/sqlitestore"}},

	// doctor checks backends whose kinds it does not know.
	"backend/doctor": {own: []string{".", "backend", "backend/apikey", "internal/lookalike"}, tests: []string{"backend/cryptstore", "backend/sqlitestore"}},

	"exchange/archive": {own: []string{".", "internal"}},
	// importer reads what other programs have into a store.
	"exchange/importer": {own: []string{".", "internal"}, libs: []string{"golang.org/x/text"}, tests: []string{"exchange/archive", "backend/dirstore"}},
	"sensitive":         {own: []string{".", "internal", "backend/apikey"}, libs: []string{"github.com/pelletier/go-toml/v2", "golang.org/x/text"}},

	// httpapi exports and imports archives, and serves its own description.
	"httpapi": {own: []string{".", "internal", "backend", "backend/apikey", "history", "maintenance", "exchange/archive"}, libs: []string{"golang.org/x/time", "go.yaml.in/yaml/v3"}},
	// server runs the API as a process. It knows no backend: the command opens one.
	"server": {tests: []string{"backend/sqlitestore"}, own: []string{".", "internal", "backend", "backend/apikey", "maintenance", "httpapi", "gateway", "mcpserver", "console", "backend/embedding"}, libs: []string{
		"github.com/KimMachineGun/automemlimit/memlimit",
		"go.yaml.in/yaml/v3", "github.com/prometheus/client_golang", "go.opentelemetry.io", "github.com/coreos/go-oidc/v3", "golang.org/x/oauth2",
		"github.com/go-jose/go-jose/v4", "google.golang.org/protobuf", "github.com/standard-webhooks/standard-webhooks/libraries", // tests
	}},
	"mcpserver":          {own: []string{".", "internal", "history"}, libs: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"gateway":            {own: []string{".", "internal", "claude/contextedit"}},
	"claude/contextedit": {own: []string{".", "internal"}, tests: []string{"claude/claudetest"}},
	// claudetest is a scripted upstream. It edits contexts as the API does.
	"claude/claudetest": {own: []string{".", "internal", "claude/contextedit"}, libs: []string{"go.yaml.in/yaml/v3"}, tests: []string{"claude"}},
	// console knows the API as a handler only; its tests need one.
	"console": {own: []string{".", "internal"}, tests: []string{"httpapi", "backend/apikey"}},
	// claude knows OpenTelemetry for the IDs of calls, which the SDK's runner has only in its spans.
	"claude": {own: []string{".", "internal"}, libs: []string{"github.com/anthropics/anthropic-sdk-go/v2", "go.opentelemetry.io/otel"}},

	"cmd": {
		own: slices.Concat(kit, []string{"history", "maintenance", "backend/storeurl", "exchange/archive", "exchange/importer", "sensitive", "server", "exchange/transfer", "exchange/foldersync", "backend/doctor", "backend/cryptstore", "backend/embedding", "claude/claudetest"}, frontEnds),
		libs: []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "github.com/rogpeppe/go-internal/diff", "github.com/anthropics/anthropic-sdk-go/v2",
			"github.com/tailscale/hujson", "github.com/pelletier/go-toml/v2", // configuration files of MCP clients
			"github.com/modelcontextprotocol/go-sdk"}, // tests: a client
	},
	// examples show the library in programs, which their tests play with a scripted upstream.
	"examples": {
		own:  slices.Concat([]string{".", "backend/storeurl", "exchange/archive", "sensitive", "local", "claude/claudetest"}, backends, frontEnds),
		libs: []string{"github.com/anthropics/anthropic-sdk-go/v2"},
	},
	// test holds what only tests run: suites, servers, campaigns, comparisons.
	"test": {own: append([]string{".", "internal", "backend", "backend/apikey", "maintenance", "sensitive", "backend/cryptstore", "backend/textindex"}, backends...), libs: []string{"golang.org/x/text", "go.uber.org/goleak", "zombiezen.com/go/sqlite", "github.com/jackc/pgx/v5", "github.com/minio/minio-go/v7", "github.com/modelcontextprotocol/go-sdk"}, tests: []string{"backend/httpstore"}},
}

// inTests is what test files may import in addition.
var inTests = rules{
	own:  []string{".", "internal", "test", "backend/memstore", "backend/storetest", "sensitive", "claude/claudetest"},
	libs: []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/creack/pty", "github.com/anthropics/anthropic-sdk-go/v2"},
}

func init() {
	for _, leaf := range leaves {
		allowed[leaf] = rules{own: leaves, libs: leafLibs[leaf]}
	}
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
	case ours && slices.Contains(leaves, dir) && slices.Contains(r.own, "internal"):
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

// topFolder returns the folder that dir is in and that has rules of its own: a top-level
// folder, one below a folder of groups, or one of leaves.
func topFolder(dir string) string {
	if slices.Contains(leaves, dir) {
		return dir
	}
	top, rest, _ := strings.Cut(dir, "/")
	if !slices.Contains(groups, top) || rest == "" {
		return top
	}
	kind, _, _ := strings.Cut(rest, "/")
	return top + "/" + kind
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
		{"store.go", "memento/backend/memstore", false},
		{"store.go", "memento/backend/textindex", false},
		{"store.go", "memento/internal/lines", true},
		{"internal/lines/lines.go", "memento", false},
		{"internal/lines/lines.go", "memento/backend/textindex", false},
		{"internal/keyedlock/keyedlock.go", "memento/internal/refcount", true},
		{"backend/textindex/words.go", "memento/internal/lines", true},
		{"backend/s3store/s3store.go", "memento/internal/lru", true},
		{"exchange/archive/tar.go", "memento/internal/lines", true},
		{"store.go", "memento/backend", false},
		{"store.go", "github.com/google/go-cmp/cmp", false},
		{"store_test.go", "github.com/google/go-cmp/cmp", true},
		{"store_test.go", "memento/backend/memstore", true},
		{"store_test.go", "memento/backend/sqlitestore", false},
		{"backend/sqlitestore/open.go", "memento", true},
		{"backend/sqlitestore/open.go", "memento/backend/textindex", true},
		{"backend/sqlitestore/open.go", "zombiezen.com/go/sqlite/sqlitex", true},
		{"backend/sqlitestore/open.go", "zombiezen.com/go/sqlitenot", false},
		{"backend/sqlitestore/open.go", "memento/backend/memstore", false},
		{"backend/sqlitestore/open.go", "memento/backend/storetest", false},
		{"backend/sqlitestore/open_test.go", "memento/backend/storetest", true},
		{"backend/sqlitestore/open_test.go", "memento/backend/dirstore", false},
		{"backend/sqlitestore/open.go", "memento/backend/sqlitestore/internal/schema", true},
		{"backend/dirstore/open.go", "memento/backend/sqlitestore", true},
		{"backend/dirstore/open.go", "memento/backend/memstore", false},
		{"httpapi/server.go", "memento/backend/memstore", false},
		{"httpapi/server.go", "memento/backend/storeurl", false},
		{"httpapi/server_test.go", "memento/backend/memstore", true},
		{"httpapi/server_test.go", "memento/backend/sqlitestore", false},
		{"server/server.go", "memento/httpapi", true},
		{"server/server.go", "memento/backend/storeurl", false},
		{"server/server.go", "memento/backend/memstore", false},
		{"server/server.go", "github.com/spf13/cobra", false},
		{"server/server_test.go", "memento/backend/memstore", true},
		{"backend/httpstore/open.go", "memento/internal/wire", true},
		{"backend/httpstore/open.go", "memento/httpapi", false},
		{"backend/httpstore/open_test.go", "memento/httpapi", true},
		{"local/local.go", "memento/backend/sqlitestore", true},
		{"local/local.go", "memento/backend/dirstore", false},
		{"store_test.go", "memento/local", false},
		{"backend/storeurl/open.go", "memento/backend/sqlitestore", true},
		{"backend/storeurl/open.go", "memento/backend/httpstore", true},
		{"cmd/memento/root.go", "memento/backend/storeurl", true},
		{"cmd/memento/root.go", "memento/backend/sqlitestore", false},
		{"cmd/memento/root.go", "memento/backend/httpstore", false},
		{"cmd/memento/root.go", "github.com/stretchr/testify/assert", false},
		{"examples/agent/main.go", "memento/backend/sqlitestore", true},
		{"test/bench/main.go", "memento/cmd/memento", false},
		{"exchange/archive/tar.go", "memento/backend/textindex", false},
		{"newroom/new.go", "strings", false},
	} {
		if tt.imported == "memento" {
			tt.imported = module
		}
		e := edge{file: tt.file, test: strings.HasSuffix(tt.file, "_test.go"), path: tt.imported}
		if fault := e.fault(); (fault == "") != tt.allowed {
			t.Errorf("%s imports %s: %q", tt.file, tt.imported, fault)
		}
	}
}
