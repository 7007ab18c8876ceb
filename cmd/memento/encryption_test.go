package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"memento/backend/storeurl"
)

// A server encrypts by the keys of its configuration, and does not start with others.
func TestServeEncrypted(t *testing.T) {
	dir := dataHome(t)
	file := filepath.Join(dir, "m.db")
	keys, others := filepath.Join(dir, "keys.json"), filepath.Join(dir, "others.json")
	for _, name := range []string{keys, others} {
		if code, _, errs := runWith(t, "", "encryption", "init", name); code != 0 {
			t.Fatal(errs)
		}
	}
	config := filepath.Join(dir, "memento.yaml")
	if err := os.WriteFile(config, []byte("backend: "+storeurl.SQLite(file)+"\nencryption:\n  keys_file: "+keys+"\n  names: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runWith(t, "", "config", "check", "--config", config); code != 0 {
		t.Errorf("check: %s %s", out, errs)
	}
	s := serve(t, "--config", config)
	_, made := s.ask(http.MethodPost, "/v1/memory_stores", `{"name":"notes"}`)
	path := "/v1/memory_stores/" + field(t, made, "id") + "/memories"
	if code, text := s.ask(http.MethodPost, path, `{"path":"/canary-name.md","content":"canary-text"}`); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if code, text := s.ask(http.MethodGet, path+"?view=full", ""); code != 200 || !strings.Contains(text, "canary-text") || !strings.Contains(text, "canary-name") {
		t.Errorf("%d %s", code, text)
	}
	if code := s.end(); code != 0 || !strings.Contains(s.said.String(), "encryption at rest is on") {
		t.Errorf("exit code %d: %s", code, s.said)
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kept, []byte("canary")) {
		t.Error("the file has contents or names in clear")
	}
	code, _, errs := runWith(t, "", "serve", "--config", config, "--encryption-keys", others, "--address", "127.0.0.1:0", "--metrics", "off")
	if code != exitStorage || !strings.Contains(errs, "cannot be decrypted") || !strings.Contains(errs, "hint: nothing was changed; --encryption-keys must name") {
		t.Errorf("with other keys: exit code %d: %s", code, errs)
	}
	code, _, errs = runWith(t, "", "config", "check", "--config", config, "--encryption-keys", filepath.Join(dir, "none.json"))
	if code != exitInvalid {
		t.Errorf("without the file: exit code %d: %s", code, errs)
	}
	if runtime.GOOS == "windows" {
		return // whose modes say nothing of others
	}
	if err := os.Chmod(keys, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ := runWith(t, "", "config", "check", "--config", config)
	if code != exitInvalid || !strings.Contains(out, "encryption.keys_file") || !strings.Contains(out, "chmod 600") {
		t.Errorf("a file that others may read: exit code %d: %s", code, out)
	}
}
