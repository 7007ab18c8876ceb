package main

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"memento/claude/claudetest"
)

// checkedUpstream is an upstream that plays what "gateway check" asks for.
func checkedUpstream(t *testing.T, o *claudetest.Options) string {
	t.Helper()
	data, err := os.ReadFile("../../gateway/testdata/check.yaml")
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := claudetest.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(claudetest.New(scenario, o))
	t.Cleanup(server.Close)
	return server.URL
}

func TestGatewayCheckCommand(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("MEMENTO_CONFIG", "")
	t.Setenv("ANTHROPIC_API_KEY", "sk-check-canary")
	gateway := func(args ...string) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), append([]string{"gateway", "check"}, args...), strings.NewReader(""), &stdout, &stderr)
		if strings.Contains(stdout.String()+stderr.String(), "sk-check-canary") {
			t.Errorf("the key is in the output: %s%s", &stdout, &stderr)
		}
		return code, stdout.String(), stderr.String()
	}
	url := checkedUpstream(t, &claudetest.Options{Key: "sk-check-canary"})
	code, out, errs := gateway("--gateway", url, "--model", "claude-opus-4-6")
	if code != exitOK || !strings.Contains(out, "ok       memory_round     saved a text in 2 rounds") || !strings.Contains(errs, "the gateway works") {
		t.Errorf("code %d\n%s%s", code, out, errs)
	}
	code, out, _ = gateway("--gateway", url, "--model", "claude-haiku-4-5", "--json")
	all := strings.Split(strings.TrimSpace(out), "\n")
	var sum struct {
		Type    string
		Works   bool
		Missing []string
	}
	if err := json.Unmarshal([]byte(all[len(all)-1]), &sum); err != nil || code != exitOK || sum.Type != "memento_gateway_check" || !sum.Works {
		t.Errorf("code %d, %v\n%s", code, err, out)
	}
	if got := strings.Join(sum.Missing, " "); got != "models" {
		t.Errorf("missing: %s", got)
	}
	url = checkedUpstream(t, &claudetest.Options{Key: "another"})
	if code, out, _ = gateway("--gateway", url); code != exitFailure || !strings.Contains(out, "failed   key") {
		t.Errorf("a wrong key: code %d\n%s", code, out)
	}
	if code, _, errs = gateway(); code != exitUsage || !strings.Contains(errs, "--gateway") {
		t.Errorf("no gateway: code %d\n%s", code, errs)
	}
	if code, _, errs = gateway("--gateway", "ftp://x"); code != exitInvalid || !strings.Contains(errs, "gateway.url") {
		t.Errorf("a wrong URL: code %d\n%s", code, errs)
	}
}
