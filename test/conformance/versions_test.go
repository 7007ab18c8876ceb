package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestVersions(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		m := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a.md"), Content: new("one")}))(t)
		created := m.Version
		modified := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Content: new("two"), Path: new("/b.md")}))(t).Version
		must(w.client.DeleteMemory(ctx, s, m.ID, ""))(t)

		all := must(w.client.Versions(ctx, s, versionQuery{Memory: m.ID}))(t)
		if got := operations(all); !slices.Equal(got, []string{"deleted", "modified", "created"}) {
			t.Fatalf("operations %v, want newest first", got)
		}
		for i, want := range []version{
			{Path: "/b.md"}, {ID: modified, Path: "/b.md", SHA256: sum("two"), Size: 3}, {ID: created, Path: "/a.md", SHA256: sum("one"), Size: 3},
		} {
			v := all[i]
			if v.Type != "memory_version" || !strings.HasPrefix(v.ID, "memver_") || v.Memory != m.ID || v.Store != s ||
				v.Path != want.Path || v.SHA256 != want.SHA256 || v.Size != want.Size || want.ID != "" && v.ID != want.ID {
				t.Errorf("%s: %+v", v.Operation, v)
			}
			if v.CreatedBy.Type != "api_actor" || !strings.HasPrefix(v.CreatedBy.APIKeyID, "apikey_") || !v.Raw.null("content", "redacted_at", "redacted_by") {
				t.Errorf("%s: %+v", v.Operation, v)
			}
			if !v.Raw.has("content_sha256", "content_size_bytes", "path", "created_by") {
				t.Errorf("%s lacks members that may be null", v.Operation)
			}
		}
		if !all[0].Raw.null("content_sha256", "content_size_bytes") {
			t.Errorf("a deletion has contents: %+v", all[0])
		}

		if v := must(w.client.Version(ctx, s, modified, ""))(t); v.Content != "two" {
			t.Errorf("retrieved %+v", v)
		}
		if v := must(w.client.Version(ctx, s, modified, "basic"))(t); !v.Raw.null("content") || v.SHA256 != sum("two") {
			t.Errorf("retrieved with view=basic %+v", v)
		}
		if full := must(w.client.Versions(ctx, s, versionQuery{View: "full"}))(t); full[1].Content != "two" || full[2].Content != "one" || !full[0].Raw.null("content") {
			t.Errorf("listed with view=full: %+v", full)
		}
		_, err := w.client.Version(ctx, s, "memver_none", "")
		w.fails(t, err, 404, "not_found_error")
	})
}

func TestVersionFilters(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		// Three programs with one key: it acts for itself, for a session, for a service account.
		session := w.as("session/sesn_01")
		service := w.as("service_account/svac_01")
		a := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a"), Content: new("1")}))(t)
		b := must(session.CreateMemory(ctx, s, memoryParams{Path: new("/b"), Content: new("1")}))(t)
		var middle time.Time
		for i := range 30 {
			if i == 12 {
				middle = nextSecond()
			}
			must(session.UpdateMemory(ctx, s, a.ID, memoryParams{Content: new(fmt.Sprint("by the session ", i))}))(t)
		}
		must(service.UpdateMemory(ctx, s, b.ID, memoryParams{Content: new("by the service")}))(t)
		must(w.client.DeleteMemory(ctx, s, a.ID, ""))(t)

		all := must(w.client.Versions(ctx, s, versionQuery{Limit: 100}))(t)
		if len(all) != 34 {
			t.Fatalf("%d versions, want 34", len(all))
		}
		key := all[0].CreatedBy.APIKeyID
		for _, tt := range []struct {
			what  string
			query versionQuery
			keep  func(version) bool
		}{
			{"all", versionQuery{}, func(version) bool { return true }},
			{"a memory", versionQuery{Memory: a.ID}, func(v version) bool { return v.Memory == a.ID }},
			{"modifications", versionQuery{Operation: "modified"}, func(v version) bool { return v.Operation == "modified" }},
			{"deletions", versionQuery{Operation: "deleted"}, func(v version) bool { return v.Operation == "deleted" }},
			{"a session", versionQuery{Session: "sesn_01"}, func(v version) bool {
				return v.CreatedBy == actor{Type: "session_actor", SessionID: "sesn_01"}
			}},
			{"a key", versionQuery{APIKey: key}, func(v version) bool { return v.CreatedBy == actor{Type: "api_actor", APIKeyID: key} }},
			{"a service account", versionQuery{ServiceAccount: "svac_01"}, func(v version) bool {
				return v.CreatedBy == actor{Type: "service_account_actor", ServiceAccountID: "svac_01"}
			}},
			{"another session", versionQuery{Session: "sesn_02"}, func(version) bool { return false }},
			{"from a time", versionQuery{From: middle}, func(v version) bool { return !v.CreatedAt.Before(middle) }},
			{"to a time", versionQuery{To: middle}, func(v version) bool { return !v.CreatedAt.After(middle) }},
			{"several at once", versionQuery{Memory: a.ID, Session: "sesn_01", Operation: "modified", From: middle.In(time.FixedZone("", 3600))}, func(v version) bool {
				return v.Memory == a.ID && v.CreatedBy.SessionID == "sesn_01" && v.Operation == "modified" && !v.CreatedAt.Before(middle)
			}},
		} {
			want := versionIDs(slices.DeleteFunc(slices.Clone(all), func(v version) bool { return !tt.keep(v) }))
			for _, limit := range []int64{0, 7, 100} {
				tt.query.Limit = limit
				if got := versionIDs(must(w.client.Versions(ctx, s, tt.query))(t)); !slices.Equal(got, want) {
					t.Errorf("%s, %d a page: %d versions, want %d", tt.what, limit, len(got), len(want))
				}
			}
		}
		for _, tt := range []struct {
			view  string
			limit int64
			pages int
		}{{"", 0, 2}, {"basic", 100, 1}, {"full", 100, 2}} {
			pages := w.proxy.during(func() { must(w.client.Versions(ctx, s, versionQuery{View: tt.view, Limit: tt.limit}))(t) })
			if len(pages) != tt.pages {
				t.Errorf("view %q with limit %d: %d pages, want %d", tt.view, tt.limit, len(pages), tt.pages)
			}
		}
		_, err := w.client.Versions(ctx, s, versionQuery{Operation: "renamed"})
		w.fails(t, err, 400, "invalid_request_error")
	})
}

func TestRedaction(t *testing.T) {
	eachMajor(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		s := must(w.client.CreateStore(ctx, storeParams{Name: new("notes")}))(t).ID
		m := must(w.client.CreateMemory(ctx, s, memoryParams{Path: new("/a.md"), Content: new("one")}))(t)
		first := m.Version
		head := must(w.client.UpdateMemory(ctx, s, m.ID, memoryParams{Content: new("two")}))(t).Version

		before := must(w.client.Version(ctx, s, first, ""))(t)
		v := must(w.client.Redact(ctx, s, first))(t)
		if !v.Raw.null("content", "content_sha256", "content_size_bytes", "path") || v.RedactedAt.IsZero() || v.RedactedBy.Type != "api_actor" {
			t.Errorf("redacted: %+v", v)
		}
		if v.ID != first || v.Memory != m.ID || v.Operation != "created" || v.CreatedBy != before.CreatedBy || !v.CreatedAt.Equal(before.CreatedAt) {
			t.Errorf("redaction took more than the contents: %+v of %+v", v, before)
		}
		if again := must(w.client.Redact(ctx, s, first))(t); !again.RedactedAt.Equal(v.RedactedAt) || again.RedactedBy != v.RedactedBy {
			t.Errorf("redacted twice: %+v, want %+v", again, v)
		}
		if got := must(w.client.Version(ctx, s, first, "full"))(t); !got.Raw.null("content", "path") || !got.RedactedAt.Equal(v.RedactedAt) {
			t.Errorf("retrieved %+v", got)
		}

		// The present state of a living memory stays; afterwards everything can go.
		_, err := w.client.Redact(ctx, s, head)
		w.fails(t, err, 400, "invalid_request_error")
		must(w.client.DeleteMemory(ctx, s, m.ID, ""))(t)
		for _, v := range must(w.client.Versions(ctx, s, versionQuery{Memory: m.ID}))(t) {
			if r := must(w.client.Redact(ctx, s, v.ID))(t); !r.Raw.null("path") || r.RedactedAt.IsZero() {
				t.Errorf("%s: %+v", v.Operation, r)
			}
		}
		_, err = w.client.Redact(ctx, s, "memver_none")
		w.fails(t, err, 404, "not_found_error")
	})
}

func operations(versions []version) (all []string) {
	for _, v := range versions {
		all = append(all, v.Operation)
	}
	return all
}

func versionIDs(versions []version) (ids []string) {
	for _, v := range versions {
		ids = append(ids, v.ID)
	}
	return ids
}
