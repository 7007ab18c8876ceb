package linked

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"memento/test/longtest"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table in docs/embedding.md")

const document = "../../docs/embedding.md"

// entries are what a program uses of a package, so that the linker keeps it.
var entries = map[string]string{
	"backend/dirstore":    "Open",
	"backend/httpstore":   "Open",
	"backend/memstore":    "New",
	"backend/pgstore":     "Open",
	"backend/s3store":     "Open",
	"backend/sqlitestore": "Open",
	"claude":              "Tool",
	"local":               "Open",
	"sensitive":           "Default",
}

// A row is one program in the table.
type row struct {
	packages []string // of this module, besides the root
	modules  []string // others that it links
	size     string   // "6.1 MB"
}

var inCode = regexp.MustCompile("`([^`]+)`")

// table returns the lines of the document before its table, the rows, and the lines after.
func table(t *testing.T) (before []string, rows []row, after []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		switch {
		case len(cells) == 3 && strings.HasPrefix(line, "| `"):
			rows = append(rows, row{names(cells[0]), names(cells[1]), strings.TrimSuffix(cells[2], " |\n")})
		case len(rows) == 0:
			before = append(before, line)
		default:
			after = append(after, line)
		}
	}
	if len(rows) < 5 {
		t.Fatalf("%s has only %d rows", document, len(rows))
	}
	return before, rows, after
}

func names(cell string) (list []string) {
	for _, m := range inCode.FindAllStringSubmatch(cell, -1) {
		list = append(list, m[1])
	}
	return list
}

func (r row) String() string {
	return fmt.Sprintf("| `%s` | `%s` | %s |\n", strings.Join(r.packages, "`, `"), strings.Join(r.modules, "`, `"), r.size)
}

// run runs the go command in the top folder, for one platform.
func run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok {
		t.Fatalf("go %s: %v\n%s", args, err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// linkedModules returns the modules whose packages a program with these packages links.
func linkedModules(t *testing.T, module string, packages []string) []string {
	t.Helper()
	args := []string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", module}
	for _, p := range packages {
		args = append(args, module+"/"+p)
	}
	list := strings.Fields(run(t, args...))
	slices.Sort(list)
	return slices.Compact(list)
}

// build links a program without symbols, and returns its size in bytes.
func build(t *testing.T, module string, packages []string) int64 {
	t.Helper()
	dir := t.TempDir()
	var imports, uses strings.Builder
	for _, p := range packages {
		fmt.Fprintf(&imports, "\t%q\n", module+"/"+p)
		fmt.Fprintf(&uses, ", %s.%s", path.Base(p), entries[p])
	}
	source := fmt.Sprintf("package main\n\nimport (\n\t\"fmt\"\n\n\t%q\n%s)\n\nfunc main() { fmt.Println(memento.OpenNamed, memento.NewTool, (*memento.Tool).RunBlock%s) }\n",
		module, &imports, &uses)
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// The program is in the module, but not in its folder.
	program, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(top, "test/linked/program/main.go"): program}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{program: source, overlay: string(text)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "build", "-overlay", overlay, "-ldflags=-s -w", "-o", binary, "./test/linked/program")
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A program links what the document says and no more, and so the configuration framework,
// the logger and the file systems of a detector's library stay out of it. Its size, which
// depends a little on the version of Go, is measured in a long run.
func TestLinked(t *testing.T) {
	before, rows, after := table(t)
	module := strings.TrimSpace(run(t, "list", "-m"))
	for i, r := range rows {
		modules := linkedModules(t, module, r.packages)
		if *update {
			rows[i].modules = modules
		} else if diff := cmp.Diff(r.modules, modules); diff != "" {
			t.Errorf("%s: what is linked is not what %s says; -update writes it (-documented +linked):\n%s", r.packages, document, diff)
		}
		if !*update && !longtest.Enabled() {
			continue
		}
		megabytes := float64(build(t, module, r.packages)) / 1e6
		var said float64
		if _, err := fmt.Sscanf(r.size, "%f MB", &said); (err != nil || math.Abs(megabytes-said) > said/10) && !*update {
			t.Errorf("%s: the size is %.1f MB; %s says %s", r.packages, megabytes, document, r.size)
		}
		if *update {
			rows[i].size = fmt.Sprintf("%.1f MB", megabytes)
		}
	}
	if *update {
		var text strings.Builder
		for _, line := range before {
			text.WriteString(line)
		}
		for _, r := range rows {
			text.WriteString(r.String())
		}
		for _, line := range after {
			text.WriteString(line)
		}
		if err := os.WriteFile(document, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
