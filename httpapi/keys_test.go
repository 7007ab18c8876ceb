package httpapi_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"memento/backend/apikey"
	"memento/httpapi"
)

const adminKeys = "/v1/admin/keys"

var keyFields = []string{"id", "type", "workspace_id", "name", "role", "hint", "created_at", "expires_at", "revoked_at", "used_at"}

// user returns a caller with the key of an answer.
func (s *site) user(t *testing.T, made object) *caller {
	t.Helper()
	return &caller{url: s.url, key: text(t, made, "key"), keyID: text(t, made, "id")}
}

func TestKeys(t *testing.T) {
	s := newSite(t, nil)
	admin := s.as("a", apikey.RoleAdmin)
	same(t, "the admin's own", column(items(t, admin.get(t, adminKeys)), "id"), []any{admin.keyID})

	s.clock.add(time.Second)
	made := admin.post(t, adminKeys, object{"name": "app", "role": "write"})
	keys(t, made, append(keyFields, "key")...)
	secret := text(t, made, "key")
	for name, want := range (object{
		"type": "api_key", "workspace_id": "a", "name": "app", "role": "write", "hint": secret[len(secret)-4:],
		"expires_at": nil, "revoked_at": nil, "used_at": nil,
	}) {
		same(t, name, made[name], want)
	}
	app := s.user(t, made)
	key := adminKeys + "/" + app.keyID
	app.newStore(t, "of the app")
	same(t, "identity", app.get(t, "/v1/whoami")["id"], made["id"])
	for _, r := range []*reply{admin.do(t, http.MethodGet, key, nil), admin.do(t, http.MethodGet, adminKeys, nil)} {
		hash := sha256.Sum256([]byte(secret))
		if strings.Contains(string(r.text), secret) || strings.Contains(string(r.text), hex.EncodeToString(hash[:])) {
			t.Errorf("%s shows the secret: %s", r.request, r.text)
		}
	}
	got := admin.get(t, key)
	keys(t, got, keyFields...)
	moment(t, got, "used_at")

	// Revoked, it lets nobody in from the next request on.
	revoked := admin.post(t, key+"/revoke", nil)
	keys(t, revoked, keyFields...)
	moment(t, revoked, "revoked_at")
	app.do(t, http.MethodGet, stores, nil).fails(t, 401, "authentication_error")
	s.clock.add(time.Hour)
	same(t, "revoked again", admin.post(t, key+"/revoke", "{}"), revoked)
	admin.do(t, http.MethodPost, key+"/rotate", nil).fails(t, 400, invalidRequest, "expired or is revoked")
	page := admin.get(t, adminKeys)
	keys(t, page, "data", "next_page")
	same(t, "all keys", column(items(t, page), "id"), []any{admin.keyID, app.keyID})

	// One that ends, ends.
	end := s.clock.time().Add(time.Hour)
	made = admin.post(t, adminKeys, object{"name": "brief", "role": "read", "expires_at": end.In(time.FixedZone("", 3600)).Format(time.RFC3339Nano)})
	if !moment(t, made, "expires_at").Equal(end) {
		t.Errorf("expires at %v; want %v", made["expires_at"], end)
	}
	brief := s.user(t, made)
	brief.get(t, stores)
	brief.do(t, http.MethodPost, stores, object{"name": "x"}).fails(t, 403, noAccess, "write")
	s.clock.add(time.Hour)
	brief.do(t, http.MethodGet, stores, nil).fails(t, 401, "authentication_error")

	for body, want := range map[string]string{
		"":                              "name: field required",
		`{"name":"x"}`:                  "role: field required",
		`{"role":"read"}`:               "name: field required",
		`{"name":"","role":"read"}`:     "name",
		`{"name":"a\nb","role":"read"}`: "name",
		`{"name":"x","role":"owner"}`:   "read, write or admin",
		`{"name":"x","role":5}`:         "role: must be a string, not number",
		`{"name":"x","role":"read","expires_at":"2020-01-01T00:00:00Z"}`: "expire before",
		`{"name":"x","role":"read","expires_at":"0001-01-01T00:00:00Z"}`: "expires_at: must be in the future",
		`{"name":"x","role":"read","expires_at":"never"}`:                "expires_at: must be a time",
		`{"name":"x","role":"read","workspace_id":"b"}`:                  "workspace_id: extra inputs are not permitted",
		`{"name":"x","role":"read","key_sha256":"abc"}`:                  "key_sha256: must be the 64",
		`{"name":"x","role":"read","id":"apikey_own"}`:                   "key_sha256: must be the 64",
		`{"name":"x","role":"read","hint":"abcd"}`:                       "key_sha256: must be the 64",
	} {
		admin.do(t, http.MethodPost, adminKeys, body).fails(t, 400, invalidRequest, want)
	}
	for _, role := range []apikey.Role{apikey.RoleRead, apikey.RoleWrite} {
		c := s.as("a", role)
		for _, r := range []*reply{
			c.do(t, http.MethodGet, adminKeys, nil), c.do(t, http.MethodPost, adminKeys, object{"name": "x", "role": "read"}),
			c.do(t, http.MethodGet, key, nil), c.do(t, http.MethodPost, key+"/revoke", nil), c.do(t, http.MethodPost, key+"/rotate", nil),
		} {
			r.fails(t, 403, noAccess, "admin")
		}
	}
}

// A caller may keep the secret to itself.
func TestKeyByItsHash(t *testing.T) {
	s := newSite(t, nil)
	secret := apikey.NewSecret()
	hash := apikey.HashSecret(secret)
	body := object{"name": "own", "role": "write", "key_sha256": hex.EncodeToString(hash[:]), "hint": secret[len(secret)-4:], "id": "apikey_own"}
	made := s.admin.post(t, adminKeys, body)
	keys(t, made, keyFields...) // without the secret
	same(t, "id", made["id"], "apikey_own")
	same(t, "hint", made["hint"], secret[len(secret)-4:])
	own := &caller{url: s.url, key: secret}
	same(t, "identity", own.get(t, "/v1/whoami")["id"], "apikey_own")
	s.admin.do(t, http.MethodPost, adminKeys, body).fails(t, 409, conflict, "exists")
	body["hint"] = secret
	s.admin.do(t, http.MethodPost, adminKeys, body).fails(t, 400, invalidRequest, "hint")
	body["hint"], body["id"] = "", "key_1"
	s.admin.do(t, http.MethodPost, adminKeys, body).fails(t, 400, invalidRequest, "id")
}

func TestKeyRotation(t *testing.T) {
	s := newSite(t, func(o *httpapi.Options) { o.Auth = httpapi.FirstOf(nobody{}, o.Auth) })
	admin := s.admin
	made := admin.post(t, adminKeys, object{"name": "app", "role": "write"})
	old := s.user(t, made)
	old.get(t, stores)
	next := admin.post(t, adminKeys+"/"+old.keyID+"/rotate", object{"grace_seconds": 60})
	keys(t, next, append(keyFields, "key")...)
	for _, name := range []string{"name", "role", "workspace_id", "expires_at"} {
		same(t, name, next[name], made[name])
	}
	if next["id"] == made["id"] || next["key"] == made["key"] {
		t.Errorf("rotated %v to %v", made, next)
	}
	s.user(t, next).newStore(t, "with the new key")
	old.newStore(t, "with the old key")
	s.clock.add(2 * time.Minute)
	old.do(t, http.MethodGet, stores, nil).fails(t, 401, "authentication_error")
	s.user(t, next).get(t, stores)

	// Without grace, the old one ends at once.
	last := admin.post(t, adminKeys+"/"+text(t, next, "id")+"/rotate", nil)
	s.clock.add(time.Millisecond)
	s.user(t, next).do(t, http.MethodGet, stores, nil).fails(t, 401, "authentication_error")
	s.user(t, last).get(t, stores)

	key := adminKeys + "/" + text(t, last, "id")
	for _, body := range []string{`{"grace_seconds":-1}`, `{"grace_seconds":7776001}`, `{"grace_seconds":"1h"}`, `{"grace_seconds":1.5}`, `{"grace":1}`} {
		admin.do(t, http.MethodPost, key+"/rotate", body).fails(t, 400, invalidRequest, "grace")
	}
	admin.do(t, http.MethodPost, key+"/rotate", object{"id": "apikey_own"}).fails(t, 400, invalidRequest, "key_sha256")
	s.user(t, last).get(t, stores)
	admin.do(t, http.MethodPost, key+"/revoke", object{"now": true}).fails(t, 400, invalidRequest, "now")
}

// A key of another workspace is none.
func TestKeysOfOthers(t *testing.T) {
	s := newSite(t, nil)
	a, b := s.as("a", apikey.RoleAdmin), s.as("b", apikey.RoleAdmin)
	for _, id := range []string{b.keyID, "apikey_1", "x", "memstore_1", "apikey_a%2Fb"} {
		for _, r := range []*reply{
			a.do(t, http.MethodGet, adminKeys+"/"+id, nil),
			a.do(t, http.MethodPost, adminKeys+"/"+id+"/revoke", nil),
			a.do(t, http.MethodPost, adminKeys+"/"+id+"/rotate", nil),
		} {
			r.fails(t, 404, notFound, "key not found")
		}
	}
	b.get(t, stores)
	same(t, "keys", column(items(t, a.get(t, adminKeys)), "id"), []any{a.keyID})
}

// nobody is an authenticator that knows no credential.
type nobody struct{}

func (nobody) Authenticate(context.Context, string) (httpapi.Principal, error) {
	return httpapi.Principal{}, httpapi.ErrUnauthenticated
}
