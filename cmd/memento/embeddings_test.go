package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento/test/embedservice"
	"memento/test/proctest"
)

// With a service of embeddings in the environment, "search" finds by meaning, and keeps the
// vectors for the next time. Without one, and when it is down, it finds by words.
func TestSearchByMeaning(t *testing.T) {
	data := dataHome(t)
	service := embedservice.Start(t)
	memento := func(args ...string) (string, string) {
		t.Helper()
		code, out, errs := runWith(t, "", append([]string{"--backend", "sqlite:" + filepath.Join(data, "m.db")}, args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit code %d, %s", args, code, errs)
		}
		return out, errs
	}
	note := filepath.Join(data, "garage.md")
	if err := os.WriteFile(note, []byte("The car needs new tyres."), 0o600); err != nil {
		t.Fatal(err)
	}
	memento("put", "/garage.md", note)
	if out, errs := memento("search", "automobile"); out != "" || len(service.Received()) > 0 {
		t.Errorf("without embeddings: %q, %q", out, errs)
	}

	t.Setenv("MEMENTO_EMBEDDINGS_URL", service.URL)
	t.Setenv("MEMENTO_EMBEDDINGS_API", "ollama")
	t.Setenv("MEMENTO_EMBEDDINGS_MODEL", "synonyms")
	// On a slow machine the query's vector may come too late, so that words alone decide.
	found := func() bool {
		out, _ := memento("search", "automobile")
		return strings.Contains(out, "/garage.md")
	}
	proctest.Until(t, "the memory is found by meaning", found)
	if got := service.Received(); len(got) < 2 || !strings.Contains(got[0].Text, "new tyres") {
		t.Errorf("received %v instead of the memory and the query", got)
	}
	proctest.Until(t, "it is found again", found)
	for _, text := range service.Received() {
		if text.Text != "automobile" {
			t.Errorf("received %q again", text.Text)
		}
	}
	service.Fail(503)
	if out, _ := memento("search", "tyres"); !strings.Contains(out, "/garage.md") {
		t.Errorf("the service is down: %q", out)
	}
	t.Setenv("MEMENTO_EMBEDDINGS_MODEL", "")
	if code, _, errs := runWith(t, "", "--backend", "sqlite:"+filepath.Join(data, "m.db"), "search", "tyres"); code != exitInvalid || !strings.Contains(errs, "name of a model") {
		t.Errorf("without a model: exit code %d, %s", code, errs)
	}
}
