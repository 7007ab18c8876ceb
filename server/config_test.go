package server

import (
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// write writes a file of a test and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// env is an environment.
func env(pairs ...string) func(string) string {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return vars[name] }
}

// Every row of the table of settings is complete, and its default is valid.
func TestDefaults(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Settings() {
		if seen[s.Key] || s.Meaning == "" || s.Form == "" {
			t.Errorf("%s is there twice, or says too little", s.Key)
		}
		seen[s.Key] = true
		if s.set == nil {
			continue
		}
		if err := s.Check(s.Default); s.Default != "" && err != nil {
			t.Errorf("the default of %s: %v", s.Key, err)
		}
		if (s.Default == "") == (s.Unset == "") && s.Key != "tls.key_file" && s.Key != "oidc.audience" {
			t.Errorf("%s says nothing, or two things, of what holds without it", s.Key)
		}
	}
	c := Default()
	for _, s := range Settings() {
		if s.set != nil && s.text(&c) != s.Default {
			t.Errorf("%s is %q by default; the table says %q", s.Key, s.text(&c), s.Default)
		}
	}
	if err := c.Check(time.Now()); err != nil {
		t.Errorf("the defaults have faults: %v", err)
	}
	if c.MaxBody != 4<<20 || c.Timeout != 30*time.Second || c.Metrics != "127.0.0.1:8378" || c.Pprof != "" || c.OIDC.DefaultRole != apikey.RoleRead {
		t.Errorf("defaults: %+v", c)
	}
}

// A flag takes precedence over the environment, the environment over the file, and the
// file over the default.
func TestPrecedence(t *testing.T) {
	file := write(t, "m.yaml", "timeout: 1s\nmax_body: 1K\nrate:\n  reads: 1\nlog: {level: debug}\n")
	c, err := Load(Sources{
		File:    file,
		Getenv:  env("MEMENTO_TIMEOUT", "2s", "MEMENTO_MAX_BODY", "2K", "MEMENTO_METRICS", "", "MEMENTO_HOSTS", "a.example, b.example"),
		Flags:   map[string]string{"timeout": "3s", "metrics": ""},
		Backend: "mem:",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Timeout, want.MaxBody, want.Rate.Reads, want.Log.Level = 3*time.Second, 2<<10, 1, "debug"
	want.Backend, want.Metrics, want.Hosts = "mem:", "", []string{"a.example", "b.example"}
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	shown, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"timeout: 3s # flag --timeout\n", "max_body: 2K # environment, MEMENTO_MAX_BODY\n", "  reads: 1 # file, line 4\n",
		"max_import: 256M # default\n", "metrics: off # flag --metrics\n", "hosts: [a.example, b.example] # environment, MEMENTO_HOSTS\n",
	} {
		if !strings.Contains(strings.ReplaceAll(string(shown), `"off"`, "off"), line) {
			t.Errorf("%q is not in\n%s", line, shown)
		}
	}
}

// The YAML of a configuration can be loaded again, and gives the same configuration.
func TestShownIsReadAgain(t *testing.T) {
	secret := write(t, "secret", "whsec_"+strings.Repeat("QUJD", 11)+"\n")
	file := write(t, "m.yaml", `
# A comment.
backend: sqlite:/var/lib/memento/memento.db
address: "[::]:443"
hosts: [memory.example, 10.0.0.1]
origins:
  - https://app.example
proxy: {header: X-Forwarded-For, trusted: [10.0.0.0/8, "192.0.2.1", "fd00::/8"]}
strict_betas: true
max_body: 100000
rate: {reads: 0.5, writes: 60, burst: 7}
metrics: off
shutdown: {delay: 1m30s, grace: 2h}
oidc:
  issuer: https://login.example/realm
  audience: &name "memento: #1"
  workspace_claim: *name
  default_role: write
tool: {view_chars: 100, create_overwrites: true, search: true, profile: python}
webhooks:
  - url: https://app.example/hook
    secret_file: `+secret+`
    events: [memory_store.deleted]
  - url: http://127.0.0.1:1/
    secret_env: HOOK
    allow_private: true
`)
	getenv := env("HOOK", "whsec_"+strings.Repeat("QUJD", 8))
	c, err := Load(Sources{File: file, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(Sources{File: write(t, "again.yaml", string(shown)), Getenv: getenv})
	if err != nil {
		t.Fatalf("%v, in\n%s", err, shown)
	}
	if diff := cmp.Diff(c, again, cmpopts.IgnoreUnexported(Config{}, Webhook{}), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	if c.OIDC.WorkspaceClaim != "memento: #1" || c.Webhooks[0].Events[0] != "memory_store.deleted" || len(c.Webhooks[1].key) != 24 {
		t.Errorf("read as %+v", c)
	}
}

// A bad value from any source is refused. The error says where it is, what is wrong,
// and what is expected.
func TestBadValues(t *testing.T) {
	for _, tc := range []struct{ file, want string }{
		{"adress: x", `adress (file, line 1): unknown setting; there are backend, encryption, first_key_file, address, tls, hosts, origins, proxy, `},
		{"\ntls:\n  cert: x", `tls.cert (file, line 3): unknown setting; there are cert_file, key_file`},
		{"level: debug", `level (file, line 1): unknown setting at the top level; there are backend, `},
		{"timeout: 1s\nlog:\n  level: info\ntimeout: 2s", `timeout (file, line 4): already set in line 1`},
		{"address: 8377", `address (file, line 1): expected a host and a port, such as 127.0.0.1:8377`},
		{"address: localhost:99999", `address (file, line 1): expected a port from 0 to 65535 after the colon, not "localhost:99999"`},
		{"address: 'a b:1'", `address (file, line 1): expected a host name or an IP address`},
		{"address: [a]", `address (file, line 1): expected a value (address), not a list`},
		{"address: {a: b}", `address (file, line 1): expected a value (address), not a mapping`},
		{"address:", `address (file, line 1): has no value; remove the line, or write ""`},
		{"tls: on", `tls (file, line 1): expected settings, as in "cert_file: …", not a single value`},
		{"- a", `configuration file, line 1: expected settings, as in "backend: …", not a list`},
		{"strict_betas: maybe", `strict_betas (file, line 1): expected true or false, not "maybe"`},
		{"max_concurrent: 0", `max_concurrent (file, line 1): expected an integer of at least 1, not "0"`},
		{"max_concurrent: 1.5", `max_concurrent (file, line 1): expected an integer of at least 1, not "1.5"`},
		{"max_body: 4X", `max_body (file, line 1): expected a number of bytes, such as 102400, 100K, 4M or 1G, not "4X"`},
		{"max_body: 99999999999G", `max_body (file, line 1): expected a number of bytes`},
		{"timeout: 30", `timeout (file, line 1): expected a duration, such as 500ms, 30s, 10m or 1h30m, not "30"`},
		{"timeout: 0", `timeout (file, line 1): expected a duration of at least 1ms, not "0"`},
		{"rate: {reads: -1}", `rate.reads (file, line 1): expected a number of at least 0, not "-1"`},
		{"rate: {reads: .nan}", `rate.reads (file, line 1): expected a number of at least 0`},
		{"rate: {reads: NaN}", `rate.reads (file, line 1): expected a number of at least 0`},
		{"log: {format: xml}", `log.format (file, line 1): expected text or json, not "xml"`},
		{"log: {level: trace}", `log.level (file, line 1): expected debug, info, warn or error, not "trace"`},
		{"oidc: {default_role: root}", `oidc.default_role (file, line 1): expected read, write or admin, not "root"`},
		{"hosts: [https://a.example]", `hosts (file, line 1): expected host names or IP addresses without scheme and port`},
		{"origins: [a.example]", `origins (file, line 1): expected origins (scheme, host and optional port)`},
		{"origins: [https://a.example/]", `origins (file, line 1): expected origins`},
		{"proxy: {header: Forwarded}", `proxy.header (file, line 1): the header Forwarded is not supported`},
		{"proxy: {header: 'X Y'}", `proxy.header (file, line 1): expected the name of a header`},
		{"proxy: {trusted: [10.0.0.0/33]}", `proxy.trusted (file, line 1): expected IP addresses or networks`},
		{"proxy: {trusted: [proxy.example]}", `proxy.trusted (file, line 1): expected IP addresses or networks`},
		{"hosts: [[a]]", `hosts (file, line 1): expected a list of strings, not a list in it`},
		{"address: x:1\n  tls: y", `configuration file, line 2: it is not YAML: `},
		{"timeout: 1s\n---\ntimeout: 2s", `configuration file, line 2: a second document begins here`},
		{"webhooks: x", `webhooks (file, line 1): expected a list of entries with a url and a secret, not a single value`},
		{"webhooks: [x]", `webhooks[0] (file, line 1): expected a mapping with a url and a secret, not a single value`},
		{"webhooks:\n- uri: x", `webhooks[0].uri (file, line 2): unknown setting of a webhook; there are url, secret, secret_env, secret_file, events, allow_private`},
		{"webhooks:\n- {url: 'https://a.example'}", `webhooks[0] (file, line 2): exactly one of secret, secret_env and secret_file`},
		{"webhooks:\n- {secret_env: NONE}", `webhooks[0] (file, line 2): secret_env: the variable is not set`},
		{"webhooks:\n- {secret_file: /nowhere/canary}", `webhooks[0] (file, line 2): secret_file: it cannot be read: it does not exist`},
		{"webhooks:\n- {secret: whsec_canary}", `webhooks[0] (file, line 2): secret: must be "whsec_" and the base64 of 24 to 64 random bytes`},
		{"webhooks:\n- {events: [memory.created]}", `webhooks[0].events (file, line 2): expected a list of memory_store.created, memory_store.archived, memory_store.deleted`},
		{"webhooks:\n- {allow_private: 7}", `webhooks[0].allow_private (file, line 2): expected true or false`},
	} {
		_, err := Load(Sources{File: write(t, "m.yaml", tc.file), Getenv: env()})
		faults, ok := errors.AsType[ConfigErrors](err)
		if !ok || !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %v", tc.file, err)
			continue
		}
		if !slices.ContainsFunc(faults, func(f ConfigError) bool { return strings.HasPrefix(f.String(), tc.want) }) {
			t.Errorf("%q: %v\nwant %s", tc.file, err, tc.want)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: a secret, or a path, is repeated: %v", tc.file, err)
		}
	}
	_, err := Load(Sources{Getenv: env("MEMENTO_LOG_LEVEL", "loud"), Flags: map[string]string{"rate-burst": "many"}})
	want := "log.level (environment, MEMENTO_LOG_LEVEL): expected debug, info, warn or error, not \"loud\"\n" +
		"rate.burst (flag --rate-burst): expected an integer of at least 0, not \"many\""
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	for name, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.yaml"): "it does not exist",
		t.TempDir():                             "is a directory",
		write(t, "big.yaml", strings.Repeat("#", maxFile+1)): "larger than 1048576 bytes",
	} {
		if _, err := Load(Sources{File: name, Getenv: env()}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if _, err := Load(Sources{File: write(t, "m.yaml", empty), Getenv: env()}); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// Formatted values can be parsed again.
func TestKinds(t *testing.T) {
	for text, want := range map[string]string{"1024": "1K", "1K": "1K", "3MiB": "3M", "2g": "2G", "1025": "1025", "1": "1"} {
		n, err := size.parse(text)
		if err != nil || size.format(n) != want {
			t.Errorf("%s: %d, %v, written %s; want %s", text, n, err, size.format(n), want)
		}
	}
	for text, want := range map[string]string{"0": "0", "90s": "1m30s", "60m": "1h", "1h30m": "1h30m", "24h": "24h", "100ms": "100ms", "10s": "10s", "1h0m1s": "1h0m1s"} {
		d, err := duration(0).parse(text)
		if err != nil || formatDuration(d) != want {
			t.Errorf("%s: written %s, %v; want %s", text, formatDuration(d), err, want)
		}
	}
	for _, address := range []string{":0", "localhost:1", "[::1]:65535", "0.0.0.0:80", "a-b.example:80"} {
		if _, err := parseAddress(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"", "1", "a", "a:b", "a:-1", "a:+1", "a:01", "::1:80", "a:65536", "/a:1", "a..b:1"} {
		if _, err := parseAddress(address); err == nil {
			t.Errorf("%q is an address", address)
		}
	}
}

// Check finds all errors, and its errors contain no secret.
func TestCheck(t *testing.T) {
	now := time.Now()
	good := makeCertificate(t, "localhost", now.Add(time.Hour))
	old := makeCertificate(t, "localhost", now.Add(-time.Hour))
	c := Default()
	load := func(yaml string) Config {
		t.Helper()
		c, err := Load(Sources{File: write(t, "m.yaml", yaml), Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	secret := "\n  secret: whsec_" + strings.Repeat("QUJD", 8)
	for _, tc := range []struct {
		name string
		c    Config
		want []string
	}{
		{"defaults", c, nil},
		{"a server's server", load("backend: https://memory.example"), []string{"backend (file, line 1): must be a storage backend"}},
		{"a good pair", load("tls: {cert_file: " + good.cert + ", key_file: " + good.key + "}"), nil},
		{"a pair of two", load("tls: {cert_file: " + good.cert + ", key_file: " + old.key + "}"), []string{"tls.cert_file (file, line 1): private key does not match public key"}},
		{"a certificate that ended", load("tls: {cert_file: " + old.cert + ", key_file: " + old.key + "}"), []string{"tls.cert_file (file, line 1): the certificate expired on "}},
		{"half a pair", load("tls:\n  key_file: " + good.key), []string{"tls.key_file (file, line 2): requires tls.cert_file"}},
		{"no files", load("tls: {cert_file: /nowhere/a, key_file: /nowhere/b}"), []string{"tls.cert_file (file, line 1): it cannot be read: it does not exist", "tls.key_file (file, line 1): it cannot be read"}},
		{"no PEM", load("tls: {cert_file: " + good.key + ", key_file: " + good.cert + "}"), []string{"tls.cert_file (file, line 1): "}},
		{"a header of anyone", load("proxy: {header: X-Real-IP}"), []string{"proxy.header (file, line 1): requires proxy.trusted"}},
		{"a proxy without header", load("proxy: {trusted: 10.0.0.1}"), []string{"proxy.trusted (file, line 1): requires proxy.header"}},
		{"a proxy", load("proxy: {header: X-Real-IP, trusted: [10.0.0.1, 'fd00::/8']}"), nil},
		{"one address for two", load("metrics: 127.0.0.1:8377"), []string{"metrics (file, line 1): must differ from the server's own"}},
		{"a profiler for all", load("pprof: 0.0.0.0:6060"), []string{"pprof (file, line 1): must be a loopback address"}},
		{"a profiler for all names", load("pprof: :6060"), []string{"pprof (file, line 1): must be a loopback address"}},
		{"a profiler here", load("pprof: '[::1]:6060'"), nil},
		{"traces with a password", load("traces: {endpoint: 'https://u:canary@otel.example'}"), []string{"traces.endpoint (file, line 1): must be a URL without user, password"}},
		{"no audience", load("oidc: {issuer: https://login.example}"), []string{"oidc.audience: requires an audience"}},
		{"no address for browsers", load("address: 0.0.0.0:8377\noidc: {issuer: https://login.example, audience: a, client_id: console}"), []string{"oidc.client_id (file, line 2): requires mcp.url"}},
		{"scopes without openid", load("oidc: {issuer: https://login.example, audience: a, client_id: console, scopes: groups}"), []string{"oidc.scopes (file, line 1): requires openid"}},
		{"no issuer", load("oidc: {audience: a, role_claim: r}"), []string{"oidc.audience (file, line 1): requires oidc.issuer", "oidc.role_claim (file, line 1): requires oidc.issuer"}},
		{"an issuer in the clear", load("oidc: {issuer: http://login.example, audience: a}"), []string{"oidc.issuer (file, line 1): must be https"}},
		{"an issuer here", load("oidc: {issuer: 'http://127.0.0.1:1', audience: a}"), nil},
		{"no issuer's URL", load("oidc: {issuer: login.example, audience: a}"), []string{"oidc.issuer (file, line 1): must be a URL such as https://login.example"}},
		{"a webhook in the clear", load("webhooks:\n- url: http://app.example/canary" + secret), []string{"webhooks[0] (file, line 2): url: must be https"}},
		{"a webhook with a password", load("webhooks:\n- url: https://canary@app.example" + secret), []string{"webhooks[0] (file, line 2): url: must have no user"}},
		{"a webhook that is none", load("webhooks:\n- url: app.example" + secret), []string{"webhooks[0] (file, line 2): url: must be a URL such as"}},
	} {
		err := tc.c.Check(now)
		faults, _ := errors.AsType[ConfigErrors](err)
		ok := len(faults) == len(tc.want)
		for i := range faults {
			ok = ok && strings.HasPrefix(faults[i].String(), tc.want[i])
		}
		if !ok || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v; want %q", tc.name, err, tc.want)
		}
	}
}

// The YAML of a configuration contains no secret.
func TestShownHasNoSecrets(t *testing.T) {
	secret := "whsec_" + strings.Repeat("QUJD", 8)
	c, err := Load(Sources{
		File:   write(t, "m.yaml", "webhooks:\n- url: https://app.example/hook?token=canary\n  secret: "+secret+"\n- url: https://canary@b.example/\n  secret_env: HOOK\n"),
		Getenv: env("HOOK", secret, "MEMENTO_BACKEND", "postgres://user:canary@db.example/memento"),
	})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"canary", secret, strings.TrimPrefix(secret, "whsec_")} {
		if strings.Contains(string(shown), hidden) {
			t.Errorf("%s is shown in\n%s", hidden, shown)
		}
	}
	for text, want := range map[string]string{
		"https://user:can#ary@b.example/": "https://not-shown@b.example/", // not a URL, because of its password
		"https://b.example/@canary":       "https://b.example/@canary",
	} {
		if got := withoutUser(text); got != want {
			t.Errorf("%s is shown as %s; want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"postgres://ana@db.example/memento":               "postgres://ana@db.example/memento", // who is no secret
		"postgresql://ana@/memento?host=/run/pg&schema=x": "postgresql://ana@/memento?host=/run/pg&schema=x",
		"postgres://ana:canary@db.example/memento":        "postgres://not-shown@db.example/memento",
		"postgres://ana:@db.example/memento":              "postgres://not-shown@db.example/memento",
		"postgres://ana:can#ary@db.example/memento":       "postgres://not-shown@db.example/memento",
		"https://canary@memento.example":                  "https://not-shown@memento.example",
		"sqlite:memento.db":                               "sqlite:memento.db",
	} {
		c.Backend = text
		if got := c.ShownBackend(); got != want {
			t.Errorf("%s is shown as %s; want %s", text, got, want)
		}
		if again, err := c.YAML(); err != nil || !strings.Contains(string(again), "backend: "+want+" #") {
			t.Errorf("%s is shown in %s, %v", text, again, err)
		}
	}
	for _, there := range []string{"https://app.example/hook", "not shown", "secret_env: HOOK", "db.example"} {
		if !strings.Contains(string(shown), there) {
			t.Errorf("%s is not shown in\n%s", there, shown)
		}
	}
}

// The table in docs/configuration.md is the table of settings.
func TestDocument(t *testing.T) {
	path := filepath.Join("..", "docs", "configuration.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for name, table := range map[string]string{"settings": settingsTable(), "webhooks": webhooksTable()} {
		begin, end := "<!-- "+name+": made by go test ./server -run TestDocument -update -->\n", "<!-- end of "+name+" -->"
		before, rest, found := strings.Cut(got, begin)
		_, after, ended := strings.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("docs/configuration.md has no place for the table of %s", name)
		}
		got = before + begin + table + end + after
	}
	switch {
	case got == string(text):
	case *update:
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/configuration.md is not what the program knows; go test ./server -run TestDocument -update corrects it (-there +wanted):\n%s", cmp.Diff(string(text), got))
	}
}

// settingsTable writes the table of settings as Markdown.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | flag | environment | default | meaning |\n|---|---|---|---|---|\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	for _, s := range Settings() {
		preset, flag := code(s.Default), ""
		if s.Unset != "" {
			preset = s.Unset
		}
		if s.Flag() != "" {
			flag = code("--" + s.Flag())
		}
		b.WriteString("| " + strings.Join([]string{code(s.Key), flag, code(s.Env()), preset, s.Meaning}, " | ") + " |\n")
	}
	return b.String()
}

func webhooksTable() string {
	var b strings.Builder
	b.WriteString("| key | meaning |\n|---|---|\n")
	for _, f := range webhookFields() {
		b.WriteString("| `" + f.key + "` | " + f.meaning + " |\n")
	}
	return b.String()
}

// The example in docs/configuration.md is valid, and sets most of the settings.
func TestDocumentExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```yaml\n")
	example, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/configuration.md has no example")
	}
	c, err := Load(Sources{File: write(t, "m.yaml", example), Getenv: env("MEMENTO_WEBHOOK_SECRET", "whsec_"+strings.Repeat("QUJD", 8))})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(maps.Keys(c.origins))); n < 10 {
		t.Errorf("the example sets only %d things", n)
	}
}
