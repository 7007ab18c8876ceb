package storetest

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"testing"
	"time"

	"memento"
)

func lifetime(t *testing.T, h Harness) {
	h.run(t, "closed", closedBackend)
	h.run(t, "cancelled before", cancelledBefore)
	h.run(t, "cancelled meanwhile", cancelledMeanwhile)
	h.run(t, "cancelled listing", cancelledListing)
}

// sampleVersion returns a version that can be imported.
func sampleVersion() memento.Version {
	return memento.Version{
		ID: "memver_sample", Memory: "mem_sample", Operation: memento.Created, Path: "/sample",
		Content: "text", SHA256: memento.HashContent("text"), Size: 4,
		CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// storeMethods calls every method that takes a store's ID, the one that deletes
// the store last, and yields their names and errors.
func storeMethods(ctx context.Context, b memento.Backend, id memento.StoreID) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var errs []error
		call := func(name string, f func() error) bool {
			err := f()
			errs = append(errs, err)
			return yield(name, err)
		}
		_ = call("GetStore", func() error { _, err := b.GetStore(ctx, workspace, id); return err }) &&
			call("UpdateStore", func() error {
				_, err := b.UpdateStore(ctx, workspace, id, memento.StoreUpdate{Description: new("x")})
				return err
			}) &&
			call("Get", func() error { _, err := b.Get(ctx, id, memento.ByPath("/a")); return err }) &&
			call("Get by ID", func() error { _, err := b.Get(ctx, id, memento.ByID("mem_x")); return err }) &&
			call("List", func() error { return firstError(b.List(ctx, id, memento.ListOptions{})) }) &&
			call("List rolled up", func() error { return firstError(b.List(ctx, id, memento.ListOptions{Depth: 2, Limit: 3})) }) &&
			call("Put", func() error {
				_, err := b.Apply(ctx, id, memento.Actor{}, []memento.Change{memento.Put{Path: "/late", Content: "x"}})
				return err
			}) &&
			call("Apply nothing", func() error { _, err := b.Apply(ctx, id, memento.Actor{}, nil); return err }) &&
			call("Import", func() error { return b.Import(ctx, id, []memento.Version{sampleVersion()}) }) &&
			call("GetVersion", func() error { _, err := b.GetVersion(ctx, id, "memver_x"); return err }) &&
			call("ListVersions", func() error { return firstError(b.ListVersions(ctx, id, memento.VersionListOptions{})) }) &&
			call("Redact", func() error { _, err := b.Redact(ctx, id, "memver_x", memento.Actor{}); return err }) &&
			call("Search", func() error {
				s, ok := b.(memento.Searcher)
				if !ok {
					return errs[0] // there is nothing to call
				}
				_, err := s.Search(ctx, id, memento.SearchOptions{Query: "x"})
				return err
			}) &&
			call("DeleteStore", func() error { return b.DeleteStore(ctx, workspace, id) })
	}
}

func firstError[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func closedBackend(e *env) {
	e.put("/a", "x")
	b, err := e.h.Open(e.Context(), e.TempDir())
	if err != nil {
		e.Fatal(err)
	}
	info, err := b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		e.Fatal(err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			e.Errorf("Close: %v", err)
		}
	}
	for name, err := range storeMethods(e.Context(), b, info.ID) {
		wantError(e, name, err, memento.ErrClosed)
	}
	_, err = b.CreateStore(e.Context(), workspace, memento.StoreSpec{Name: "late"})
	wantError(e, "CreateStore", err, memento.ErrClosed)
	wantError(e, "ListStores", firstError(b.ListStores(e.Context(), workspace, memento.StoreListOptions{})), memento.ErrClosed)
	if m, ok := b.(memento.ReadMarker); ok {
		m.MarkRead(info.ID, "mem_x") // must not panic
	}
}

func cancelledBefore(e *env) {
	e.put("/a", "x")
	doomed := e.newStore(memento.StoreSpec{Name: "doomed"})
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	for name, err := range storeMethods(ctx, e.b, doomed) {
		wantError(e, name, err, context.Canceled)
	}
	_, err := e.b.CreateStore(ctx, workspace, memento.StoreSpec{Name: "late"})
	wantError(e, "CreateStore", err, context.Canceled)
	wantError(e, "ListStores", firstError(e.b.ListStores(ctx, workspace, memento.StoreListOptions{})), context.Canceled)

	expired, cancel := context.WithDeadline(e.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	_, err = e.b.Get(expired, e.store, memento.ByPath("/a"))
	wantError(e, "Get", err, context.DeadlineExceeded)
}

// cancelledMeanwhile cancels writes at many moments. Each must have happened wholly or
// not at all, and one without an error must have happened.
func cancelledMeanwhile(e *env) {
	const files = 50
	dir := func(n int) memento.Path { return memento.Root.Join([]string{"even", "odd"}[n%2]) }
	var puts []memento.Change
	for i := range files {
		puts = append(puts, memento.Put{Path: dir(0).Join(strconv.Itoa(i)), Content: "x"})
	}
	e.apply(puts...)
	at := 0
	for i := range 40 {
		ctx, cancel := context.WithTimeout(e.Context(), time.Duration(i)*25*time.Microsecond)
		_, err := e.b.Apply(ctx, e.store, e.by, []memento.Change{memento.Move{From: dir(at), To: dir(at + 1)}})
		cancel()
		e.put("/fence", strconv.Itoa(i)) // after all writes that may still be running
		here := len(e.list(memento.ListOptions{Dir: dir(at)}))
		there := len(e.list(memento.ListOptions{Dir: dir(at + 1)}))
		switch {
		case err == nil && here == 0 && there == files:
			at++
		case err != nil && here == 0 && there == files:
			wantError(e, "Apply", err, context.DeadlineExceeded)
			at++
		case err != nil && here == files && there == 0:
			wantError(e, "Apply", err, context.DeadlineExceeded)
		default:
			e.Fatalf("Apply returned %v and left %d memories at the old path and %d at the new", err, here, there)
		}
	}
}

func cancelledListing(e *env) {
	var paths []memento.Path
	for i := range 100 {
		paths = append(paths, memento.Path(fmt.Sprintf("/%03d", i)))
	}
	e.fill(paths...)
	ctx, cancel := context.WithCancel(e.Context())
	defer cancel()
	var last error
	n := 0
	for _, err := range e.b.List(ctx, e.store, memento.ListOptions{}) {
		n++
		last = err
		cancel()
	}
	// Entries that were read already may still be yielded, but an end without an error
	// means that the listing is complete.
	if n < len(paths) {
		wantError(e, "List", last, context.Canceled)
	}
	e.put("/after", "still works")
}
