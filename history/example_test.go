package history_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/history"
	"memento/sensitive"
)

// Every change stays in the history, and can be undone.
func ExampleRestoreVersion() {
	ctx := context.Background()
	store := memento.OpenNamed(memstore.New(nil), memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	by := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1"}

	for _, change := range []memento.Change{
		memento.Put{Path: "/prefs.md", Content: "tabs"},
		memento.Put{Path: "/prefs.md", Content: "spaces"},
		memento.Remove{Path: "/prefs.md"},
	} {
		if _, err := store.Apply(ctx, by, change); err != nil {
			log.Fatal(err)
		}
	}
	var first memento.VersionID
	for v, err := range store.Versions(ctx, memento.VersionListOptions{Path: "/prefs.md", Contents: true}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s by %s: %q\n", v.Operation, v.Path, v.CreatedBy, v.Content)
		first = v.ID // the last one seen is the oldest
	}
	path, _, err := history.RestoreVersion(ctx, store, by, first)
	if err != nil {
		log.Fatal(err)
	}
	memory, err := store.Get(ctx, memento.ByPath(path))
	fmt.Println(memory.Content, err)
	// Output:
	// deleted /prefs.md by session sesn_1: ""
	// modified /prefs.md by session sesn_1: "spaces"
	// created /prefs.md by session sesn_1: "tabs"
	// tabs <nil>
}

// A whole store goes back to a time, as one change.
func ExampleRestoreAsOf() {
	ctx := context.Background()
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	backend := memstore.New(&memstore.Options{Now: func() time.Time { return clock }})
	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}
	apply := func(changes ...memento.Change) {
		if _, err := store.Apply(ctx, by, changes...); err != nil {
			log.Fatal(err)
		}
	}

	apply(memento.Put{Path: "/plan.md", Content: "step 1"}, memento.Put{Path: "/facts.md", Content: "water is wet"})
	noon := clock
	clock = clock.Add(time.Hour)
	apply(memento.Put{Path: "/plan.md", Content: "gibberish"}, memento.Remove{Path: "/facts.md"}, memento.Put{Path: "/junk.md"})

	restored, err := history.RestoreAsOf(ctx, store, by, noon, false)
	fmt.Println("written", restored.Written, "removed", restored.Removed, err)
	for e, err := range store.List(ctx, memento.ListOptions{Contents: true}) {
		fmt.Println(e.Path, e.Memory.Content, err)
	}
	// Output:
	// written [/plan.md /facts.md] removed [/junk.md] <nil>
	// /facts.md water is wet <nil>
	// /plan.md step 1 <nil>
}
