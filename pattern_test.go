package memento_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"memento"
)

func TestPatternMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern memento.Pattern
		yes, no []memento.Path
	}{
		{"/", []memento.Path{"/a", "/a/b", "/.hidden"}, nil},
		{"/**", []memento.Path{"/a", "/a/b"}, nil},
		{"/a", []memento.Path{"/a", "/a/b", "/a/b/c"}, []memento.Path{"/ab", "/b/a", "/A"}},
		{"/a/", []memento.Path{"/a", "/a/b"}, []memento.Path{"/ab"}},
		{"/a/*", []memento.Path{"/a/b", "/a/b/c", "/a/.b"}, []memento.Path{"/a", "/b/a"}},
		{"/a/*/c", []memento.Path{"/a/b/c", "/a/b/c/d"}, []memento.Path{"/a/c", "/a/b/d", "/a/b/b/c"}},
		{"/a/**/c", []memento.Path{"/a/c", "/a/b/c", "/a/b/b/c/d"}, []memento.Path{"/c", "/a/b", "/b/a/c"}},
		{"/**/c", []memento.Path{"/c", "/a/c", "/a/b/c/d"}, []memento.Path{"/a", "/cc"}},
		{"/a/**/b/**/c", []memento.Path{"/a/b/c", "/a/x/b/y/c", "/a/b/b/c"}, []memento.Path{"/a/c", "/a/c/b"}},
		{"*.key", []memento.Path{"/x.key", "/a/b/x.key", "/x.key/in"}, []memento.Path{"/x.keys", "/key"}},
		{"secret", []memento.Path{"/secret", "/a/secret", "/secret/a"}, []memento.Path{"/secrets"}},
		{"/note?.md", []memento.Path{"/note1.md", "/noteä.md"}, []memento.Path{"/note.md", "/note12.md"}},
		{"/[a-c]/*.md", []memento.Path{"/a/x.md", "/c/.md"}, []memento.Path{"/d/x.md", "/a/x.txt"}},
		{"/名/*", []memento.Path{"/名/a"}, []memento.Path{"/名"}},
		{"/a[", nil, []memento.Path{"/a", "/a["}}, // not valid
	} {
		for _, p := range tt.yes {
			if !tt.pattern.Match(p) {
				t.Errorf("%q does not match %q", tt.pattern, p)
			}
		}
		for _, p := range tt.no {
			if tt.pattern.Match(p) {
				t.Errorf("%q matches %q", tt.pattern, p)
			}
		}
	}
}

func TestPatternsThatMatchNothingAreRefused(t *testing.T) {
	for _, g := range []memento.Pattern{"", "a/b", "/a[", "/x[a/b]", `/a\/b`, "/a//b", "/./a", "/a/..", "/e\u0301", "/a\x00", `/a\`, "/\xff"} {
		s := memento.DefaultSettings()
		s.ReadOnly = []memento.Pattern{g}
		if _, err := (memento.StoreSpec{Name: "n", Settings: &s}).NewInfo("ws", time.Now()); !errors.Is(err, memento.ErrInvalid) {
			t.Errorf("%q: %v, want ErrInvalid", g, err)
		}
	}
	for _, g := range []memento.Pattern{"/", "/a", "/a/", "*", "*.md", "/**", "/a/**/b", `/a\*`, "/[a-z]?", "/é"} {
		s := memento.DefaultSettings()
		s.ReadOnly = []memento.Pattern{g}
		if _, err := (memento.StoreSpec{Name: "n", Settings: &s}).NewInfo("ws", time.Now()); err != nil {
			t.Errorf("%q: %v", g, err)
		}
	}
}

// A pattern can come from a user, and is matched with every path.
func TestPatternMatchIsNotExponential(t *testing.T) {
	pattern := memento.Pattern(strings.Repeat("/**/a", 100) + "/b")
	path := memento.Path(strings.Repeat("/a", 500))
	start := time.Now()
	if pattern.Match(path) {
		t.Error("it matches")
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("it took %v", d)
	}
}
