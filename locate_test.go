package memento

import (
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLocateAccepts(t *testing.T) {
	tests := []struct {
		path  string
		want  Path
		slash bool
	}{
		{"/memories", Root, false},
		{"/memories/", Root, false},
		{"/memories/a.md", "/a.md", false},
		{"/memories/dir/", "/dir", true},
		{"/memories/memories", "/memories", false},
		{"/memories/...", "/...", false},
		{"/memories/a..b", "/a..b", false},
		{"/memories/100%", "/100%", false},
		{"/memories/50% off.md", "/50% off.md", false},
		{"/memories/%zz", "/%zz", false},
		{"/memories/.hidden", "/.hidden", false},
		{"/memories/NUL", "/NUL", false},
		{"/memories/con.md", "/con.md", false},
		{"/memories/a:b", "/a:b", false},
		{"/memories/A", "/A", false},
		{"/memories/日本語.md", "/日本語.md", false},
		{"/memories/" + strings.Repeat("a", 1023), Path("/" + strings.Repeat("a", 1023)), false},
	}
	tool := NewTool(new(Store), nil)
	for _, tt := range tests {
		p, err := tool.locate(tt.path)
		if err != nil || p.path != tt.want || p.slash != tt.slash {
			t.Errorf("locate(%q) = %q, %v, %v; want %q, %v", tt.path, p.path, p.slash, err, tt.want, tt.slash)
		}
	}
}

func TestLocateRefuses(t *testing.T) {
	const outside, escape = "outside", "escape"
	tests := map[string]string{ // path to reason
		"":                           outside,
		"/":                          outside,
		"memories/a":                 outside,
		"/memoriesX":                 outside,
		"/memories_backup/a":         outside,
		"/memories.md":               outside,
		"/memories%2fa":              outside,
		`/memories\a`:                outside,
		"/Memories/a":                outside,
		"/etc/passwd":                outside,
		"//memories/a":               outside,
		" /memories/a":               outside,
		"../memories/a":              outside,
		"file:///memories/a":         outside,
		"C:\\memories\\a":            outside,
		"/memories\x00/a":            outside,
		"/tmp/../memories/a":         outside,
		"/memories/..":               escape,
		"/memories/../":              escape,
		"/memories/../etc":           escape,
		"/memories/a/../..":          escape,
		"/memories/a/../../b":        escape,
		"/memories/./../b":           escape,
		"/memories//../b":            escape,
		`/memories/..\b`:             escape,
		`/memories/a\..\..\b`:        escape,
		"/memories/%2e%2e/b":         escape,
		"/memories/%2E%2e%2Fb":       escape,
		"/memories/.%2e/b":           escape,
		"/memories/..%2fb":           escape,
		"/memories/..%5cb":           escape,
		"/memories/%252e%252e%252fb": escape, // encoded twice
		"/memories/%25252e%25252e/b": escape,
		"/memories/%%32%65%%32%65/b": escape, // an encoding made of encodings
		"/memories" + strings.Repeat("/..", 10_000):    escape,
		"/memories/../memories/a":                      escape,
		"/memories/a/..":                               reasonDots,
		"/memories/a/../b":                             reasonDots,
		"/memories/.":                                  reasonDots,
		"/memories/./a":                                reasonDots,
		"/memories/a/./b":                              reasonDots,
		"/memories/%2e":                                reasonPercent,
		"/memories/a%2fb":                              reasonPercent,
		"/memories/a%20b":                              reasonPercent,
		"/memories/a%00":                               reasonPercent,
		"/memories/%c0%ae%c0%ae%c0%afb":                reasonPercent, // overlong dots and slash
		"/memories/%e0%80%ae%e0%80%ae/b":               reasonPercent,
		"/memories/%" + strings.Repeat("25", 9) + "2e": reasonPercent,
		`/memories/a\b`:                                reasonBackslash,
		`/memories/\\server\share`:                     reasonBackslash,
		`/memories/a\..\b`:                             reasonBackslash,
		"/memories//":                                  reasonEmptySegment,
		"/memories//a":                                 reasonEmptySegment,
		"/memories/a//":                                reasonEmptySegment,
		"/memories/a//b":                               reasonEmptySegment,
		"/memories/a\x00b":                             reasonControl,
		"/memories/a\nb":                               reasonControl,
		"/memories/a\u202eb":                           reasonControl,
		"/memories/a\u2067b":                           reasonControl,
		"/memories/a\u200bb":                           reasonControl,
		"/memories/a\u2028b":                           reasonControl,
		"/memories/e\u0301":                            reasonNFC,
		"/memories/\xff":                               reasonUTF8,
		"/memories/\xc0\xae\xc0\xae/b":                 reasonUTF8,
		"/memories/" + strings.Repeat("a", 1024):       reasonTooLong,
		"/memories" + strings.Repeat("/a", 10_000):     reasonTooLong,
	}
	tool := NewTool(new(Store), nil)
	for path, reason := range tests {
		want := fmt.Sprintf(textInvalidPath, truncated(path, MaxPathBytes), reason)
		switch reason {
		case outside:
			want = fmt.Sprintf(textOutside, path)
		case escape:
			want = fmt.Sprintf(textEscape, truncated(path, MaxPathBytes))
		}
		p, err := tool.locate(path)
		if err == nil {
			t.Errorf("locate(%q) = %q; want %s", path, p.path, want)
			continue
		}
		if err.Error() != want || !errors.Is(err, ErrInvalidPath) {
			t.Errorf("locate(%q): %v; want %s", path, err, want)
		}
	}
}

var percentByte = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// decodedFully decodes percent-encoding until there is none.
func decodedFully(s string) string {
	for percentByte.MatchString(s) {
		s = percentByte.ReplaceAllStringFunc(s, func(code string) string {
			c, _ := hex.DecodeString(code[1:])
			return string(c)
		})
	}
	return s
}

func FuzzLocate(f *testing.F) {
	for _, s := range []string{
		"/memories", "/memories/", "/memories/a.md", "/memories/dir/", "/memories/../x", "/memories/%2e%2e/x", "/memories/%252e%252e%252fx",
		`/memories/..\x`, "/memoriesX", "/memories//", "/memories/a%", "/memories/%%32e", "/memories/%c0%ae", "/memories/e\u0301", "/memories/a\u202e",
	} {
		f.Add(s)
	}
	for _, s := range []string{"/memories/user", "/memories/user/", "/memories/user/a.md", "/memories/user/../team/a", "/memories/User", "/memories/users/a", "/memories/team//"} {
		f.Add(s)
	}
	one := NewTool(new(Store), nil)
	several, err := NewScopedTool([]Mount{{Name: "user", Store: new(Store)}, {Name: "team", Store: new(Store), ReadOnly: true}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// Both read the same paths, except that the name of a mount does not count
		// towards the length of a path.
		p, err := one.locate(s)
		q, scoped := several.locate(s)
		if (err == nil) != (scoped == nil) && len(s) <= MaxPathBytes {
			t.Fatalf("%q: %v for one store, %v for several", s, err, scoped)
		}
		if scoped == nil && (err == nil || q.store != nil) {
			spelled := q.agentPath(q.path)
			if q.slash || q.path.IsRoot() && strings.HasSuffix(s, "/") {
				spelled += "/"
			}
			if spelled != s {
				t.Fatalf("with mounts, %q means %q", s, spelled)
			}
		}
		if err != nil {
			refused, ok := errors.AsType[*ToolError](err)
			if !ok || !strings.HasPrefix(refused.Text, "Error: ") || strings.Contains(refused.Text, "%!") && !strings.Contains(s, "%!") {
				t.Fatalf("locate(%q): %v", s, err)
			}
			return
		}
		names := strings.FieldsFunc(decodedFully(s), func(r rune) bool { return r == '/' || r == '\\' })
		if slices.Contains(names, "..") || slices.Contains(names, ".") {
			t.Fatalf("%q is accepted", s)
		}
		if p.path.IsRoot() {
			if s != "/memories" && s != "/memories/" {
				t.Fatalf("%q is the root", s)
			}
			return
		}
		checkPath(t, p.path)
		spelled := p.agentPath(p.path)
		if p.slash {
			spelled += "/"
		}
		if spelled != s {
			t.Fatalf("%q means %q", s, spelled)
		}
	})
}
