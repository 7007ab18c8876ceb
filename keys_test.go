package memento_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func TestNewKey(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	at := time.Date(2026, 5, 4, 12, 30, 0, 123_456_789, zone)
	expires := at.AddDate(1, 0, 0)
	k, secret, err := memento.NewKey("team-a", "Ann's laptop", memento.RoleWrite, at, expires)
	if err != nil {
		t.Fatal(err)
	}
	want := memento.Key{
		ID: k.ID, Workspace: "team-a", Name: "Ann's laptop", Role: memento.RoleWrite,
		Hash: memento.HashSecret(secret), Hint: secret[len(secret)-4:],
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
	never, other, err := memento.NewKey("team-a", "Ann's laptop", memento.RoleWrite, at, time.Time{})
	if err != nil || !never.ExpiresAt.IsZero() {
		t.Errorf("without an end: %+v, %v", never, err)
	}
	if never.ID == k.ID || other == secret || never.Hash == k.Hash {
		t.Error("two keys are the same")
	}

	bad, secret, err := memento.NewKey("team-a", "", memento.RoleWrite, at, expires)
	if !errors.Is(err, memento.ErrInvalid) || bad != (memento.Key{}) || secret != "" {
		t.Errorf("without a name: %+v, %v", bad, err)
	}
}

func TestKeyCheck(t *testing.T) {
	at := time.Date(2026, 5, 4, 12, 30, 0, 0, time.UTC)
	tests := []struct {
		name   string
		change func(*memento.Key)
		fault  string // "" if there is none
	}{
		{"as made", func(*memento.Key) {}, ""},
		{"longest name", func(k *memento.Key) { k.Name = strings.Repeat("ä", 255) }, ""},
		{"no hint", func(k *memento.Key) { k.Hint = "" }, ""},
		{"revoked, expired", func(k *memento.Key) { k.RevokedAt, k.ExpiresAt = at.Add(-1), at.Add(1) }, ""},
		{"no ID", func(k *memento.Key) { k.ID = "" }, "needs an ID"},
		{"no hash", func(k *memento.Key) { k.Hash = memento.KeyHash{} }, "the hash of a secret"},
		{"no time", func(k *memento.Key) { k.CreatedAt = time.Time{} }, "the time it was made"},
		{"no workspace", func(k *memento.Key) { k.Workspace = "" }, "a workspace is named by"},
		{"no name", func(k *memento.Key) { k.Name = "" }, "needs a name"},
		{"two lines", func(k *memento.Key) { k.Name = "a\nb" }, "the name holds a control character"},
		{"long name", func(k *memento.Key) { k.Name = strings.Repeat("x", 256) }, "the name has 256 characters"},
		{"not UTF-8", func(k *memento.Key) { k.Name = "a\xff" }, "the name is not valid UTF-8"},
		{"no role", func(k *memento.Key) { k.Role = "" }, "it can be read, write or admin"},
		{"unknown role", func(k *memento.Key) { k.Role = "Admin" }, `the role is "Admin"`},
		{"ends as it begins", func(k *memento.Key) { k.ExpiresAt = at }, "cannot end before it begins"},
		{"ends before", func(k *memento.Key) { k.ExpiresAt = at.Add(-time.Hour) }, "cannot end before it begins"},
		{"too much of the secret", func(k *memento.Key) { k.Hint = "123456789" }, "the hint has 9 characters"},
		{"a hint of two lines", func(k *memento.Key) { k.Hint = "a\nb" }, "the hint holds a control character"},
	}
	for _, tt := range tests {
		k, _, err := memento.NewKey("a", "key", memento.RoleRead, at, time.Time{})
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

func TestCheckWorkspace(t *testing.T) {
	for _, ws := range []memento.Workspace{
		memento.DefaultWorkspace, "a", "Z", "0", "-", ".", "_", "wrkspc_01JqY8", "team.a-1_B", memento.Workspace(strings.Repeat("x", 64)),
	} {
		if err := memento.CheckWorkspace(ws); err != nil {
			t.Errorf("%q: %v", ws, err)
		}
	}
	for _, ws := range []memento.Workspace{
		"", " ", "a b", "a/b", "a\\b", "a\x00", "a\n", "a\x7f", "ä", "a:b", "a%41", "a*", "é", "名", "\xff", "a\u200d", memento.Workspace(strings.Repeat("x", 65)),
	} {
		if err := memento.CheckWorkspace(ws); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %v", ws, err)
		}
	}
}

func TestRoleAllows(t *testing.T) {
	const unknown memento.Role = "root"
	allowed := map[memento.Role][]memento.Role{
		memento.RoleRead:  {memento.RoleRead},
		memento.RoleWrite: {memento.RoleRead, memento.RoleWrite},
		memento.RoleAdmin: {memento.RoleRead, memento.RoleWrite, memento.RoleAdmin},
	}
	roles := []memento.Role{"", unknown, "READ", memento.RoleRead, memento.RoleWrite, memento.RoleAdmin}
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
		k := memento.Key{ExpiresAt: tt.expires, RevokedAt: tt.revoked}
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
	expires := func(at time.Time) (memento.Key, memento.KeyUpdate) {
		return memento.Key{ExpiresAt: at}, memento.KeyUpdate{ExpiresAt: at}
	}
	revoked := func(at time.Time) (memento.Key, memento.KeyUpdate) {
		return memento.Key{RevokedAt: at}, memento.KeyUpdate{RevokedAt: at}
	}
	used := func(at time.Time) (memento.Key, memento.KeyUpdate) {
		return memento.Key{UsedAt: at}, memento.KeyUpdate{UsedAt: at}
	}
	tests := []struct {
		name         string
		field        func(time.Time) (memento.Key, memento.KeyUpdate)
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
