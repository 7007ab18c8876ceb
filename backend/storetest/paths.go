package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memento"
)

func paths(t *testing.T, h Harness) {
	h.run(t, "invalid", invalidPaths)
	h.run(t, "legal", legalPaths)
	h.run(t, "alike but apart", alikePaths)
}

func invalidPaths(e *env) {
	e.fill("/a", "/dir/file")
	before := e.everything()
	invalid := []memento.Path{
		"", "a", "a/b", "./a", "../a", "~/a", "/", "//", "//a", "/a//b", "/a/", "/dir/", "/dir/file/",
		"/.", "/..", "/../a", "/a/..", "/dir/../a", "/./a", "/dir/./file", "/dir/..", `C:\a`, `\a`,
		"/a\x00b", "/\x00", "/a\nb", "/a\rb", "/a\tb", "/\x1b[31m", "/a\x7f", "/a\u0085b", "/a\u009fb",
		"/e\u0301", "/A\u030a", "/\u1100\u1161", "/\u212b", // not in form NFC; the last is the Ångström sign
		"/a\u2028b", "/a\u2029b", "/a\u200bb", "/a\u200db", "/\u202eb", "/\ufeffa", "/a\u00adb", "/\U000e0041",
		"/\xff", "/a\xc3", "/a\xed\xa0\x80", "/a\xc0\xaf",
		memento.Path("/" + strings.Repeat("x", 1024)),
		memento.Path(strings.Repeat("/a", 513)),
		memento.Path("/" + strings.Repeat("é", 512)),
	}
	for _, p := range invalid {
		for _, change := range []memento.Change{
			memento.Put{Path: p, Content: "x"},
			memento.Put{Path: p, Content: "x", If: memento.IfAbsent()},
			memento.Remove{Path: p},
			memento.Move{From: p, To: "/new"},
			memento.Move{From: "/a", To: p},
			memento.Move{From: "/dir", To: p},
		} {
			err := e.try(change)
			wantError(e, fmt.Sprintf("%T %.40q", change, p), err, memento.ErrInvalidPath)
			if at, ok := errors.AsType[*memento.PathError](err); ok && (at.Path != string(p) || at.Reason == "") {
				e.Errorf("%T %.40q: error is about %.40q", change, p, at.Path)
			}
		}
		if _, err := e.b.Get(e.Context(), e.store, memento.ByPath(p)); err == nil {
			e.Errorf("Get %.40q found something", p)
		}
	}
	e.same("store", before, e.everything())
}

// legal returns valid paths that are difficult for other systems. None is the directory of
// another.
func legal() []memento.Path {
	return []memento.Path{
		"/a", "/A", "/a.md", "/a b", "/a-b", "/a~/b",
		"/.hidden", "/...", "/..a", "/a..", "/.a/.b", "/node_modules/x",
		"/%2e%2e", "/%2F", "/a%", "/100%25", "/a%20b", "/+", "/a+b",
		`/a\b`, `/..\..`, `/\`, "/C:", "/con", "/NUL.txt", "/aux/lpt1", "/a:b", "/trailing.", "/trailing ", "/ leading", "/ ",
		"/'", `/"`, "/`", "/;", "/a'; DROP TABLE memories; --", "/a\"b", "/$HOME", "/$(x)", "/${x}", "/!", "/#", "/?a=b", "/&", "/=",
		"/*", "/**/x", "/[a-z]", "/{a,b}", "/a_b", "/axb", "/_", "/~", "/^", "/|", "/<>", "/,", "/@", "/-", "/--", "/-rf",
		"/é", "/É", "/ñ", "/å", "/ß", "/ss", "/SS", "/ı", "/i", "/I", "/İ", "/ſ", "/ς", "/σ", "/Σ", "/ﬁ", "/fi",
		"/日本語/メモ.md", "/日本", "/中文", "/한국어", "/עברית", "/العربية", "/ไทย", "/हिन्दी",
		"/😀", "/👍🏽", "/𝒳", "/ａ", "/①", "/１", "/1", "/\u00a0", "/\u3000", "/\ufffd", "/\uff5e", "/\U00010000",
		memento.Path("/n/" + strings.Repeat("n", 255)),
		memento.Path("/w/" + strings.Repeat("名", 85)), // 255 bytes
		memento.Path("/l/" + strings.Repeat("l", 256)),
		memento.Path("/x/" + strings.Repeat("x", 1021)),
		memento.Path("/q" + strings.Repeat("/q", 511)), // 512 deep
		memento.Path("/r" + strings.Repeat("/"+strings.Repeat("r", 200), 5)),
	}
}

// tooLongEncrypted reports whether a path is too long after 16 bytes were added to each of
// its names and the result was encoded in base 32, five bytes in eight characters.
func tooLongEncrypted(p memento.Path) bool {
	n := 0
	for name := range p.Segments() {
		n += 1 + ((len(name)+16)*8+4)/5
	}
	return n > memento.MaxPathBytes
}

func legalPaths(e *env) {
	ps := legal()
	if e.h.EncryptedNames {
		ps = slices.DeleteFunc(ps, tooLongEncrypted)
	}
	want := map[memento.Path]string{}
	for _, p := range ps {
		e.put(p, string(p))
		want[p] = string(p)
	}
	e.reopen()
	e.holds(want)
	slices.Sort(ps)
	var got []memento.Path
	for _, x := range e.list(memento.ListOptions{}) {
		got = append(got, x.Path)
	}
	if diff := cmp.Diff(ps, got); diff != "" {
		e.Errorf("order (-want +got):\n%s", diff)
	}
	for _, p := range ps {
		if m := e.get(p); m.Content != string(p) || m.Path != p {
			e.Errorf("Get %q: %+v", p, m)
		}
		if got := e.versions(memento.VersionListOptions{Path: p}); len(got) != 1 || got[0].Path != p {
			e.Errorf("%d versions of %q", len(got), p)
		}
	}
	// Moved and moved back, then removed.
	for i, p := range ps {
		there := memento.Path(fmt.Sprintf("/there/%d", i))
		e.apply(memento.Move{From: p, To: there})
		e.missing(p)
		e.apply(memento.Move{From: there, To: p})
	}
	e.holds(want)
	for i, p := range ps {
		e.apply(memento.Remove{Path: p})
		if got := int(e.info().Usage.Memories); got != len(ps)-i-1 {
			e.Fatalf("removing %q left %d memories", p, got)
		}
	}
}

// alikePaths checks that paths which some systems consider equal are different memories.
func alikePaths(e *env) {
	for _, pair := range [][2]memento.Path{
		{"/case", "/Case"},
		{"/dir/a", "/DIR/b"},
		{"/straße", "/strasse"},
		{"/dotless-ı", "/dotless-i"},
		{"/wide-ａ", "/wide-a"},
		{"/space", "/space "},
		{"/dot", "/dot."},
		{"/nbsp a", "/nbsp\u00a0a"},
		{"/percent-%41", "/percent-A"},
		{"/cyrillic-а", "/cyrillic-a"},
		{`/slash\x`, "/slash/x"},
	} {
		e.put(pair[0], "first")
		e.missing(pair[1])
		e.apply(memento.Put{Path: pair[1], Content: "second", If: memento.IfAbsent()})
		e.apply(memento.Remove{Path: pair[0]})
		if got := e.get(pair[1]).Content; got != "second" {
			e.Errorf("changing %q also changed %q", pair[0], pair[1])
		}
	}
	e.put("/é", "composed")
	e.missing("/e\u0301")
	if got := e.list(memento.ListOptions{Dir: "/DIR"}); len(got) != 1 || got[0].Path != "/DIR/b" {
		e.Errorf("below /DIR: %v", entryPaths(got))
	}
}
