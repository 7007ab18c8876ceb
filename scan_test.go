package memento_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
)

// exposures scans, and returns how often a version of each path, "" for a path
// that looks sensitive, holds something.
func exposures(t *testing.T, s *memento.Store, personal bool) (all []memento.Exposure) {
	t.Helper()
	for x, err := range s.Scan(t.Context(), &memento.ScanOptions{Personal: personal}) {
		if err != nil {
			t.Fatal(err)
		}
		if x.Version.Content != "" {
			t.Errorf("an exposure has contents: %+v", x)
		}
		all = append(all, x)
	}
	return all
}

// leaky has a secret in the present, in the history, in a deleted memory and in
// a path.
func leaky(t *testing.T) *memento.Store {
	t.Helper()
	s, _ := screened(t, mode(memento.Off))
	mustPut(t, s, "/clean", "nothing")
	mustPut(t, s, "/now", "a\n"+testKey)
	mustPut(t, s, "/past", testKey)
	mustPut(t, s, "/past", "cleaned")
	mustPut(t, s, "/gone", testKey+" person-1")
	for _, c := range []memento.Change{memento.Remove{Path: "/gone"}, memento.Put{Path: testKeyPath, Content: "x"}} {
		if _, err := s.Apply(t.Context(), memento.Actor{}, c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestScan(t *testing.T) {
	s := leaky(t)
	type found struct {
		Path    memento.Path
		Current bool
		Found   []memento.FindingLocation
	}
	var got []found
	for _, x := range exposures(t, s, false) {
		got = append(got, found{x.Version.Path, x.Current, x.Found})
	}
	want := []found{
		{testKeyPath, true, []memento.FindingLocation{{Kind: "test-key"}}},
		{"/gone", false, []memento.FindingLocation{{Path: "/gone", Kind: "test-key", Line: 1}}},
		{"/past", false, []memento.FindingLocation{{Path: "/past", Kind: "test-key", Line: 1}}},
		{"/now", true, []memento.FindingLocation{{Path: "/now", Kind: "test-key", Line: 2}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exposures (-want +got):\n%s", diff)
	}
	if all := exposures(t, s, true); len(all) != 4 || len(all[1].Found) != 2 {
		t.Errorf("with personal data: %+v", all)
	}
}

func TestFix(t *testing.T) {
	s := leaky(t)
	by := memento.Actor{Kind: memento.ActorUser, ID: "ann"}
	for _, x := range exposures(t, s, true) {
		err := s.Fix(t.Context(), by, x, true)
		if x.InPath() {
			if !errors.Is(err, memento.ErrHead) {
				t.Errorf("a path: %v, want ErrHead", err)
			}
			if _, err := s.Apply(t.Context(), by, memento.Move{From: x.Version.Path, To: "/renamed"}); err != nil {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", x.Version.Path, err)
		}
	}
	// What the move left in the history.
	for _, x := range exposures(t, s, true) {
		if x.Current {
			t.Errorf("still there: %+v", x)
		}
		if err := s.Fix(t.Context(), by, x, true); err != nil {
			t.Error(err)
		}
	}
	nowhere(t, s, testKey)
	nowhere(t, s, "person-1")
	want := map[memento.Path]string{"/clean": "nothing", "/now": "a\n" + testKeyMark, "/past": "cleaned", "/renamed": "x"}
	if diff := cmp.Diff(want, contents(t, s)); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
}

func TestInspect(t *testing.T) {
	v := memento.Version{Path: testKeyPath, Content: "a\n" + testKey}
	s, _ := screened(t, nil)
	found, err := s.Inspect(t.Context(), v)
	want := []memento.FindingLocation{{Kind: "test-key"}, {Path: testKeyPath, Kind: "test-key", Line: 2}}
	if diff := cmp.Diff(want, found); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	off, _ := screened(t, mode(memento.Off))
	if found, err := off.Inspect(t.Context(), v); err != nil || found != nil {
		t.Errorf("in the mode off: %v, %v", found, err)
	}
}

func TestFixRefuses(t *testing.T) {
	s := leaky(t)
	all := exposures(t, s, false)
	x := all[len(all)-1]
	mustPut(t, s, x.Version.Path, "changed since")
	if err := s.Fix(t.Context(), memento.Actor{}, x, false); !errors.Is(err, memento.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
	blind := memento.OpenNamed(nil, workspace, memento.StoreSpec{}, nil)
	for _, err := range blind.Scan(t.Context(), nil) {
		if err == nil {
			t.Error("a store without a name or detector was scanned")
		}
	}
}
