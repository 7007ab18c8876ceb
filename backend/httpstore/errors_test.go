package httpstore_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/apikey"
	"memento/backend/httpstore"
)

// TestErrorsAreThoseOfTheBackend makes the same mistakes on a server and on its
// backend: the errors must be the same, in type, path and text.
func TestErrorsAreThoseOfTheBackend(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	ctx := t.Context()
	direct, err := memento.OpenStore(ctx, w.behind, "team", w.store, &memento.StoreOptions{Detector: planted{}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := direct.Apply(ctx, ann, memento.Put{Path: "/a.md", Content: "one"}, memento.Put{Path: "/dir/b.md", Content: "two"}, memento.Put{Path: "/fixed.md"})
	if err != nil {
		t.Fatal(err)
	}
	head := r.Versions[0].ID
	settings := memento.DefaultSettings()
	settings.ReadOnly = []memento.Pattern{"/fixed.md"}
	settings.Sensitive.Mode = memento.Reject
	u := memento.StoreUpdate{Settings: &settings, Limits: &memento.Limits{MemoryBytes: 100, Memories: 4, PathDepth: 3}}
	if _, err := w.behind.UpdateStore(ctx, "team", w.store, u); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 101)
	other := "else"
	apply := func(b memento.Memories, changes ...memento.Change) error {
		_, err := b.Apply(ctx, w.store, ann, changes)
		return err
	}
	// On the backend itself, a Store stands for what the server does.
	for name, call := range map[string]func(b memento.Backend) error{
		"path":      func(b memento.Backend) error { return apply(b, memento.Put{Path: "/a//b"}) },
		"root":      func(b memento.Backend) error { return apply(b, memento.Remove{Path: "/"}) },
		"not UTF-8": func(b memento.Backend) error { return apply(b, memento.Put{Path: "/c.md", Content: "\xff"}) },
		"odd path":  func(b memento.Backend) error { return apply(b, memento.Put{Path: "/\xff"}) },
		"exists":    func(b memento.Backend) error { return apply(b, memento.Put{Path: "/a.md", If: memento.IfAbsent()}) },
		"conflict": func(b memento.Backend) error {
			return apply(b, memento.Put{Path: "/a.md", If: memento.IfVersion("memver_x")})
		},
		"hash": func(b memento.Backend) error {
			return apply(b, memento.Remove{Path: "/a.md", If: memento.IfSHA256("x")})
		},
		"directory":    func(b memento.Backend) error { return apply(b, memento.Put{Path: "/dir"}) },
		"no directory": func(b memento.Backend) error { return apply(b, memento.Put{Path: "/a.md/x"}) },
		"absent":       func(b memento.Backend) error { return apply(b, memento.Remove{Path: "/none"}) },
		"move":         func(b memento.Backend) error { return apply(b, memento.Move{From: "/a.md", To: "/dir/b.md"}) },
		"move content": func(b memento.Backend) error { return apply(b, memento.Move{From: "/dir", To: "/x", Content: &other}) },
		"protected":    func(b memento.Backend) error { return apply(b, memento.Put{Path: "/fixed.md", Content: "x"}) },
		"long":         func(b memento.Backend) error { return apply(b, memento.Put{Path: "/c.md", Content: long}) },
		"long, second": func(b memento.Backend) error {
			return apply(b, memento.Remove{Path: "/none"}, memento.Put{Path: "/c.md", Content: long})
		},
		"many":          func(b memento.Backend) error { return apply(b, memento.Put{Path: "/c.md"}, memento.Put{Path: "/d.md"}) },
		"deep":          func(b memento.Backend) error { return apply(b, memento.Put{Path: "/1/2/3/4"}) },
		"get":           func(b memento.Backend) error { _, err := b.Get(ctx, w.store, memento.ByPath("/none")); return err },
		"get directory": func(b memento.Backend) error { _, err := b.Get(ctx, w.store, memento.ByPath("/dir")); return err },
		"get root":      func(b memento.Backend) error { _, err := b.Get(ctx, w.store, memento.ByPath("/")); return err },
		"get odd":       func(b memento.Backend) error { _, err := b.Get(ctx, w.store, memento.ByPath("a")); return err },
		"get by ID":     func(b memento.Backend) error { _, err := b.Get(ctx, w.store, memento.ByID("mem_none")); return err },
		"version":       func(b memento.Backend) error { _, err := b.GetVersion(ctx, w.store, "memver_none"); return err },
		"odd version":   func(b memento.Backend) error { _, err := b.GetVersion(ctx, w.store, "../x"); return err },
		"head":          func(b memento.Backend) error { _, err := b.Redact(ctx, w.store, head, ann); return err },
		"no store":      func(b memento.Backend) error { _, err := b.GetStore(ctx, "team", "memstore_none"); return err },
		"odd store":     func(b memento.Backend) error { _, err := b.Get(ctx, "../x", memento.ByPath("/a.md")); return err },
		"name":          func(b memento.Backend) error { _, err := b.CreateStore(ctx, "team", memento.StoreSpec{}); return err },
		"metadata": func(b memento.Backend) error {
			_, err := b.UpdateStore(ctx, "team", w.store, memento.StoreUpdate{Metadata: map[string]*string{"": &other}})
			return err
		},
		"updated": func(b memento.Backend) error {
			_, err := b.UpdateStore(ctx, "team", w.store, memento.StoreUpdate{Name: &other, IfUpdatedAt: time.Unix(1, 0)})
			return err
		},
		"import": func(b memento.Backend) error {
			return b.Import(ctx, w.store, []memento.Version{{ID: "memver_1", Memory: "mem_1", Operation: "seen", Path: "/x"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := call(w.behind), call(b)
			if want == nil || got == nil || want.Error() != got.Error() {
				t.Errorf("%v, want %v", got, want)
			}
			same[*memento.Error](t, want, got, func(e *memento.Error) any { return []any{e.Op, e.Path} })
			same[*memento.PathError](t, want, got, func(e *memento.PathError) any { return *e })
			same[*memento.LimitError](t, want, got, func(e *memento.LimitError) any { return *e })
			hides(t, got, w.key)
		})
	}

	secret := "sk-test-" + "12345678"
	err = apply(b, memento.Put{Path: "/c.md", Content: "a\n" + secret})
	var found *memento.SensitiveError
	if !errors.As(err, &found) || !cmp.Equal(found.Found, []memento.FindingLocation{{Path: "/c.md", Kind: "test-key", Line: 2}}) {
		t.Errorf("sensitive: %v", err)
	}
	if err := apply(b, memento.Put{Path: memento.Path("/" + secret)}); !errors.Is(err, memento.ErrSensitive) {
		t.Errorf("a sensitive path: %v", err)
	}
	hides(t, err, secret)
}

// TestServerMasks what a client that looks for nothing sends, and says so.
func TestServerMasks(t *testing.T) {
	w := newWorld(t)
	s, err := memento.OpenStore(t.Context(), w.open(httpstore.Options{}), "team", w.store, &memento.StoreOptions{Detector: none{}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Apply(t.Context(), ann, memento.Put{Path: "/a", Content: "one\nsk-test-" + "12345678"})
	if diff := cmp.Diff([]memento.FindingLocation{{Path: "/a", Kind: "test-key", Line: 2}}, r.Masked); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if m, err := s.Get(t.Context(), memento.ByPath("/a")); err != nil || m.Content != "one\n[REDACTED:test-key]" {
		t.Errorf("%+v, %v", m, err)
	}
}

func same[E error](t *testing.T, want, got error, of func(E) any) {
	t.Helper()
	w, wantIt := errors.AsType[E](want)
	g, gotIt := errors.AsType[E](got)
	if wantIt != gotIt || wantIt && !cmp.Equal(of(w), of(g)) {
		t.Errorf("%T: %#v, want %#v", w, g, w)
	}
}

// TestOtherAnswers are those that mean none of memento's errors.
func TestOtherAnswers(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{Retries: -1, MaxAnswer: 1000})
	answer := func(status int, text string) {
		w.stand(func(rw http.ResponseWriter, _ *http.Request, _ http.Handler) {
			rw.WriteHeader(status)
			fmt.Fprint(rw, text)
		})
	}
	get := func() error {
		_, err := b.GetStore(t.Context(), "team", w.store)
		return err
	}
	for _, tt := range []struct {
		name   string
		status int
		text   string
		want   error
		says   string
	}{
		{"fault", 500, `{"type":"error","error":{"type":"api_error","message":"internal error"},"request_id":"req_1"}`, nil, "the server answered 500 api_error: internal error (req_1)"},
		{"space", 500, `{"type":"error","error":{"type":"api_error","message":"full","code":"no_space"}}`, memento.ErrNoSpace, "no space left on storage"},
		{"read-only", 500, `{"type":"error","error":{"type":"api_error","message":"full","code":"read_only"}}`, memento.ErrReadOnly, "storage is read-only"},
		{"role", 403, `{"type":"error","error":{"type":"permission_error","message":"needs the role admin"}}`, memento.ErrDenied, "access denied: needs the role admin"},
		{"request", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"limit: must be a number"}}`, memento.ErrInvalid, "invalid value: limit: must be a number"},
		{"gateway", 502, "<html>" + strings.Repeat("x", 5000), nil, "the server answered 502"},
		{"no JSON", 200, "<html>", memento.ErrFormat, "not what a memento of this version sends"},
		{"too much", 200, `{"id":"` + strings.Repeat("x", 5000) + `"}`, nil, "more than 1000 bytes"},
		{"long message", 500, `{"type":"error","error":{"type":"api_error","message":"` + strings.Repeat("x", 5000) + `"}}`, nil, "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer(tt.status, tt.text)
			err := get()
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 1000 {
				t.Errorf("%v; want %v, which says %q", err, tt.want, tt.says)
			}
			if tt.want == nil && tt.status == 500 {
				if e, ok := errors.AsType[*httpstore.StatusError](err); !ok || e.Status != 500 || e.Type != "api_error" {
					t.Errorf("StatusError: %+v", e)
				}
			}
		})
	}
}

// TestRoles checks whose name changes bear, and what keys without the role are told.
func TestRoles(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	sesn := memento.Actor{Kind: memento.ActorSession, ID: "sesn/1 ü"}
	admin, writer, reader := w.open(httpstore.Options{}), w.open(httpstore.Options{Key: w.newKey(apikey.RoleWrite)}), w.open(httpstore.Options{Key: w.newKey(apikey.RoleRead)})
	with := func(by memento.Actor, b *httpstore.Backend) memento.Actor {
		by.Key = memento.KeyID(b.Identity().ID)
		return by
	}
	copied := memento.Actor{Kind: memento.ActorSession, ID: "sesn_1", Key: "apikey_elsewhere"}
	for i, tt := range []struct {
		b        *httpstore.Backend
		by, want memento.Actor
	}{
		{admin, ann, with(ann, admin)},
		{admin, memento.Actor{}, with(memento.Actor{}, admin)},
		{admin, memento.Actor{Kind: memento.ActorSystem}, with(memento.Actor{Kind: memento.ActorSystem}, admin)},
		{admin, sesn, with(sesn, admin)},
		{admin, copied, copied},
		{writer, sesn, with(sesn, writer)},
		{writer, copied, with(memento.Actor{Kind: copied.Kind, ID: copied.ID}, writer)},
		{writer, ann, writer.Identity().Actor},
		{writer, memento.Actor{}, writer.Identity().Actor},
		{writer, memento.Actor{Kind: memento.ActorSession}, writer.Identity().Actor},
	} {
		done, err := tt.b.Apply(ctx, w.store, tt.by, put("/a", fmt.Sprint(i)))
		if err != nil || len(done.Versions) != 1 || done.Versions[0].CreatedBy != tt.want {
			t.Errorf("%d: by %v: %+v, %v; want %v", i, tt.by, done.Versions, err, tt.want)
		}
	}
	for name, err := range map[string]error{
		"write with read":  second(reader.Apply(ctx, w.store, ann, put("/a", "x"))),
		"prune with write": second(writer.Prune(ctx, w.store, memento.PruneOptions{Before: time.Now()})),
		"import":           writer.Import(ctx, w.store, nil),
		"limits":           second(writer.UpdateStore(ctx, "team", w.store, memento.StoreUpdate{Limits: &memento.Limits{Memories: 1}})),
		"settings":         second(writer.CreateStore(ctx, "team", memento.StoreSpec{Name: "x", Settings: &memento.Settings{Sensitive: memento.Sensitive{Mode: memento.Off}}})),
		"create with read": second(reader.CreateStore(ctx, "team", memento.StoreSpec{Name: "x"})),
		"keys with write":  second(writer.RevokeKey(ctx, "apikey_x")),
	} {
		if !errors.Is(err, memento.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Default limits and settings are everybody's.
	settings := memento.DefaultSettings()
	if _, err := writer.CreateStore(ctx, "team", memento.StoreSpec{Name: "plain", Settings: &settings, Limits: memento.DefaultLimits()}); err != nil {
		t.Errorf("a store like any other: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestArchiveAndUpdate does both at once.
func TestArchiveAndUpdate(t *testing.T) {
	w := newWorld(t)
	b := w.open(httpstore.Options{})
	name := "closed"
	info, err := b.UpdateStore(t.Context(), "team", w.store, memento.StoreUpdate{Name: &name, Archive: true})
	if err != nil || info.Name != name || !info.Archived() {
		t.Fatalf("%+v, %v", info, err)
	}
	for what, u := range map[string]memento.StoreUpdate{
		"archive":           {Archive: true},
		"archive as it is":  {Archive: true, IfUpdatedAt: info.UpdatedAt},
		"nothing":           {},
		"nothing, as it is": {IfUpdatedAt: info.UpdatedAt},
	} {
		again, err := b.UpdateStore(t.Context(), "team", w.store, u)
		if diff := cmp.Diff(info, again); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	for what, u := range map[string]memento.StoreUpdate{
		"archive, stale": {Archive: true, IfUpdatedAt: info.CreatedAt},
		"nothing, stale": {IfUpdatedAt: info.CreatedAt},
	} {
		if _, err := b.UpdateStore(t.Context(), "team", w.store, u); !errors.Is(err, memento.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := b.UpdateStore(t.Context(), "team", w.store, memento.StoreUpdate{Name: &name, Archive: true}); !errors.Is(err, memento.ErrArchived) {
		t.Errorf("an update: %v", err)
	}
}
