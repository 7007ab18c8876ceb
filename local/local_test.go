package local_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"memento"
	"memento/local"
)

// A memory tool in a few lines.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	store, backend, err := local.Open(ctx, filepath.Join(dir, "memories.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	tool := memento.NewTool(store, nil)

	result := tool.Run(ctx, []byte(`{"command": "create", "path": "/memories/notes.md", "file_text": "Ship on Friday."}`))
	fmt.Println(result.Content)
	// Output: File created successfully at: /memories/notes.md
}

// What one process writes the next one reads, with secrets masked.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memories.db")
	store, backend, err := local.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "ghp_" + "x7Kq2mV9wLr4TzN8bYc1HdPf5sGj0aEu3RtW"
	put := memento.Put{Path: "/a.md", Content: "token: " + secret + "\n"}
	if _, err := store.Apply(t.Context(), memento.Actor{}, put); err != nil {
		t.Fatal(err)
	}
	if err := backend.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Get(t.Context(), memento.ByPath("/a.md")); !errors.Is(err, memento.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}

	store, backend, err = local.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	m, err := store.Get(t.Context(), memento.ByPath("/a.md"))
	if err != nil || !strings.HasPrefix(m.Content, "token: [REDACTED:") || strings.Contains(m.Content, secret) {
		t.Errorf("%q, %v", m.Content, err)
	}
	info, err := store.Info(t.Context())
	if err != nil || info.Name != "default" || info.Workspace != memento.DefaultWorkspace {
		t.Errorf("the store is %+v, %v", info, err)
	}
}

func TestOpenFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memories.db")
	if err := os.WriteFile(path, []byte("this is not a database, but a text of some length\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store, backend, err := local.Open(t.Context(), path)
	if !errors.Is(err, memento.ErrFormat) || store != nil || backend != nil {
		t.Errorf("%v, %v, %v; want ErrFormat", store, backend, err)
	}
}
