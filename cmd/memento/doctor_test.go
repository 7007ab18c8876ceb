package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/backend/storeurl"
)

// What was written past the encryption is found, named, and decides the exit code.
func TestDoctorFindsTampering(t *testing.T) {
	dataHome(t)
	url := database(t)
	keys := filepath.Join(t.TempDir(), "keys.json")
	flags := []string{"--backend", url, "--encryption-keys", keys}
	for _, args := range [][]string{
		{"encryption", "init", keys},
		append(flags, "put", "/a.md"),
		append(flags, "put", "/b.md"),
		append(flags, "doctor"),
	} {
		if code, _, errs := runWith(t, "canary", args...); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
	}
	raw, err := storeurl.Open(t.Context(), url, &storeurl.Options{AsKept: true})
	if err != nil {
		t.Fatal(err)
	}
	for info, err := range raw.ListStores(t.Context(), memento.DefaultWorkspace, memento.StoreListOptions{}) {
		if err == nil {
			_, err = raw.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/a.md", Content: "forged"}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runWith(t, "", append(flags, "doctor")...)
	if code != exitStorage || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"fault: store memstore_", "cannot be decrypted", "       give the keys that it was encrypted with", "faults found\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	if strings.Contains(out, "canary") || strings.Contains(out, "/a.md") {
		t.Errorf("it says too much: %s", out)
	}
	code, out, _ = runWith(t, "", append(flags, "doctor", "--json")...)
	if code != exitStorage || !strings.Contains(out, `{"type":"memento_fault","memory_store_id":"memstore_`) || !strings.Contains(out, `"sound":false`) {
		t.Errorf("in JSON: exit code %d: %s", code, out)
	}
}

// One description that cannot be read is told, and the other stores are looked at.
func TestDoctorGoesOn(t *testing.T) {
	dataHome(t)
	file := filepath.Join(t.TempDir(), "m.db")
	flags := []string{"--backend", storeurl.SQLite(file)}
	for _, args := range [][]string{
		{"stores", "create", "first"},
		{"stores", "create", "second", "--metadata", "is=damaged"},
		{"stores", "create", "third"},
		{"put", "/a.md", "--store", "first"},
		{"put", "/b.md", "--store", "second"},
		{"put", "/c.md", "--store", "third"},
		{"doctor"},
	} {
		if code, _, errs := runWith(t, "text", append(flags, args...)...); code != exitOK {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(data, []byte(`"damaged"}`), []byte(`"damaged"]`)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runWith(t, "", append(flags, "doctor")...)
	if code != exitStorage || errs != "" {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{": its description cannot be read: ", "checked 3 stores with 3 memories (12B), 3 versions and 0 keys: 1 fault found\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
	if code, out, errs := runWith(t, "", append(flags, "doctor", "--store", "third")...); code != exitOK || !strings.Contains(out, "checked 1 store ") {
		t.Errorf("one of the others: exit code %d: %s%s", code, out, errs)
	}
	if code, _, errs := runWith(t, "", append(flags, "doctor", "--store", "second")...); code != exitMissing || !strings.Contains(errs, "such as that of memstore_") {
		t.Errorf("by its name: exit code %d: %s", code, errs)
	}
}
