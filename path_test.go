package memento

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

func TestParsePathAccepts(t *testing.T) {
	for _, s := range []string{
		"/a", "/a.md", "/a/b/c", "/…", "/...", "/..a", "/a..", "/a..b", "/.hidden", "/node_modules/x", "/a b", "/ ", "/A",
		"/é", "/日本語/ノート", "/\U0001f600", "/ẹ\u0301", // the last has no composed form
		"/con", "/NUL", "/aux.md", "/COM1", "/lpt9.txt", // device names elsewhere
		`/a\b`, "/100%", "/%2e%2e", "/a:b", "/*?<>|\"'", "/~", "/-rf", "/$HOME", "/`x`", "/{a,b}", // text here
		"/" + strings.Repeat("a", MaxPathBytes-1),
		strings.Repeat("/a", MaxPathBytes/2),
		"/" + strings.Repeat("é", (MaxPathBytes-1)/2),
	} {
		p, err := ParsePath(s)
		if err != nil || string(p) != s {
			t.Errorf("ParsePath(%q) = %q, %v", s, p, err)
		}
	}
}

func TestParsePathRefuses(t *testing.T) {
	for s, reason := range map[string]string{
		"":                                     reasonEmpty,
		"a.md":                                 reasonRelative,
		" /a":                                  reasonRelative,
		`\a`:                                   reasonRelative,
		"/":                                    reasonRoot,
		"//":                                   reasonSlashEnd,
		"/a/":                                  reasonSlashEnd,
		"//a":                                  reasonEmptySegment,
		"/a//b":                                reasonEmptySegment,
		"/./a":                                 reasonDots,
		"/.":                                   reasonDots,
		"/..":                                  reasonDots,
		"/a/..":                                reasonDots,
		"/a/../b":                              reasonDots,
		"/a/.":                                 reasonDots,
		"/a\x00b":                              reasonControl,
		"/a\nb":                                reasonControl,
		"/a\x7f":                               reasonControl,
		"/a\u0085":                             reasonControl, // next line
		"/a\u00adb":                            reasonControl, // soft hyphen
		"/a\u200bb":                            reasonControl, // zero-width space
		"/a\u200db":                            reasonControl, // zero-width joiner
		"/a\u202eb":                            reasonControl, // right-to-left override
		"/a\u2066b":                            reasonControl, // left-to-right isolate
		"/a\ufeff":                             reasonControl, // byte order mark
		"/a\u2028":                             reasonControl,
		"/a\u2029":                             reasonControl,
		"/e\u0301":                             reasonNFC,
		"/\u212b":                              reasonNFC, // angstrom sign
		"/a\xff":                               reasonUTF8,
		"/\xc0\xae\xc0\xae":                    reasonUTF8, // overlong dots
		"/\xed\xa0\x80":                        reasonUTF8, // a surrogate
		"/" + strings.Repeat("a", 1024):        reasonTooLong,
		strings.Repeat("/a", 10_000):           reasonTooLong,
		"/" + strings.Repeat("é", 512):         reasonTooLong, // 513 characters
		"/" + strings.Repeat("../", 9) + "etc": reasonDots,
	} {
		p, err := ParsePath(s)
		fault, ok := errors.AsType[*PathError](err)
		if !ok || p != "" || fault.Reason != reason || fault.Path != s || !errors.Is(err, ErrInvalidPath) {
			t.Errorf("ParsePath(%q) = %q, %v; want the reason %q", s, p, err, reason)
		}
	}
}

func TestParseDir(t *testing.T) {
	for s, want := range map[string]Path{"/": Root, "/a": "/a", "/a/": "/a", "/a/b/": "/a/b"} {
		if got, err := ParseDir(s); err != nil || got != want {
			t.Errorf("ParseDir(%q) = %q, %v; want %q", s, got, err, want)
		}
	}
	for _, s := range []string{"", "a", "//", "/a//", "/../"} {
		if got, err := ParseDir(s); !errors.Is(err, ErrInvalidPath) {
			t.Errorf("ParseDir(%q) = %q, %v; want ErrInvalidPath", s, got, err)
		}
	}
}

func TestPathParts(t *testing.T) {
	tests := []struct {
		path      Path
		parent    Path
		base      string
		depth     int
		ancestors []Path
	}{
		{Root, Root, "", 0, nil},
		{"/a", Root, "a", 1, nil},
		{"/a/b.md", "/a", "b.md", 2, []Path{"/a"}},
		{"/a/b/c", "/a/b", "c", 3, []Path{"/a/b", "/a"}},
	}
	for _, tt := range tests {
		if got := tt.path.Parent(); got != tt.parent {
			t.Errorf("%s: Parent %q, want %q", tt.path, got, tt.parent)
		}
		if got := tt.path.Base(); got != tt.base {
			t.Errorf("%s: Base %q, want %q", tt.path, got, tt.base)
		}
		if got := tt.path.Depth(); got != tt.depth {
			t.Errorf("%s: Depth %d, want %d", tt.path, got, tt.depth)
		}
		if diff := cmp.Diff(tt.ancestors, slices.Collect(tt.path.Ancestors())); diff != "" {
			t.Errorf("%s: Ancestors (-want +got):\n%s", tt.path, diff)
		}
	}
}

func TestPathContains(t *testing.T) {
	for _, tt := range []struct {
		dir, path Path
		want      bool
	}{
		{Root, "/a", true}, {"/a", "/a/b", true}, {"/a", "/a/b/c", true},
		{Root, Root, false}, {"/a", "/a", false}, {"/a", "/ab", false}, {"/a/b", "/a", false}, {"/a", Root, false},
	} {
		if got := tt.dir.Contains(tt.path); got != tt.want {
			t.Errorf("%q.Contains(%q) = %v", tt.dir, tt.path, got)
		}
	}
}

func TestPathMoved(t *testing.T) {
	for _, tt := range []struct{ path, from, to, want Path }{
		{"/a", "/a", "/b", "/b"}, {"/a/x", "/a", "/b", "/b/x"}, {"/a/x/y", "/a/x", "/z", "/z/y"},
		{"/ab", "/a", "/b", "/ab"}, {"/c", "/a", "/b", "/c"},
	} {
		if got := tt.path.Moved(tt.from, tt.to); got != tt.want {
			t.Errorf("%q.Moved(%q, %q) = %q, want %q", tt.path, tt.from, tt.to, got, tt.want)
		}
	}
}

// segments is Segments without the empty name that Root has.
func segments(p Path) []string {
	if p.IsRoot() {
		return nil
	}
	return slices.Collect(p.Segments())
}

// checkPath checks what must hold for every path that was accepted, by means
// that the code under test does not use.
func checkPath(t *testing.T, p Path) {
	t.Helper()
	s := string(p)
	if path.Clean(s) != s || !path.IsAbs(s) || s == "/" {
		t.Fatalf("%q is not a clean path below the root", s)
	}
	if len(s) > MaxPathBytes || !utf8.ValidString(s) || norm.NFC.String(s) != s {
		t.Fatalf("%q is too long, not UTF-8 or not NFC", s)
	}
	if i := strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
	}); i >= 0 {
		t.Fatalf("%q has a forbidden character at %d", s, i)
	}
	if again, err := ParsePath(s); err != nil || again != p {
		t.Fatalf("%q parses as %q, %v the second time", s, again, err)
	}
	if dir, err := ParseDir(s + "/"); err != nil || dir != p {
		t.Fatalf("%q is the directory %q, %v", s, dir, err)
	}
	names := segments(p)
	if "/"+strings.Join(names, "/") != s || len(names) != p.Depth() || slices.Contains(names, "..") || slices.Contains(names, "") {
		t.Fatalf("%q has the segments %q and depth %d", s, names, p.Depth())
	}
	if p.Parent().Join(p.Base()) != p || p.Base() != names[len(names)-1] || p.Contains(p) {
		t.Fatalf("%q falls into %q and %q", s, p.Parent(), p.Base())
	}
	joined := Root
	for _, name := range names {
		joined = joined.Join(name)
	}
	if joined != p {
		t.Fatalf("%q joins to %q", s, joined)
	}
	above := iterLen(p.Ancestors())
	if above != len(names)-1 || !Root.Contains(p) {
		t.Fatalf("%q has %d ancestors", s, above)
	}
	for dir := range p.Ancestors() {
		if !dir.Contains(p) || dir.Contains(dir) || p.Contains(dir) {
			t.Fatalf("%q and its ancestor %q", s, dir)
		}
		if back := p.Moved(dir, "/moved").Moved("/moved", dir); back != p {
			t.Fatalf("%q came back as %q", s, back)
		}
	}
}

func iterLen[T any](seq iter.Seq[T]) (n int) {
	for range seq {
		n++
	}
	return n
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"/a", "/a/b.md", "/", "", "//", "/../x", "/e\u0301", "/é/日本", "/a\u200b", "/…", "/.hidden/..a", "/\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePath(s)
		if err != nil {
			if fault, ok := errors.AsType[*PathError](err); !ok || fault.Reason == "" {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		if string(p) != s {
			t.Fatalf("%q became %q", s, p)
		}
		checkPath(t, p)
	})
}

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
