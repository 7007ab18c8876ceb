package memento

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pairs returns n metadata pairs.
func pairs(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = "v"
	}
	return m
}

func TestNewInfo(t *testing.T) {
	tests := []struct {
		name string
		spec StoreSpec
		ok   bool
	}{
		{"a name", StoreSpec{Name: "n"}, true},
		{"the longest name", StoreSpec{Name: strings.Repeat("é", 255)}, true},
		{"no name", StoreSpec{}, false},
		{"too long a name", StoreSpec{Name: strings.Repeat("n", 256)}, false},
		{"a name with a newline", StoreSpec{Name: "a\nb"}, false},
		{"a name that is no text", StoreSpec{Name: "\xff"}, false},
		{"the longest description", StoreSpec{Name: "n", Description: strings.Repeat("é", 1024)}, true},
		{"too long a description", StoreSpec{Name: "n", Description: strings.Repeat("d", 1025)}, false},
		{"most metadata", StoreSpec{Name: "n", Metadata: pairs(16)}, true},
		{"too much metadata", StoreSpec{Name: "n", Metadata: pairs(17)}, false},
		{"the longest metadata", StoreSpec{Name: "n", Metadata: map[string]string{strings.Repeat("k", 64): strings.Repeat("v", 512)}}, true},
		{"an empty key", StoreSpec{Name: "n", Metadata: map[string]string{"": "v"}}, false},
		{"too long a key", StoreSpec{Name: "n", Metadata: map[string]string{strings.Repeat("k", 65): "v"}}, false},
		{"too long a value", StoreSpec{Name: "n", Metadata: map[string]string{"k": strings.Repeat("v", 513)}}, false},
		{"a negative limit", StoreSpec{Name: "n", Limits: Limits{Bytes: -1}}, false},
		{"the highest path limit", StoreSpec{Name: "n", Limits: Limits{PathBytes: 1024}}, true},
		{"too high a path limit", StoreSpec{Name: "n", Limits: Limits{PathBytes: 1025}}, false},
	}
	for _, tt := range tests {
		info, err := tt.spec.NewInfo("ws", noon)
		if !tt.ok {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", tt.name, err)
			}
			continue
		}
		want := StoreInfo{
			ID: info.ID, Workspace: "ws", Name: tt.spec.Name, Description: tt.spec.Description, Metadata: tt.spec.Metadata,
			Limits: tt.spec.Limits.WithDefaults(), Settings: DefaultSettings(), CreatedAt: noon, UpdatedAt: noon,
		}
		if want.Metadata == nil {
			want.Metadata = map[string]string{}
		}
		if diff := cmp.Diff(want, info); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

func TestLimitsWithDefaults(t *testing.T) {
	got := Limits{Memories: 7}.WithDefaults()
	want := Limits{MemoryBytes: 102_400, Memories: 7, Bytes: 104_857_600, PathBytes: 1024, PathDepth: 512}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := (Limits{}).WithDefaults(); got != DefaultLimits() {
		t.Errorf("the defaults are %+v, and %+v", got, DefaultLimits())
	}
}

func TestStoreInfoUpdated(t *testing.T) {
	info, err := StoreSpec{Name: "n", Description: "d", Metadata: map[string]string{"a": "1", "b": "2"}}.NewInfo("ws", noon)
	if err != nil {
		t.Fatal(err)
	}
	later := noon.Add(time.Hour)
	tests := []struct {
		name   string
		update StoreUpdate
		want   func(s *StoreInfo) // what changes; nil for nothing
	}{
		{"nothing", StoreUpdate{}, nil},
		{"to what it is", StoreUpdate{Name: new("n"), Description: new("d"), Metadata: map[string]*string{"a": new("1"), "none": nil}, Limits: &Limits{}}, nil},
		{"the name", StoreUpdate{Name: new("m")}, func(s *StoreInfo) { s.Name = "m" }},
		{"no description", StoreUpdate{Description: new("")}, func(s *StoreInfo) { s.Description = "" }},
		{"metadata, as a patch", StoreUpdate{Metadata: map[string]*string{"a": nil, "c": new("3")}}, func(s *StoreInfo) {
			s.Metadata = map[string]string{"b": "2", "c": "3"}
		}},
		{"limits, all of them", StoreUpdate{Limits: &Limits{Memories: 7}}, func(s *StoreInfo) { s.Limits.Memories = 7 }},
		{"archived", StoreUpdate{Archive: true}, func(s *StoreInfo) { s.ArchivedAt = later }},
	}
	for _, tt := range tests {
		want := info
		if tt.want != nil {
			want.UpdatedAt = later
			tt.want(&want)
		}
		got, err := info.Updated(tt.update, later)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2"}, info.Metadata); diff != "" {
		t.Error("an update changed the description it came from:\n" + diff)
	}

	for _, update := range []StoreUpdate{{Name: new("")}, {Description: new(strings.Repeat("d", 1025))}, {Metadata: map[string]*string{"": new("v")}}, {Limits: &Limits{Bytes: -1}}} {
		if _, err := info.Updated(update, later); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v, want ErrInvalid", update, err)
		}
	}

	archived, err := info.Updated(StoreUpdate{Archive: true}, later)
	if err != nil {
		t.Fatal(err)
	}
	again, err := archived.Updated(StoreUpdate{Archive: true}, later.Add(time.Hour))
	if diff := cmp.Diff(archived, again); err != nil || diff != "" {
		t.Errorf("archiving twice: %v\n%s", err, diff)
	}
	if _, err := archived.Updated(StoreUpdate{Name: new("m")}, later); !errors.Is(err, ErrArchived) {
		t.Errorf("renaming an archived store: %v", err)
	}
}
