package memento_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend"
)

func TestSettingsEncode(t *testing.T) {
	for name, s := range map[string]memento.Settings{
		"defaults": memento.DefaultSettings(),
		"zero":     {Sensitive: memento.Sensitive{Mode: memento.Off}},
		"all": {
			Sensitive: memento.Sensitive{Mode: memento.Reject, Personal: true, Allow: []string{"a\"b"}, AllowPatterns: []string{"x+"}, AllowPaths: []memento.Pattern{"/a"}},
			Expiry:    memento.Expiry{After: 36 * time.Hour, Keep: []memento.Pattern{"/k", "*.md"}},
			Retention: memento.Retention{Age: memento.Forever, Versions: 7},
			ReadOnly:  []memento.Pattern{"/"},
		},
	} {
		got, err := backend.DecodeSettings(backend.EncodeSettings(s))
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := backend.DecodeSettings("{}"); err != nil || !cmp.Equal(got, memento.DefaultSettings()) {
		t.Errorf("no settings are %+v, %v; want the defaults", got, err)
	}
	for _, bad := range []string{"", "[]", `{"expiry":{"after":"soon"}}`, `{"retention":3}`, `{"sensitive":{"mode":"hide"}}`} {
		if _, err := backend.DecodeSettings(bad); !errors.Is(err, memento.ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", bad, err)
		}
	}
}

// Settings and archives of earlier versions say "redact" for Mask.
func TestSettingsOfEarlierVersions(t *testing.T) {
	got, err := backend.DecodeSettings(`{"sensitive":{"mode":"redact","personal":true}}`)
	if err != nil || got.Sensitive.Mode != memento.Mask || !strings.Contains(backend.EncodeSettings(got), `"mode":"mask"`) {
		t.Errorf("got %+v, %v", got.Sensitive, err)
	}
}

// What may hold a secret, an allowed text, is not repeated by an error.
func TestSettingsErrorsRepeatNoSecret(t *testing.T) {
	s := memento.DefaultSettings()
	s.Sensitive.AllowPatterns = []string{"sk-canary("}
	_, err := memento.StoreSpec{Name: "n", Settings: &s}.NewInfo("ws", time.Now())
	if !errors.Is(err, memento.ErrInvalid) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}

// The revision differs exactly if the settings for sensitive information do.
func TestSettingsRevision(t *testing.T) {
	revision := func(change func(*memento.Settings)) memento.SettingsRevision {
		info := memento.StoreInfo{Settings: memento.DefaultSettings()}
		change(&info.Settings)
		return info.SettingsRevision()
	}
	type settings = memento.Settings
	seen := map[memento.SettingsRevision]string{}
	for name, change := range map[string]func(*settings){
		"default":            func(*settings) {},
		"off":                func(s *settings) { s.Sensitive.Mode = memento.Off },
		"reject":             func(s *settings) { s.Sensitive.Mode = memento.Reject },
		"personal":           func(s *settings) { s.Sensitive.Personal = true },
		"allow ab":           func(s *settings) { s.Sensitive.Allow = []string{"ab"} },
		"allow a, b":         func(s *settings) { s.Sensitive.Allow = []string{"a", "b"} },
		"allow b, a":         func(s *settings) { s.Sensitive.Allow = []string{"b", "a"} },
		"allow a, pattern b": func(s *settings) { s.Sensitive.Allow, s.Sensitive.AllowPatterns = []string{"a"}, []string{"b"} },
		"patterns a, b":      func(s *settings) { s.Sensitive.AllowPatterns = []string{"a", "b"} },
		"path /a":            func(s *settings) { s.Sensitive.AllowPaths = []memento.Pattern{"/a"} },
		"pattern /a":         func(s *settings) { s.Sensitive.AllowPatterns = []string{"/a"} },
		"allow /a":           func(s *settings) { s.Sensitive.Allow = []string{"/a"} },
	} {
		r := revision(change)
		if other, twice := seen[r]; twice || r == "" {
			t.Errorf("%s has the revision %q of %q", name, r, other)
		}
		seen[r] = name
		if again := revision(change); again != r {
			t.Errorf("%s: %q, then %q", name, r, again)
		}
	}
	same := revision(func(s *settings) {
		s.Expiry.After, s.Retention.Versions, s.ReadOnly = time.Hour, 3, []memento.Pattern{"/x"}
		s.Sensitive.Allow, s.Sensitive.AllowPaths = []string{}, []memento.Pattern{}
	})
	if seen[same] != "default" {
		t.Errorf("other settings count as well: %q is that of %q", same, seen[same])
	}
}
