package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/mcpserver"
	"memento/test/memories"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestResources(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			store := newStore("default")
			const files = 250
			for i := range files {
				memories.Put(t, store, memento.Path(fmt.Sprintf("/notes/%03d é%%.md", i)), fmt.Sprint("text ", i))
			}
			memories.Put(t, store, "/.hidden", "x")
			session := connect(t, newServer(t, store, mcpserver.Options{}), era, nil)
			seen := map[string]bool{}
			for cursor, pages := "", 0; ; pages++ {
				page, err := session.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: cursor})
				if err != nil {
					t.Fatal(err)
				}
				if page.CacheScope != "private" || page.TTLMs != 0 {
					t.Errorf("a page may be kept %d ms, %s", page.TTLMs, page.CacheScope)
				}
				if len(page.Resources) > 100 || pages > 3 {
					t.Fatalf("page %d has %d resources", pages, len(page.Resources))
				}
				for _, r := range page.Resources {
					seen[r.URI] = true
				}
				if cursor = page.NextCursor; cursor == "" {
					break
				}
			}
			if len(seen) != files+1 || !seen["memory:///memories/"] || !seen["memory:///memories/notes/007%20%C3%A9%25.md"] {
				t.Errorf("%d resources are listed", len(seen))
			}
			got, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory:///memories/notes/007%20%C3%A9%25.md"})
			if err != nil || got.Contents[0].Text != "text 7" || got.Contents[0].MIMEType != "text/markdown" {
				t.Errorf("the file is %+v, %v", got, err)
			}
			got, err = session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "memory:///memories/"})
			if err != nil || !strings.Contains(got.Contents[0].Text, "/memories/notes") {
				t.Errorf("the folder is %+v, %v", got, err)
			}
			for _, uri := range []string{"memory:///memories/none", "memory:///memories/notes", "memory:///etc/passwd", "memory:///memories/../x", "file:///etc/passwd", "memory://host/memories/a"} {
				_, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != jsonrpc.CodeInvalidParams {
					t.Errorf("%s: %v; want error %d", uri, err, jsonrpc.CodeInvalidParams)
				}
			}
			if _, err := session.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "nonsense"}); err == nil {
				t.Error("a cursor that is none was accepted")
			}
			templates, err := session.ListResourceTemplates(t.Context(), nil)
			if err != nil || len(templates.ResourceTemplates) != 1 {
				t.Errorf("the templates are %+v, %v", templates, err)
			}
		})
	}
}

// notices are the notifications that a client gets.
type notices struct{ updated, listed chan string }

func newNotices() (n notices, opts *mcp.ClientOptions) {
	n = notices{make(chan string, 100), make(chan string, 100)}
	return n, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			n.updated <- req.Params.URI
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { n.listed <- "" },
	}
}

// expect makes changes until there is a notification with a URI: a client of the newest
// version does not say when its subscription has begun.
func expect(t *testing.T, from chan string, uri string, change func(n int)) {
	t.Helper()
	deadline := time.After(time.Minute)
	for n := 0; ; n++ {
		change(n)
		again := time.After(200 * time.Millisecond)
		for waiting := true; waiting; {
			select {
			case got := <-from:
				if got == uri {
					return
				}
			case <-again:
				waiting = false
			case <-deadline:
				t.Fatalf("no notification of %q", uri)
			}
		}
	}
}

// A client learns of what somebody else writes, in both eras.
func TestNotifications(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			store := newStore("default")
			memories.Put(t, store, "/notes/a.md", "1")
			n, opts := newNotices()
			session := connect(t, newServer(t, store, mcpserver.Options{Poll: 5 * time.Millisecond}), era, opts)
			const file, folder = "memory:///memories/notes/a.md", "memory:///memories/notes/"
			for _, uri := range []string{file, folder} {
				if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := session.ListResources(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			write := func(n int) { edit(t, store, "/notes/a.md", fmt.Sprint("text ", n)) }
			create := func(n int) { memories.Put(t, store, memento.Path(fmt.Sprintf("/notes/b%d.md", n)), "new") }
			expect(t, n.updated, file, write)
			expect(t, n.updated, folder, write)
			expect(t, n.listed, "", create)
		})
	}
}

// edit replaces a memory's text, as another program does.
func edit(t *testing.T, store *memento.Store, p memento.Path, text string) {
	t.Helper()
	if _, err := store.Edit(t.Context(), memento.Actor{}, p, func(string) (string, error) { return text, nil }); err != nil {
		t.Fatal(err)
	}
}
