package deploy

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	registry "github.com/modelcontextprotocol/registry/pkg/api/v0"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// valid checks a document by a JSON schema.
func valid(t *testing.T, schemaFile string, document []byte) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("by %s: %v\n%s", filepath.Base(schemaFile), err, document)
	}
}

// mcpb is cmd/mcpb, which makes what MCP clients install.
func mcpb(t *testing.T, args ...string) (stdout []byte, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "./cmd/mcpb"}, args...)...)
	cmd.Dir = "../.."
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err = cmd.Output()
	t.Logf("mcpb %s: %s", args[0], &errs)
	return stdout, err
}

// small is a file in the place of a program that is not started.
const small = "LICENSE"

// makeBundle makes a bundle of a program as the release does, and returns its path.
func makeBundle(t *testing.T, goos, program string) string {
	t.Helper()
	output := filepath.Join(t.TempDir(), "memento_1.2.3_"+goos+".mcpb")
	if _, err := mcpb(t, "bundle", "--binary", program, "--os", goos, "--version", "1.2.3", "--output", output); err != nil {
		t.Fatal(err)
	}
	return output
}

// unpackBundle returns the folder that a client makes of a bundle.
func unpackBundle(t *testing.T, bundle string) string {
	t.Helper()
	z, err := zip.OpenReader(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	to := t.TempDir()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(to, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, f.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// A startedServer is how a client starts a server.
type startedServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// tools starts a server as a client does, and returns the names of its tools.
func (s startedServer) tools(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.Command, s.Args...)
	home := t.TempDir()
	cmd.Env = []string{"HOME=" + home, "XDG_DATA_HOME=" + home}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	send := func(message string) {
		if _, err := io.WriteString(stdin, message+"\n"); err != nil {
			t.Errorf("%v; on standard error: %s", err, &errs)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	var names []string
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for names == nil && lines.Scan() {
		var answer struct {
			ID     any
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, lines.Bytes())
		}
		for _, tool := range answer.Result.Tools {
			names = append(names, tool.Name)
		}
	}
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil || names == nil {
		t.Fatalf("%s %q: %v, with the tools %q; on standard error: %s", s.Command, s.Args, err, names, &errs)
	}
	return names
}

// The manifest of a bundle is one by the published schemas, and what it starts is the server
// with the tools that it lists.
func TestBundle(t *testing.T) {
	for goos, want := range map[string]struct{ platform, program string }{
		"linux": {"linux", "server/memento"}, "darwin": {"darwin", "server/memento"}, "windows": {"win32", "server/memento.exe"},
	} {
		program := small
		if goos == runtime.GOOS {
			program = binary
		}
		bundle := makeBundle(t, goos, program)
		folder := unpackBundle(t, bundle)
		text := mustRead(t, filepath.Join(folder, "manifest.json"))
		valid(t, "testdata/mcpb/mcpb-manifest-v0.3.schema.json", text)
		next := bytes.Replace(text, []byte(`"manifest_version": "0.3"`), []byte(`"manifest_version": "0.4"`), 1)
		valid(t, "testdata/mcpb/mcpb-manifest-v0.4.schema.json", next)

		var m struct {
			Version string
			Server  struct {
				EntryPoint string        `json:"entry_point"`
				Start      startedServer `json:"mcp_config"`
			}
			Tools      []struct{ Name string }
			UserConfig map[string]struct{ Default any } `json:"user_config"`

			Compatibility struct{ Platforms []string }
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Version != "1.2.3" || m.Server.EntryPoint != want.program || !slices.Equal(m.Compatibility.Platforms, []string{want.platform}) {
			t.Errorf("the manifest for %s is\n%s", goos, text)
		}
		if !bytes.Equal(mustRead(t, filepath.Join(folder, "LICENSE")), mustRead(t, "../../LICENSE")) {
			t.Error("the bundle has another license")
		}

		// As a client does with settings that nobody has changed.
		fill := func(s string) string {
			s = strings.ReplaceAll(s, "${__dirname}", folder)
			for name, setting := range m.UserConfig {
				value, err := json.Marshal(setting.Default)
				if err != nil {
					t.Fatal(err)
				}
				s = strings.ReplaceAll(s, "${user_config."+name+"}", strings.Trim(string(value), `"`))
			}
			if strings.Contains(s, "${") {
				t.Errorf("nobody fills in %s", s)
			}
			return s
		}
		start := m.Server.Start
		start.Command = fill(start.Command)
		for i, arg := range start.Args {
			start.Args[i] = fill(arg)
		}
		for name, value := range start.Env {
			start.Env[name] = fill(value)
		}
		if goos != runtime.GOOS {
			continue
		}
		has := start.tools(t)
		for _, tool := range m.Tools {
			if !slices.Contains(has, tool.Name) {
				t.Errorf("the server has the tools %q, and not %s", has, tool.Name)
			}
		}
		if !bytes.Equal(mustRead(t, bundle), mustRead(t, makeBundle(t, goos, program))) {
			t.Error("two bundles of one program differ")
		}
	}
	for _, args := range [][]string{
		{"--os", "plan9", "--version", "1.2.3"}, {"--os", "linux", "--version", "latest"}, {"--os", "linux"},
	} {
		output := filepath.Join(t.TempDir(), "x.mcpb")
		if _, err := mcpb(t, append([]string{"bundle", "--binary", small, "--output", output}, args...)...); err == nil {
			t.Errorf("mcpb accepts %q", args)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%q leaves a bundle behind", args)
		}
	}
}

// The release makes a bundle of each program, and lists its checksum.
func TestBundlesOfTheRelease(t *testing.T) {
	var config struct {
		Builds []struct {
			Hooks struct{ Post []struct{ Cmd string } }
		}
		Checksum struct {
			Extra []struct{ Glob string } `json:"extra_files"`
		}
	}
	if err := yaml.Unmarshal(read(t, "goreleaser.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(t.TempDir(), "dist", "memento_1.2.3_linux_amd64.mcpb")
	if err := os.Mkdir(filepath.Dir(output), 0o755); err != nil {
		t.Fatal(err)
	}
	line := strings.NewReplacer("{{ .Path }}", small, "{{ .Os }}", "linux", "{{ .Arch }}", "amd64", "{{ .Version }}", "1.2.3",
		`"`, "", "dist/", filepath.Dir(output)+"/").Replace(config.Builds[0].Hooks.Post[0].Cmd)
	args, ok := strings.CutPrefix(line, "go run ./cmd/mcpb ")
	if !ok {
		t.Fatalf("the release runs %s", line)
	}
	if _, err := mcpb(t, strings.Fields(args)...); err != nil {
		t.Fatal(err)
	}
	if found, err := filepath.Glob(output); err != nil || len(found) != 1 {
		t.Errorf("%s made %q, %v", line, found, err)
	}
	if ok, err := filepath.Match(config.Checksum.Extra[0].Glob, "./dist/"+filepath.Base(output)); err != nil || !ok {
		t.Errorf("no checksum of %s: %v", output, err)
	}
}

// The description for a registry is one by the registry's own schema and types.
func TestRegistry(t *testing.T) {
	bundle := makeBundle(t, "linux", small)
	text, err := mcpb(t, "registry", "--name", "io.github.someone/memento", "--url", "https://example.com/v1.2.3", "--version", "1.2.3", bundle)
	if err != nil {
		t.Fatal(err)
	}
	where, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry").Output()
	if err != nil {
		t.Fatal(err)
	}
	valid(t, filepath.Join(strings.TrimSpace(string(where)), "internal/validators/schemas/2025-12-11.json"), text)
	var s registry.ServerJSON
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(s.Schema, "/2025-12-11/server.schema.json") || s.Name != "io.github.someone/memento" || s.Version != "1.2.3" || len([]rune(s.Description)) > 100 {
		t.Errorf("it is\n%s", text)
	}
	sum, err := exec.CommandContext(t.Context(), "sha256sum", bundle).Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Packages) != 1 || s.Packages[0].Identifier != "https://example.com/v1.2.3/memento_1.2.3_linux.mcpb" ||
		s.Packages[0].RegistryType != "mcpb" || !bytes.HasPrefix(sum, []byte(s.Packages[0].FileSHA256+" ")) {
		t.Errorf("the packages are\n%s", text)
	}
	for _, args := range [][]string{
		{"--name", "memento", "--url", "https://example.com", "--version", "1.2.3", bundle},
		{"--name", "a/b", "--url", "http://example.com", "--version", "1.2.3", bundle},
		{"--name", "a/b", "--url", "https://example.com", "--version", "1", bundle},
		{"--name", "a/b", "--url", "https://example.com", "--version", "1.2.3"},
		{"--name", "a/b", "--url", "https://example.com", "--version", "1.2.3", binary},
	} {
		if out, err := mcpb(t, append([]string{"registry"}, args...)...); err == nil {
			t.Errorf("mcpb accepts %q: %s", args, out)
		}
	}
}

// strictly decodes a file of the plugin, which has no fields but those of v.
func strictly(t *testing.T, file string, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(read(t, filepath.Join("claude-code", file))))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// kebab are the names that Claude Code takes.
var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// The plugin for Claude Code has the form of its documentation (plugins and marketplaces,
// hooks, skills), and the commands that it names exist and run.
func TestPlugin(t *testing.T) {
	type person struct{ Name, Email, URL string }
	var market struct {
		Name, Description string

		Owner   person
		Plugins []struct{ Name, Source, Description string }
	}
	strictly(t, ".claude-plugin/marketplace.json", &market)
	if !kebab.MatchString(market.Name) || market.Owner.Name == "" || len(market.Plugins) != 1 {
		t.Fatalf("the marketplace is %+v", market)
	}
	folder := market.Plugins[0].Source
	if !strings.HasPrefix(folder, "./") {
		t.Errorf("the plugin is at %s", folder)
	}
	var plugin struct {
		Name, Description, License string
		Author                     person
		Keywords                   []string
	}
	strictly(t, filepath.Join(folder, ".claude-plugin/plugin.json"), &plugin)
	if !kebab.MatchString(plugin.Name) || plugin.Name != market.Plugins[0].Name || plugin.Description != market.Plugins[0].Description {
		t.Errorf("the plugin is %+v", plugin)
	}

	var servers struct {
		Servers map[string]startedServer `json:"mcpServers"`
	}
	strictly(t, filepath.Join(folder, ".mcp.json"), &servers)
	server := servers.Servers["memento"]
	if server.Command != "memento" {
		t.Fatalf("the servers are %+v", servers)
	}
	server.Command = binary
	tools := server.tools(t)

	var hooks struct {
		Description string
		Hooks       map[string][]struct {
			Matcher string
			Hooks   []struct {
				Type, Command string
				Timeout       int // seconds
			}
		}
	}
	strictly(t, filepath.Join(folder, "hooks/hooks.json"), &hooks)
	starts := hooks.Hooks["SessionStart"]
	if len(hooks.Hooks) != 1 || len(starts) != 1 || len(starts[0].Hooks) != 1 || starts[0].Hooks[0].Type != "command" || starts[0].Hooks[0].Timeout == 0 {
		t.Fatalf("the hooks are %+v", hooks)
	}
	for source := range strings.SplitSeq(starts[0].Matcher, "|") {
		if !slices.Contains([]string{"startup", "resume", "clear", "compact"}, source) {
			t.Errorf("no session starts by %q", source)
		}
	}
	args := strings.Fields(starts[0].Hooks[0].Command)
	if args[0] != "memento" {
		t.Fatalf("the hook runs %s", args)
	}
	accepts(t, args[1:]...)
	hook := command(t, nil, args[1:]...)
	hook.Stdin = strings.NewReader(`{"hook_event_name":"SessionStart","source":"startup"}`)
	if out, err := hook.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("/memories")) {
		t.Errorf("the hook says %s, %v", out, err)
	}

	skill := string(read(t, filepath.Join("claude-code", folder, "skills/memory/SKILL.md")))
	_, rest, _ := strings.Cut(skill, "---\n")
	head, body, ok := strings.Cut(rest, "---\n")
	var about struct{ Name, Description string }
	if err := yaml.UnmarshalStrict([]byte(head), &about); err != nil || !ok {
		t.Fatalf("the skill begins with %q: %v", head, err)
	}
	if about.Name != "memory" || !kebab.MatchString(about.Name) || about.Description == "" || len(about.Description) > 1024 {
		t.Errorf("the skill is %+v", about)
	}
	named := regexp.MustCompile("tool `(\\w+)`").FindStringSubmatch(body)
	if named == nil || !slices.Contains(tools, named[1]) {
		t.Errorf("the skill names the tool %q, and the server has %q", named, tools)
	}
	commands := regexp.MustCompile("`memento ([^`]+)`").FindAllStringSubmatch(body, -1)
	for _, c := range commands {
		if fields := strings.Fields(c[1]); !strings.HasPrefix(fields[0], "-") {
			accepts(t, fields...)
		}
	}
	if len(commands) < 3 {
		t.Errorf("the skill names the commands %q", commands)
	}
}
