package deploy

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/goreleaser/goreleaser/v2/pkg/config"

	"memento/test/longtest"
)

const release = "build/release/" // what release-files.sh makes

// The configuration of releases has no field that goreleaser does not know, and every file
// that it names exists, or is made.
func TestRelease(t *testing.T) {
	project, err := config.Load(filepath.Join(folder, "goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "release")
	makePages(t, made)
	for _, sub := range []struct{ page, holds string }{
		{"man/memento.1", "memento - Storage for Claude"}, {"man/memento-serve.1", `\-\-config|--config`},
		{"completions/memento.bash", "memento"}, {"completions/_memento", "#compdef memento"},
		{"completions/memento.fish", "complete -c memento"}, {"completions/memento.ps1", "Register-ArgumentCompleter"},
	} {
		if data, err := os.ReadFile(filepath.Join(made, sub.page)); err != nil || !regexp.MustCompile(sub.holds).Match(data) {
			t.Errorf("%s has no %q: %v", sub.page, sub.holds, err)
		}
	}

	sources := []string{}
	for _, f := range project.Archives[0].Files {
		sources = append(sources, f.Source)
	}
	destinations := map[string]string{}
	for _, c := range project.NFPMs[0].Contents {
		sources = append(sources, c.Source)
		destinations[c.Destination] = c.Source
	}
	for _, source := range sources {
		place := filepath.Join("../..", source)
		if own, ok := strings.CutPrefix(source, release); ok {
			place = filepath.Join(made, own)
		}
		if found, err := filepath.Glob(place); err != nil || len(found) == 0 {
			t.Errorf("there is no %s: %v", source, err)
		}
	}
	if got := project.NFPMs[0].Formats; !slices.Equal(got, []string{"deb", "rpm"}) {
		t.Errorf("packages are %v", got)
	}
	for _, file := range []string{"/usr/lib/systemd/system/memento.service", "/etc/memento/memento.yaml"} {
		if destinations[file] == "" {
			t.Errorf("a package lacks %s", file)
		}
	}

	// The image has the program of the release.
	build := project.Builds[0]
	line := "CGO_ENABLED=0 go build " + strings.Join(build.Flags, " ") + ` -ldflags="` + strings.Join(build.Ldflags, " ") + `" `
	if !bytes.Contains(read(t, "Dockerfile"), []byte(line)) || !slices.Equal(build.Env, []string{"CGO_ENABLED=0"}) {
		t.Errorf("the Dockerfile builds in another way than %q", line)
	}
}

// makePages does what release-files.sh does, with the program that there is.
func makePages(t *testing.T, folder string) {
	t.Helper()
	script := string(read(t, "release-files.sh"))
	for line := range strings.Lines(script) {
		args, ok := strings.CutPrefix(strings.TrimSpace(line), `"$folder/memento" `)
		if !ok {
			continue
		}
		words, to, _ := strings.Cut(strings.NewReplacer(`"`, "", "$folder", folder).Replace(args), " > ")
		if err := os.MkdirAll(filepath.Join(folder, "completions"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := command(t, []string{"SOURCE_DATE_EPOCH=1790000000"}, strings.Fields(words)...)
		out, err := cmd.Output()
		if err == nil && to != "" {
			err = os.WriteFile(to, out, 0o644)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// The manual pages of two runs are the same.
func TestPagesAreReproducible(t *testing.T) {
	var made []map[string]string
	for range 2 {
		dir := t.TempDir()
		makePages(t, dir)
		pages := map[string]string{}
		found, err := filepath.Glob(filepath.Join(dir, "*", "*"))
		if err != nil || len(found) < 30 {
			t.Fatal(found, err)
		}
		for _, f := range found {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			pages[filepath.Base(f)] = string(data)
		}
		made = append(made, pages)
	}
	if diff := cmp.Diff(made[0], made[1]); diff != "" {
		t.Error(diff)
	}
}

// systemd accepts the unit, and the server what the unit says.
func TestUnit(t *testing.T) {
	unit := string(read(t, "systemd/memento.service"))
	commands := regexp.MustCompile(`(?m)^Exec\w+=/usr/bin/memento (.*)$`).FindAllStringSubmatch(unit, -1)
	if len(commands) != 2 {
		t.Errorf("the unit runs memento %d times", len(commands))
	}
	for _, c := range commands {
		accepts(t, strings.Fields(c[1])...)
		if !strings.Contains(c[1], "--config /etc/memento/memento.yaml") {
			t.Errorf("%s reads another configuration", c[1])
		}
	}
	configured(t, nil, filepath.Join(folder, "systemd/memento.yaml"))

	here := filepath.Join(t.TempDir(), "memento.service")
	if err := os.WriteFile(here, []byte(strings.ReplaceAll(unit, "/usr/bin/memento", binary)), 0o644); err != nil {
		t.Fatal(err)
	}
	// A key that systemd does not know is only a warning.
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "--man=no", "verify", here).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	// Of 100: the lower, the less the service may do.
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--threshold=20", here).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

// ofMemento finds the arguments of a memento that is called directly, or in a container.
var ofMemento = regexp.MustCompile(`(?:^(?:sudo )?|-- |exec memento )memento ([^&|>]+)`)

// The commands in comments and in the documentation exist, and so do the variables.
func TestCommands(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{folder + "/*.*", folder + "/Dockerfile", folder + "/*/*", "../../docs/deploy.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if info, err := os.Stat(f); err != nil || info.IsDir() {
				continue // the plugin has tests of its own
			}
			texts[f] = string(mustRead(t, f))
		}
	}
	documented := string(mustRead(t, "../../docs/configuration.md"))
	n := 0
	for name, text := range texts {
		fenced := false
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			shown, commented := strings.CutPrefix(line, "#\t")
			if !commented && !fenced {
				continue
			}
			for _, found := range ofMemento.FindAllStringSubmatch(shown, -1) {
				n++
				accepts(t, strings.Fields(found[1])...)
			}
		}
		for _, variable := range regexp.MustCompile(`\bMEMENTO_[A-Z_]+\b`).FindAllString(text, -1) {
			if !strings.Contains(documented, "`"+variable+"`") {
				t.Errorf("%s: %s is not documented", name, variable)
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d commands", n)
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Two builds of one commit, in different folders, are the same byte for byte. Each compiles
// memento's own packages itself, though the cache of the go command is one: the compiler is
// told to use one goroutine in the first build and two in the second, which is not allowed to
// change what it writes. What memento depends on is compiled once.
func TestReproducible(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("it compiles everything with -trimpath: only in a long run")
	}
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// Both clones before anything is compiled, so that they are of one commit.
	folders := []string{t.TempDir(), filepath.Join(t.TempDir(), "a", "longer", "name")}
	for _, dir := range folders {
		run(".", "git", "clone", "--quiet", "../..", filepath.Join(dir, "src"))
	}
	var builds [][]byte
	for i, dir := range folders {
		out, goroutines := filepath.Join(dir, "memento"), fmt.Sprintf("-gcflags=./...=-c=%d", i+1)
		run(filepath.Join(dir, "src"), "go", "build", "-trimpath", goroutines, "-ldflags=-s -w -buildid=", "-o", out, "./cmd/memento")
		// The program says how it was built. Nothing else may differ.
		flag := []byte("build\t" + goroutines + "\n")
		program := mustRead(t, out)
		if !bytes.Contains(program, flag) {
			t.Fatalf("the program does not say that it was built with %s", goroutines)
		}
		builds = append(builds, bytes.ReplaceAll(program, flag, nil))
	}
	if !bytes.Equal(builds[0], builds[1]) {
		t.Error("the builds differ")
	}
}
