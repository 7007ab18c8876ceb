package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStores(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		made := must(w.client.CreateStore(ctx, storeParams{
			Name: new("Team notes"), Description: new("What the team knows."),
			Metadata: map[string]any{"team": "billing", "tier": "gold"},
		}))(t)
		if made.Type != "memory_store" || !strings.HasPrefix(made.ID, "memstore_") || made.Name != "Team notes" ||
			made.Description != "What the team knows." || !made.ArchivedAt.IsZero() || made.CreatedAt.IsZero() ||
			!made.UpdatedAt.Equal(made.CreatedAt) ||
			!maps.Equal(made.Metadata, map[string]string{"team": "billing", "tier": "gold"}) {
			t.Errorf("made %+v", made)
		}
		if !made.Raw.null("archived_at") {
			t.Errorf("archived_at is %s, want null", made.Raw["archived_at"])
		}

		bare := must(w.client.CreateStore(ctx, storeParams{Name: new("Team notes")}))(t)
		if bare.ID == made.ID || bare.Description != "" || len(bare.Metadata) != 0 || !bare.Raw.has("description", "metadata") {
			t.Errorf("without a description and metadata: %+v", bare)
		}

		if got := must(w.client.Store(ctx, made.ID))(t); !sameStore(got, made) {
			t.Errorf("retrieved %+v, want %+v", got, made)
		}

		// Metadata is a patch; what is left out stays; "" clears the description.
		updated := must(w.client.UpdateStore(ctx, made.ID, storeParams{
			Description: new(""), Metadata: map[string]any{"team": "payments", "tier": nil, "region": "eu"},
		}))(t)
		if updated.Name != "Team notes" || updated.Description != "" || !updated.UpdatedAt.After(made.UpdatedAt) ||
			!maps.Equal(updated.Metadata, map[string]string{"team": "payments", "region": "eu"}) {
			t.Errorf("updated to %+v", updated)
		}
		renamed := must(w.client.UpdateStore(ctx, made.ID, storeParams{Name: new("Notes"), Workspace: "default"}))(t)
		if renamed.Name != "Notes" || !maps.Equal(renamed.Metadata, updated.Metadata) {
			t.Errorf("renamed to %+v", renamed)
		}
		if same := must(w.client.UpdateStore(ctx, made.ID, storeParams{}))(t); !sameStore(same, renamed) {
			t.Errorf("an empty update made %+v of %+v", same, renamed)
		}

		archived := must(w.client.ArchiveStore(ctx, made.ID))(t)
		if archived.ArchivedAt.IsZero() || !archived.UpdatedAt.After(renamed.UpdatedAt) {
			t.Errorf("archived: %+v", archived)
		}
		if again := must(w.client.ArchiveStore(ctx, made.ID))(t); !sameStore(again, archived) {
			t.Errorf("archived twice: %+v, want %+v", again, archived)
		}

		gone := must(w.client.DeleteStore(ctx, made.ID))(t)
		if gone.ID != made.ID || gone.Type != "memory_store_deleted" {
			t.Errorf("deleted: %+v", gone)
		}
		_, err := w.client.Store(ctx, made.ID)
		w.fails(t, err, 404, "not_found_error")
		_, err = w.client.DeleteStore(ctx, made.ID)
		w.fails(t, err, 404, "not_found_error")
	})
}

func TestStoresAreListed(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		const n = 105 // more than the largest page
		var made []store
		var between time.Time
		for i := range n {
			if i == 100 {
				between = nextSecond()
			}
			made = append(made, must(w.client.CreateStore(ctx, storeParams{Name: new(fmt.Sprint("store ", i))}))(t))
		}
		slices.Reverse(made) // newest first
		for _, tt := range []struct {
			limit int64
			pages int
		}{{0, 6}, {100, 2}, {35, 3}} {
			var all []store
			pages := w.proxy.during(func() { all = must(w.client.Stores(ctx, storeQuery{Limit: tt.limit}))(t) })
			if !slices.EqualFunc(all, made, sameStore) {
				t.Errorf("with limit %d: %d stores %v, want all %d, newest first", tt.limit, len(all), storeNames(all), n)
			}
			if len(pages) != tt.pages {
				t.Errorf("with limit %d: %d pages, want %d", tt.limit, len(pages), tt.pages)
			}
		}

		if after := must(w.client.Stores(ctx, storeQuery{From: between}))(t); !slices.EqualFunc(after, made[:5], sameStore) {
			t.Errorf("from a time: %v, want the last 5", storeNames(after))
		}
		if before := must(w.client.Stores(ctx, storeQuery{To: between, Limit: 100}))(t); !slices.EqualFunc(before, made[5:], sameStore) {
			t.Errorf("to a time: %v, want the first 100", storeNames(before))
		}
		if none := must(w.client.Stores(ctx, storeQuery{From: time.Now().Add(time.Hour)}))(t); len(none) != 0 {
			t.Errorf("of the future: %v", storeNames(none))
		}

		archived := must(w.client.ArchiveStore(ctx, made[0].ID))(t)
		if left := must(w.client.Stores(ctx, storeQuery{Limit: 100}))(t); !slices.EqualFunc(left, made[1:], sameStore) {
			t.Errorf("after one was archived: %v", storeNames(left))
		}
		made[0] = archived
		if all := must(w.client.Stores(ctx, storeQuery{Limit: 100, IncludeArchived: true}))(t); !slices.EqualFunc(all, made, sameStore) {
			t.Errorf("archived ones included: %v", storeNames(all))
		}
		_, err := w.client.Stores(ctx, storeQuery{Limit: 101})
		w.fails(t, err, 400, "invalid_request_error")
	})
}

// An archived store takes nothing new; it can be read, cleared and deleted.
func TestArchivedStore(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("old")}))(t)
		m := must(w.client.CreateMemory(ctx, s.ID, memoryParams{Path: new("/a.md"), Content: new("one")}))(t)
		first := m.Version
		m = must(w.client.UpdateMemory(ctx, s.ID, m.ID, memoryParams{Content: new("two")}))(t)
		must(w.client.ArchiveStore(ctx, s.ID))(t)

		_, err := w.client.UpdateStore(ctx, s.ID, storeParams{Name: new("new")})
		w.fails(t, err, 400, "invalid_request_error")
		_, err = w.client.CreateMemory(ctx, s.ID, memoryParams{Path: new("/b.md"), Content: new("b")})
		w.fails(t, err, 400, "invalid_request_error")
		_, err = w.client.UpdateMemory(ctx, s.ID, m.ID, memoryParams{Content: new("three")})
		w.fails(t, err, 400, "invalid_request_error")

		if got := must(w.client.Memory(ctx, s.ID, m.ID, ""))(t); got.Content != "two" {
			t.Errorf("reads %q", got.Content)
		}
		if all := must(w.client.Memories(ctx, s.ID, memoryQuery{}))(t); len(all) != 1 {
			t.Errorf("lists %v", all)
		}
		if r := must(w.client.Redact(ctx, s.ID, first))(t); r.RedactedAt.IsZero() {
			t.Errorf("redacted: %+v", r)
		}
		must(w.client.DeleteMemory(ctx, s.ID, m.ID, ""))(t)
		if got := must(w.client.Versions(ctx, s.ID, versionQuery{}))(t); len(got) != 3 {
			t.Errorf("%d versions, want 3", len(got))
		}
		must(w.client.DeleteStore(ctx, s.ID))(t)
	})
}

func sameStore(a, b store) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Description == b.Description && maps.Equal(a.Metadata, b.Metadata) &&
		a.CreatedAt.Equal(b.CreatedAt) && a.UpdatedAt.Equal(b.UpdatedAt) && a.ArchivedAt.Equal(b.ArchivedAt)
}

func storeNames(stores []store) (names []string) {
	for _, s := range stores {
		names = append(names, s.Name)
	}
	return names
}

// nextSecond waits for the next whole second: the Go SDK sends the times of its
// filters without a fraction.
func nextSecond() time.Time {
	next := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(next))
	return next
}
