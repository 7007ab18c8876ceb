package conformance

import (
	"net/http"
	"strings"
	"testing"
)

func TestAuthentication(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		m := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a.md"), Content: new("one")}))(t)

		_, err := w.with("sk-memento-wrong").Store(ctx, s)
		w.fails(t, err, 401, "authentication_error")

		reader := w.with(w.newKey(t, "default", "read"))
		if got := must(reader.Memory(ctx, s, m.ID, ""))(t); got.Content != "one" {
			t.Errorf("a key that may read reads %q", got.Content)
		}
		_, err = reader.CreateMemory(ctx, s, memoryParams{Path: new("/b.md"), Content: new("b")})
		w.fails(t, err, 403, "permission_error")
		_, err = reader.DeleteStore(ctx, s)
		w.fails(t, err, 403, "permission_error")

		// Nothing of another workspace is there.
		stranger := w.with(w.newKey(t, "other", "admin"))
		if all := must(stranger.Stores(ctx, storeQuery{}))(t); len(all) != 0 {
			t.Errorf("another workspace sees %v", storeNames(all))
		}
		own := must(stranger.CreateStore(ctx, storeParams{Name: new("own")}))(t).ID
		for _, call := range []func() error{
			func() error { _, err := stranger.Store(ctx, s); return err },
			func() error { _, err := stranger.UpdateStore(ctx, s, storeParams{Name: new("mine")}); return err },
			func() error { _, err := stranger.ArchiveStore(ctx, s); return err },
			func() error { _, err := stranger.DeleteStore(ctx, s); return err },
			func() error { _, err := stranger.Memories(ctx, s, memoryQuery{}); return err },
			func() error { _, err := stranger.Memory(ctx, s, m.ID, ""); return err },
			func() error { _, err := stranger.Memory(ctx, own, m.ID, ""); return err },
			func() error { _, err := stranger.DeleteMemory(ctx, own, m.ID, ""); return err },
			func() error { _, err := stranger.Versions(ctx, s, versionQuery{}); return err },
			func() error { _, err := stranger.Version(ctx, own, m.Version, ""); return err },
			func() error { _, err := stranger.Redact(ctx, own, m.Version); return err },
		} {
			w.fails(t, call(), 404, "not_found_error")
		}
		_, err = w.client.CreateStore(ctx, storeParams{Name: new("there"), Workspace: "other"})
		w.fails(t, err, 403, "permission_error")
	})
}

// What tells the majors apart on the wire, so that it is known what the server is
// tested with.
func TestMajorsSend(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		passed := w.proxy.during(func() {
			must(w.client.Stores(t.Context(), storeQuery{Limit: 7}))(t)
		})
		sent := passed[0].sent
		got := major{
			version: sent.Get("Anthropic-Version"), bearer: sent.Get("Authorization") == "Bearer "+w.key,
			beta: strings.Contains(passed[0].query, "beta=true"),
		}
		if got.version != w.major.version || got.bearer != w.major.bearer || got.beta != w.major.beta ||
			!got.bearer && sent.Get("X-Api-Key") != w.key || sent.Get("Anthropic-Beta") != "agent-memory-2026-07-22" {
			t.Errorf("sent %v with the query %s", sent, passed[0].query)
		}
	})
}

// The SDK's errors tell which workspace a key belongs to.
func TestErrorsNameTheWorkspace(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		_, err := w.client.Store(t.Context(), "memstore_none")
		w.fails(t, err, 404, "not_found_error")
		if f, _ := w.client.Failure(err); f.Workspace != "default" {
			t.Errorf("workspace %q, want default", f.Workspace)
		}
	})
}

func TestBadRequests(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		many := map[string]any{}
		for i := range 17 {
			many["key "+strings.Repeat("x", i)] = ""
		}
		for _, p := range []storeParams{
			{Name: new("")}, {Name: new(strings.Repeat("x", 256))}, {Name: new("a\nb")},
			{Name: new("x"), Description: new(strings.Repeat("x", 1025))},
			{Name: new("x"), Metadata: many},
			{Name: new("x"), Metadata: map[string]any{"": "x"}},
			{Name: new("x"), Metadata: map[string]any{strings.Repeat("k", 65): "x"}},
			{Name: new("x"), Metadata: map[string]any{"k": strings.Repeat("x", 513)}},
			{Name: new("x"), Metadata: map[string]any{"k": 1}},
		} {
			_, err := w.client.CreateStore(ctx, p)
			w.fails(t, err, 400, "invalid_request_error")
			_, err = w.client.UpdateStore(ctx, s, p)
			w.fails(t, err, 400, "invalid_request_error")
		}
		// Limits count characters, not bytes.
		must(w.client.CreateStore(ctx, storeParams{
			Name: new(strings.Repeat("é", 255)), Description: new(strings.Repeat("世", 1024)),
			Metadata: map[string]any{strings.Repeat("ä", 64): strings.Repeat("ü", 512)},
		}))(t)
		// IDs that no server made, some of which do not even name a resource.
		for _, id := range []string{"memstore_none", "a/b", "a/../b", "%2e%2e", "?", "x y", "é", strings.Repeat("x", 3000)} {
			_, err := w.client.Store(ctx, id)
			w.fails(t, err, 404, "not_found_error")
			_, err = w.client.Memory(ctx, s, id, "")
			w.fails(t, err, 404, "not_found_error")
		}
		// An empty ID is refused by the SDK for Go itself; the other one asks for it.
		_, err := w.client.Memory(ctx, "", "", "")
		if _, answered := w.client.Failure(err); answered {
			w.fails(t, err, 404, "not_found_error")
		} else if err == nil {
			t.Error("there is a memory without an ID")
		}
		_, err = w.client.CreateMemory(ctx, s, memoryParams{Path: new("/huge"), Content: new(strings.Repeat("x", 5<<20))})
		w.fails(t, err, 413, "request_too_large")
	})
}

// What failed for good is not tried again; what was lost on the way is, and ends well.
func TestRetries(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		one := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a.md"), Content: new("one")}))(t)
		two := must(w.client.UpdateMemory(ctx, s, one.ID, memoryParams{Content: new("two")}))(t)
		for what, call := range map[string]func() error{
			"a path conflict":                func() error { return w.create(s)("/a.md") },
			"a stale update":                 func() error { return w.stale(s, one) },
			"a stale deletion":               func() error { _, err := w.client.DeleteMemory(ctx, s, one.ID, one.SHA256); return err },
			"a path conflict on a rename":    func() error { return w.rename(s, one.ID)("/a.md/b") },
			"something that does not exist":  func() error { _, err := w.client.Store(ctx, "memstore_none"); return err },
			"something that is not readable": func() error { return w.create(s)("no path") },
		} {
			passed := w.proxy.during(func() {
				if call() == nil {
					t.Errorf("%s: no error", what)
				}
			})
			if len(passed) != 1 || passed[0].sent.Get("X-Stainless-Retry-Count") != "0" {
				t.Errorf("%s was asked for %d times", what, len(passed))
			}
		}

		// An update whose answer is lost is repeated, and is no conflict with itself.
		w.proxy.loseAnswer(http.MethodPost, "/memories/"+one.ID)
		var three memory
		passed := w.proxy.during(func() {
			three = must(w.client.UpdateMemory(ctx, s, one.ID, memoryParams{Content: new("three"), IfSHA256: two.SHA256}))(t)
		})
		if len(passed) != 2 || !passed[0].lost || passed[1].sent.Get("X-Stainless-Retry-Count") != "1" || three.SHA256 != sum("three") {
			t.Errorf("after %d requests: %+v", len(passed), three)
		}
		if all := must(w.client.Versions(ctx, s, versionQuery{Memory: one.ID}))(t); len(all) != 3 || all[0].ID != three.Version {
			t.Errorf("the repeated update left %d versions, want 3", len(all))
		}

		// So is a deletion, which then finds nothing.
		w.proxy.loseAnswer(http.MethodDelete, "/memories/"+one.ID)
		_, err := w.client.DeleteMemory(ctx, s, one.ID, three.SHA256)
		w.fails(t, err, 404, "not_found_error")

		// Most majors repeat a creation, too, and learn which memory is in their way: their own.
		w.proxy.loseAnswer(http.MethodPost, "/memories")
		passed = w.proxy.during(func() {
			_, err = w.client.CreateMemory(ctx, s, memoryParams{Path: new("/b.md"), Content: new("b")})
		})
		all := must(w.client.Memories(ctx, s, memoryQuery{}))(t)
		if len(all) != 1 || all[0].Path != "/b.md" {
			t.Fatalf("after a creation whose answer was lost there are %q", itemPaths(all))
		}
		switch {
		case !w.major.repeatsCreate && (err == nil || len(passed) != 1):
			t.Errorf("a creation was tried %d times: %v", len(passed), err)
		case w.major.repeatsCreate:
			if d := w.fails(t, err, 409, "memory_path_conflict_error"); d.id != all[0].ID || len(passed) != 2 {
				t.Errorf("after %d requests %q is in the way, want %q", len(passed), d.id, all[0].ID)
			}
		}
	})
}

func (w *world) stale(store string, m memory) error {
	_, err := w.client.UpdateMemory(w.ctx, store, m.ID, memoryParams{Content: new("stale"), IfSHA256: m.SHA256})
	return err
}
