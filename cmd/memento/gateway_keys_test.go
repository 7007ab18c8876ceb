package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento/backend/storeurl"
	"memento/claude/claudetest"
)

// A server holds the keys for its upstream encrypted, and uses that of the workspace.
func TestGatewayKeys(t *testing.T) {
	dir := dataHome(t)
	file, ring := filepath.Join(dir, "m.db"), filepath.Join(dir, "ring.json")
	do := func(want int, stdin string, args ...string) (out, errs string) {
		t.Helper()
		args = append([]string{"--backend", storeurl.SQLite(file), "--encryption-keys", ring}, args...)
		code, out, errs := runWith(t, stdin, args...)
		if code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
		}
		if strings.Contains(out+errs, "canary-upstream") {
			t.Errorf("%v shows a key: %s%s", args, out, errs)
		}
		return out, errs
	}
	if code, _, errs := runWith(t, "", "encryption", "init", ring); code != 0 {
		t.Fatal(errs)
	}
	do(exitInvalid, "two words", "gateway", "keys", "set")
	do(0, "", "gateway", "keys", "list")
	do(0, "sk-canary-upstream-former\n", "gateway", "keys", "set")
	do(0, "sk-canary-upstream-present\n", "gateway", "keys", "set")
	do(0, "sk-canary-upstream-of-a-team", "gateway", "keys", "set", "--workspace", "team")
	if out, _ := do(0, "", "gateway", "keys", "list", "--json"); strings.Count(out, "\n") != 2 ||
		!strings.Contains(out, `{"type":"memento_upstream_key","workspace":"default","hint":"sent","set_at":"20`) || !strings.Contains(out, `"workspace":"team","hint":"team"`) {
		t.Errorf("the list is %s", out)
	}
	// What was replaced is not in the history.
	if out, _ := do(0, "", "log", "--json", "--workspace", "memento-gateway-keys", "--store", "upstream"); strings.Count(out, "\n") != 2 {
		t.Errorf("the history is %s", out)
	}

	upstream := checkedUpstream(t, &claudetest.Options{Key: "sk-canary-upstream-present"})
	if out, _ := do(0, "", "gateway", "check", "--gateway", upstream, "--model", "claude-opus-4-6"); !strings.Contains(out, "ok       key ") {
		t.Errorf("the check has not used the held key: %s", out)
	}
	s := serve(t, "--backend", storeurl.SQLite(file), "--encryption-keys", ring, "--gateway", upstream, "--log-level", "debug")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.at.URL+"/v1/messages",
		strings.NewReader(`{"model":"claude-opus-4-6","max_tokens":100,"messages":[{"role":"user","content":"Reply with the word ready."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Api-Key": {s.key}, "Content-Type": {"application/json"}, "Anthropic-Version": {"2023-06-01"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), `"text":"ready"`) {
		t.Errorf("%d %s %v", res.StatusCode, text, err)
	}
	if code := s.end(); code != 0 || strings.Contains(s.said.String(), "canary-upstream") {
		t.Errorf("exit code %d: %s", code, s.said)
	}

	do(0, "", "gateway", "keys", "remove", "--workspace", "team")
	do(exitMissing, "", "gateway", "keys", "remove", "--workspace", "team")
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, name := range files {
		kept, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(kept, []byte("canary")) {
			t.Errorf("%s has a key in clear", filepath.Base(name))
		}
	}
	code, _, errs := runWith(t, "sk-canary-upstream", "--backend", storeurl.SQLite(filepath.Join(dir, "clear.db")), "gateway", "keys", "set")
	if code != exitInvalid || !strings.Contains(errs, "encrypted backend") || !strings.Contains(errs, "--encryption-keys") {
		t.Errorf("without encryption: exit code %d: %s", code, errs)
	}
}
