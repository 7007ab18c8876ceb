package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"memento"
	"memento/backend/apikey"
	"memento/backend/storeurl"
)

// All names of this machine share a file, and no host leads out of the folder.
func TestKeyFile(t *testing.T) {
	dataHome(t)
	if _, err := keyFile("x", "1"); err != nil {
		t.Fatal(err)
	}
	base, err := keyFile("localhost", "8377")
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::", "", "LocalHost", "localhost.", "127.1.2.3", "::ffff:127.0.0.1"} {
		if got, err := keyFile(host, "8377"); err != nil || got != base {
			t.Errorf("%q: %s, %v; want %s", host, got, err, base)
		}
	}
	if got, err := keyFileOf("[::]:8377"); err != nil || got != base {
		t.Errorf("an address: %s, %v", got, err)
	}
	seen := map[string]string{}
	for _, host := range []string{"memory.example", "10.0.0.1", "fe80::1", "fe80::1:1", "2001:db8::1"} {
		got, err := keyFile(host, "8377")
		if err != nil || !strings.HasSuffix(filepath.Dir(got), filepath.Join("memento", "keys")) || strings.ContainsAny(filepath.Base(got), ":*?") || seen[got] != "" {
			t.Errorf("%q: %s, %v", host, got, err)
		}
		seen[got] = host
	}
	for _, host := range []string{"..", "../x", "a/b", `a\b`, "a b", "ä", strings.Repeat("a", 300), "a\x00b"} {
		if got, err := keyFile(host, "8377"); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %s, %v; want ErrInvalid", host, got, err)
		}
	}
	if _, err := keyFile("a", "../1"); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("a port that is none: %v", err)
	}
}

// A key file is whole or not there, only its owner's, and never replaced.
func TestWriteKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "a.key")
	secrets := make([]string, 8)
	var winners sync.Map
	var all sync.WaitGroup
	for i := range secrets {
		secrets[i] = apikey.NewSecret()
		all.Go(func() {
			switch err := writeKeyFile(path, secrets[i]); {
			case err == nil:
				winners.Store(secrets[i], true)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	all.Wait()
	got, err := readKeyFile(path)
	if _, won := winners.Load(got); err != nil || !won {
		t.Errorf("%q, %v", got, err)
	}
	n := 0
	winners.Range(func(any, any) bool { n++; return true })
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || n != 1 || len(files) != 1 {
		t.Errorf("%d have written it; in the folder is %v, %v", n, files, err)
	}
	for _, text := range []string{"", "canary", apikey.NewSecret() + "x", apikey.NewSecret() + "\n" + apikey.NewSecret()} {
		bad := filepath.Join(t.TempDir(), "b.key")
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readKeyFile(bad); !errors.Is(err, memento.ErrInvalid) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The first key is made once; its file is never replaced, and what is in it counts.
func TestFirstKey(t *testing.T) {
	dataHome(t)
	const address = "127.0.0.1:8377"
	a := newApp(nil, io.Discard, io.Discard)
	open := func(url string) memento.Backend {
		t.Helper()
		b, err := storeurl.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}
	works := func(b memento.Backend, file string) bool {
		t.Helper()
		secret, err := readKeyFile(file)
		if err != nil {
			t.Fatal(err)
		}
		k, err := b.(apikey.Keeper).KeyByHash(t.Context(), apikey.HashSecret(secret))
		return err == nil && k.Role == apikey.RoleAdmin && k.Workspace == memento.DefaultWorkspace && strings.HasSuffix(secret, k.Hint) && k.Active(a.now())
	}
	first := open(database(t))
	file, err := a.firstKey(t.Context(), first, "", address)
	if err != nil || !works(first, file) {
		t.Fatalf("the first: %q, %v", file, err)
	}
	secret, _ := readKeyFile(file)
	if again, err := a.firstKey(t.Context(), first, "", address); err != nil || again != file {
		t.Errorf("again: %q, %v", again, err)
	}
	// Another backend on the same address: the key in the file is good for it, too.
	second := open(database(t))
	if got, err := a.firstKey(t.Context(), second, "", address); err != nil || got != file || !works(second, file) || !works(first, file) {
		t.Errorf("another backend: %q, %v", got, err)
	}
	// A backend with keys gets none for another address.
	if got, err := a.firstKey(t.Context(), first, "", "127.0.0.1:9"); err != nil || got != "" {
		t.Errorf("another address: %q, %v", got, err)
	}
	// A key that was revoked stays so.
	for k, err := range first.(apikey.Keeper).ListKeys(t.Context(), "") {
		if err == nil {
			_, err = first.(apikey.Keeper).UpdateKey(t.Context(), k.Workspace, k.ID, apikey.Update{RevokedAt: a.now()})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := a.firstKey(t.Context(), first, "", address); err != nil || got != "" {
		t.Errorf("after its revocation: %q, %v", got, err)
	}
	if got, _ := readKeyFile(file); got != secret {
		t.Error("the file was replaced")
	}
	// What is no key is left alone.
	if err := os.WriteFile(file, []byte("notes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := a.firstKey(t.Context(), open(database(t)), "", address); !errors.Is(err, memento.ErrInvalid) {
		t.Errorf("with a file that is no key: %q, %v", got, err)
	}
	if text, _ := os.ReadFile(file); string(text) != "notes\n" {
		t.Errorf("the file is now %q", text)
	}
}
