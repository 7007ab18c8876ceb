package memento_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"memento"
	"memento/backend/memstore"
	"memento/sensitive"
)

// What a tool_use block holds goes in, what its tool_result block holds comes out.
func ExampleTool_Run() {
	ctx := context.Background()
	backend := memstore.New(nil) // sqlitestore.Open keeps them in a file
	defer backend.Close()
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, &memento.ToolOptions{
		Actor: memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"},
	})

	for _, input := range []string{
		`{"command": "create", "path": "/memories/guidelines.md", "file_text": "Answer within a day.\nSign with a name.\n"}`,
		`{"command": "view", "path": "/memories/guidelines.md"}`,
		`{"command": "str_replace", "path": "/memories/guidelines.md", "old_str": "week", "new_str": "month"}`,
	} {
		result := tool.Run(ctx, []byte(input))
		fmt.Println(result.Content, result.IsError)
	}
	// Output:
	// File created successfully at: /memories/guidelines.md false
	// Here's the content of /memories/guidelines.md with line numbers:
	//      1	Answer within a day.
	//      2	Sign with a name. false
	// No replacement was performed, old_str `week` did not appear verbatim in /memories/guidelines.md. true
}

// RunBlock takes whole blocks, as they stand in a message of the Messages API.
func ExampleTool_RunBlock() {
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, nil)

	block := `{"type": "tool_use", "id": "toolu_01", "name": "memory", "input": {"command": "delete", "path": "/memories"}}`
	result := tool.RunBlock(context.Background(), []byte(block))
	answer, _ := json.Marshal(result) // it has nothing that JSON could not hold
	fmt.Println(string(answer))
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_01","content":"Error: Cannot delete the /memories directory itself","is_error":true}
}

// Go programs need no JSON. The error's text is what the agent would read, and
// errors.Is tells why.
func ExampleTool() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	tool := memento.NewTool(store, nil)

	if _, err := tool.Create(ctx, "/memories/log.md", "started\n"); err != nil {
		log.Fatal(err)
	}
	if _, err := tool.Insert(ctx, "/memories/log.md", 1, "tests pass"); err != nil {
		log.Fatal(err)
	}
	if _, err := tool.Rename(ctx, "/memories/log.md", "/memories/done/log.md"); err != nil {
		log.Fatal(err)
	}
	text, err := tool.View(ctx, "/memories")
	fmt.Println(text, err)
	_, err = tool.View(ctx, "/memories/log.md")
	fmt.Println(err)
	fmt.Println(errors.Is(err, memento.ErrNotExist))
	// Output:
	// Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:
	// 19B	/memories
	// 19B	/memories/done/
	// 19B	/memories/done/log.md <nil>
	// The path /memories/log.md does not exist. Please provide a valid path.
	// true
}

// However many edit at once, nobody's edit is lost.
func ExampleStore_Edit() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}

	if _, err := store.Apply(ctx, by, memento.Put{Path: "/todo.md", Content: "[ ] tests\n"}); err != nil {
		log.Fatal(err)
	}
	// The function may be called again, with what another has written meanwhile.
	edited, err := store.Edit(ctx, by, "/todo.md", func(old string) (string, error) {
		return strings.Replace(old, "[ ] tests", "[x] tests", 1), nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(edited.Memory.Content)
	// Output:
	// [x] tests
}

// Several changes happen wholly or not at all.
func ExampleStore_Apply() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}

	_, err := store.Apply(ctx, by,
		memento.Put{Path: "/notes/a.md", Content: "a"},
		memento.Put{Path: "/notes/b.md", Content: "b", If: memento.IfAbsent()},
		memento.Move{From: "/notes", To: "/archive"},
		memento.Remove{Path: "/none.md"},
	)
	fmt.Println(err, errors.Is(err, memento.ErrNotExist))
	for range store.List(ctx, memento.ListOptions{}) {
		fmt.Println("something was written")
	}
	// Output:
	// remove /none.md: does not exist true
}

// A directory's listing can be rolled up, and read page by page.
func ExampleStore_List() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	for _, p := range []memento.Path{"/a.md", "/notes/x.md", "/notes/y.md", "/z.md"} {
		if _, err := store.Apply(ctx, memento.Actor{}, memento.Put{Path: p, Content: "12345"}); err != nil {
			log.Fatal(err)
		}
	}
	after := ""
	for {
		n := 0
		for e, err := range store.List(ctx, memento.ListOptions{Depth: 1, After: after, Limit: 2}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(e.Path, e.Dir, e.Usage.Bytes)
			after = e.Cursor()
			n++
		}
		if n < 2 {
			break
		}
		fmt.Println("next page")
	}
	// Output:
	// /a.md false 5
	// /notes true 10
	// next page
	// /z.md false 5
}

func ExampleParsePath() {
	for _, s := range []string{"/notes/a.md", "notes/a.md", "/notes/../a.md"} {
		p, err := memento.ParsePath(s)
		fmt.Printf("%q %v\n", p, err)
	}
	// Output:
	// "/notes/a.md" <nil>
	// "" invalid path "notes/a.md": it does not start with a slash
	// "" invalid path "/notes/../a.md": "." and ".." are not allowed as names
}
