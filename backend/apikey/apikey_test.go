package apikey_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/apikey"
)

func TestNewKey(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	at := time.Date(2026, 5, 4, 12, 30, 0, 123_456_789, zone)
	expires := at.AddDate(1, 0, 0)
	k, secret, err := apikey.New("team-a", "Ann's laptop", apikey.RoleWrite, at, expires)
	if err != nil {
		t.Fatal(err)
	}
	want := apikey.Key{
		ID: k.ID, Workspace: "team-a", Name: "Ann's laptop", Role: apikey.RoleWrite,
		Hash: apikey.HashSecret(secret), Hint: secret[len(secret)-4:],
		CreatedAt: time.Date(2026, 5, 4, 11, 30, 0, 123_456_000, time.UTC),
		ExpiresAt: time.Date(2027, 5, 4, 11, 30, 0, 123_456_000, time.UTC),
	}
	if diff := cmp.Diff(want, k); diff != "" {
		t.Error("(-want +got):\n" + diff)
	}
	if !regexp.MustCompile(`^apikey_[0-9a-hjkmnp-tv-z]{26}$`).MatchString(string(k.ID)) {
		t.Errorf("the ID is %q", k.ID)
	}
	if !regexp.MustCompile(`^sk-memento-[A-Za-z0-9_-]{43}$`).MatchString(secret) {
		t.Error("the secret has another form")
	}
	if err := k.Check(); err != nil {
		t.Error(err)
	}
	never, other, err := apikey.New("team-a", "Ann's laptop", apikey.RoleWrite, at, time.Time{})
	if err != nil || !never.ExpiresAt.IsZero() {
		t.Errorf("without an end: %+v, %v", never, err)
	}
	if never.ID == k.ID || other == secret || never.Hash == k.Hash {
		t.Error("two keys are the same")
	}

	bad, secret, err := apikey.New("team-a", "", apikey.RoleWrite, at, expires)
	if !errors.Is(err, memento.ErrInvalid) || bad != (apikey.Key{}) || secret != "" {
		t.Errorf("without a name: %+v, %v", bad, err)
	}
}

func TestKeyCheck(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		name   string
		change func(*apikey.Key)
		fault  string // "" if there is none
	}{
		{"as made", func(*apikey.Key) {}, ""},
		{"longest name", func(k *apikey.Key) { k.Name = strings.Repeat("ä", 255) }, ""},
		{"no hint", func(k *apikey.Key) { k.Hint = "" }, ""},
		{"revoked, expired", func(k *apikey.Key) { k.RevokedAt, k.ExpiresAt = at.Add(-1), at.Add(1) }, ""},
		{"no ID", func(k *apikey.Key) { k.ID = "" }, "must have an ID"},
		{"no hash", func(k *apikey.Key) { k.Hash = apikey.Hash{} }, "the hash of its secret"},
		{"no time", func(k *apikey.Key) { k.CreatedAt = time.Time{} }, "a creation time"},
		{"no workspace", func(k *apikey.Key) { k.Workspace = "" }, "a workspace name has 1 to"},
		{"no name", func(k *apikey.Key) { k.Name = "" }, "must have a name"},
		{"two lines", func(k *apikey.Key) { k.Name = "a\nb" }, "the name holds a control character"},
		{"long name", func(k *apikey.Key) { k.Name = strings.Repeat("x", 256) }, "the name has 256 characters"},
		{"not UTF-8", func(k *apikey.Key) { k.Name = "a\xff" }, "the name is not valid UTF-8"},
		{"no role", func(k *apikey.Key) { k.Role = "" }, "it can be read, write or admin"},
		{"unknown role", func(k *apikey.Key) { k.Role = "Admin" }, `the role is "Admin"`},
		{"ends as it begins", func(k *apikey.Key) { k.ExpiresAt = at }, "cannot expire before it is created"},
		{"ends before", func(k *apikey.Key) { k.ExpiresAt = at.Add(-time.Hour) }, "cannot expire before it is created"},
		{"too much of the secret", func(k *apikey.Key) { k.Hint = "123456789" }, "the hint has 9 characters"},
		{"a hint of two lines", func(k *apikey.Key) { k.Hint = "a\nb" }, "the hint holds a control character"},
	}
	for _, tt := range tests {
		k, _, err := apikey.New("a", "key", apikey.RoleRead, at, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		tt.change(&k)
		err = k.Check()
		if tt.fault == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if !errors.Is(err, memento.ErrInvalid) || !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.fault)
		}
	}
}

func TestWorkspaceCheck(t *testing.T) {
	for _, ws := range []memento.Workspace{
		memento.DefaultWorkspace, "a", "Z", "0", "-", ".", "_", "wrkspc_01JqY8", "team.a-1_B", memento.Workspace(strings.Repeat("x", 64)),
	} {
		if err := ws.Check(); err != nil {
			t.Errorf("%q: %v", ws, err)
		}
	}
	for _, ws := range []memento.Workspace{
		"", " ", "a b", "a/b", "a\\b", "a\x00", "a\n", "a\x7f", "ä", "a:b", "a%41", "a*", "é", "名", "\xff", "a\u200d", memento.Workspace(strings.Repeat("x", 65)),
	} {
		if err := ws.Check(); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %v", ws, err)
		}
	}
}

func TestRoleAllows(t *testing.T) {
	const unknown apikey.Role = "root"
	allowed := map[apikey.Role][]apikey.Role{
		apikey.RoleRead:  {apikey.RoleRead},
		apikey.RoleWrite: {apikey.RoleRead, apikey.RoleWrite},
		apikey.RoleAdmin: {apikey.RoleRead, apikey.RoleWrite, apikey.RoleAdmin},
	}
	roles := []apikey.Role{"", unknown, "READ", apikey.RoleRead, apikey.RoleWrite, apikey.RoleAdmin}
	for _, has := range roles {
		for _, need := range roles {
			want := false
			for _, r := range allowed[has] {
				want = want || r == need
			}
			if got := has.Allows(need); got != want {
				t.Errorf("%q allows what needs %q: %v", has, need, got)
			}
		}
	}
}

func TestKeyActive(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		name             string
		expires, revoked time.Time
		want             bool
	}{
		{"for ever", time.Time{}, time.Time{}, true},
		{"until later", at.Add(1), time.Time{}, true},
		{"until now", at, time.Time{}, false},
		{"until before", at.Add(-1), time.Time{}, false},
		{"revoked", at.Add(time.Hour), at.Add(-1), false},
		{"revoked now", time.Time{}, at, false},
		// As it is for a server whose clock is behind.
		{"revoked, says a clock that is ahead", time.Time{}, at.Add(time.Minute), false},
	}
	for _, tt := range tests {
		k := apikey.Key{ExpiresAt: tt.expires, RevokedAt: tt.revoked}
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("PST", -8*3600)} {
			if got := k.Active(at.In(zone)); got != tt.want {
				t.Errorf("%s: %v", tt.name, got)
			}
		}
	}
}

func TestKeyUpdated(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC)
	never, sooner, later := time.Time{}, at.Add(-time.Hour), at.Add(time.Hour)
	inPST := time.FixedZone("PST", -8*3600)
	expires := func(at time.Time) (apikey.Key, apikey.Update) {
		return apikey.Key{ExpiresAt: at}, apikey.Update{ExpiresAt: at}
	}
	revoked := func(at time.Time) (apikey.Key, apikey.Update) {
		return apikey.Key{RevokedAt: at}, apikey.Update{RevokedAt: at}
	}
	used := func(at time.Time) (apikey.Key, apikey.Update) {
		return apikey.Key{UsedAt: at}, apikey.Update{UsedAt: at}
	}
	tests := []struct {
		name         string
		field        func(time.Time) (apikey.Key, apikey.Update)
		was, u, want time.Time
	}{
		{"does not expire", expires, never, never, never},
		{"expires from now on", expires, never, at, at},
		{"expires sooner", expires, at, sooner, sooner},
		{"lives no longer", expires, at, later, at},
		{"no end is no update", expires, at, never, at},
		{"is not revoked", revoked, never, never, never},
		{"is revoked", revoked, never, at, at},
		{"was revoked before", revoked, at, later, at},
		{"was revoked after", revoked, at, sooner, at},
		{"stays revoked", revoked, at, never, at},
		{"is not used", used, never, never, never},
		{"is used first", used, never, at, at},
		{"is used again", used, at, later, later},
		{"is used a minute later", used, at, at.Add(time.Minute), at.Add(time.Minute)},
		{"is used within the minute", used, at, at.Add(time.Minute - 1), at},
		{"was used before", used, at, sooner, at},
		{"in whole microseconds, UTC", expires, never, at.In(inPST).Add(999), at},
		{"in whole microseconds, UTC", revoked, never, at.In(inPST).Add(999), at},
		{"in whole microseconds, UTC", used, never, at.In(inPST).Add(999), at},
	}
	for _, tt := range tests {
		old, _ := tt.field(tt.was)
		_, u := tt.field(tt.u)
		want, _ := tt.field(tt.want)
		old.ID, old.Name, old.CreatedAt, want.ID, want.Name, want.CreatedAt = "apikey_1", "key", sooner, "apikey_1", "key", sooner
		if got := old.Updated(u); got != want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}
