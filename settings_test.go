package memento_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"memento"
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
		got, err := memento.DecodeSettings(s.Encode())
		if diff := cmp.Diff(s, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := memento.DecodeSettings("{}"); err != nil || !cmp.Equal(got, memento.DefaultSettings()) {
		t.Errorf("no settings are %+v, %v; want the defaults", got, err)
	}
	for _, bad := range []string{"", "[]", `{"expiry":{"after":"soon"}}`, `{"retention":3}`, `{"sensitive":{"mode":"hide"}}`} {
		if _, err := memento.DecodeSettings(bad); !errors.Is(err, memento.ErrFormat) {
			t.Errorf("%q: %v, want ErrFormat", bad, err)
		}
	}
}

// Settings and archives of earlier versions say "redact" for Mask.
func TestSettingsOfEarlierVersions(t *testing.T) {
	got, err := memento.DecodeSettings(`{"sensitive":{"mode":"redact","personal":true}}`)
	if err != nil || got.Sensitive.Mode != memento.Mask || !strings.Contains(got.Encode(), `"mode":"mask"`) {
		t.Errorf("got %+v, %v", got.Sensitive, err)
	}
}

// What may hold a secret, an allowed text, is not repeated by an error.
func TestSettingsErrorsRepeatNoSecret(t *testing.T) {
	s := memento.DefaultSettings()
	s.Sensitive.AllowPatterns = []string{"sk-canary("}
	_, err := memento.NewStoreInfo("ws", memento.StoreSpec{Name: "n", Settings: &s}, time.Now())
	if !errors.Is(err, memento.ErrInvalid) || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
}
