package storetest

import (
	"strings"
	"testing"

	"memento"
)

func contents(t *testing.T, h Harness) {
	h.run(t, "byte for byte", byteForByte)
	h.run(t, "small differences", smallDifferences)
	h.run(t, "largest", largestContents)
}

// awkward returns contents that careless code damages.
func awkward() map[memento.Path]string {
	return map[memento.Path]string{
		"/empty":         "",
		"/newline":       "\n",
		"/newlines":      "\n\n\n",
		"/no-newline":    "a\nb",
		"/crlf":          "a\r\nb\r\n",
		"/mixed":         "a\rb\nc\r\nd\n\re",
		"/separators":    "a\u2028b\u2029c\u0085d\ve\ff",
		"/emoji":         "👩‍👩‍👧‍👦 🏳️‍🌈 \U0001F1E9\U0001F1EA",
		"/nul":           "a\x00b\x00\x00",
		"/only-nul":      "\x00",
		"/controls":      "\x01\x02\x1b[31m\x7f\b",
		"/bom":           "\ufeffa\ufeff",
		"/decomposed":    "e\u0301 A\u030a \u1100\u1161",
		"/composed":      "é Å 가",
		"/replacement":   "\ufffd\ufffe\uffff\U0010ffff",
		"/patterns":      "$& $1 $$ $` \\1 \\0 \\\\ %s %d %% %2e {{.}} ${x}",
		"/quotes":        "`a` ```go\n'b' \"c\" '' \"\" \\' ;--",
		"/sql":           "'); DROP TABLE memories; --",
		"/spaces":        "  \t a \t  \n \n\t",
		"/long-line":     strings.Repeat("0123456789", 10_000),
		"/long-emoji":    strings.Repeat("🙂", 25_000),
		"/many-newlines": strings.Repeat("\n", 100_000),
		"/bidi":          "\u202eabc\u202c \u200b\u200d\u00ad",
		"/json":          "{\"a\": \"\\u0000\", \"b\": [1,2]}\n",
	}
}

func byteForByte(e *env) {
	want := awkward()
	made := map[memento.Path]memento.VersionID{}
	for p, text := range want {
		made[p] = e.put(p, text).ID
	}
	check := func(when string) {
		e.Helper()
		for p, text := range want {
			if m := e.get(p); m.Content != text || m.Size != int64(len(text)) || m.SHA256 != memento.HashContent(text) {
				e.Errorf("%s, %s: got %.60q (%d bytes), want %.60q", when, p, m.Content, len(m.Content), text)
			}
			if v := e.version(made[p]); v.Content != text {
				e.Errorf("%s, version of %s: got %.60q, want %.60q", when, p, v.Content, text)
			}
		}
		e.holds(want)
	}
	check("at once")
	e.reopen()
	check("reopened")

	// Each also replaces the other, and comes back.
	paths := sortedPaths(want)
	for i, p := range paths {
		next := want[paths[(i+1)%len(paths)]]
		e.put(p, next)
		if got := e.get(p).Content; got != next {
			e.Errorf("%s: got %.60q, want %.60q", p, got, next)
		}
		made[p] = e.put(p, want[p]).ID
	}
	check("written again")
}

func smallDifferences(e *env) {
	texts := []string{"", "\n", "\r\n", "a", "a\n", "a\r\n", "a\r", "a ", "A", "á", "a\u0301", "a\x00", "a\u200b", "\ufeffa"}
	for _, text := range texts {
		e.put("/a", text)
		if got := e.get("/a").Content; got != text {
			e.Errorf("got %q, want %q", got, text)
		}
	}
	versions := e.versions(memento.VersionListOptions{OldestFirst: true, Contents: true})
	if len(versions) != len(texts) {
		e.Fatalf("%d versions of %d texts", len(versions), len(texts))
	}
	for i, v := range versions {
		if v.Content != texts[i] {
			e.Errorf("version %d: got %q, want %q", i, v.Content, texts[i])
		}
	}
}

func largestContents(e *env) {
	most := int(memento.DefaultLimits().MemoryBytes)
	ascii, wide := strings.Repeat("x", most), strings.Repeat("é", most/2)
	e.put("/ascii", ascii)
	e.put("/wide", wide)
	e.refused(memento.ErrTooLarge, "/ascii", memento.Put{Path: "/ascii", Content: ascii + "x"})
	e.refused(memento.ErrTooLarge, "/new", memento.Put{Path: "/new", Content: wide + "x"})
	e.put("/ascii", ascii[1:]+"y")
	e.put("/ascii", ascii)

	e.setLimits(memento.Limits{MemoryBytes: 5 << 20})
	huge := strings.Repeat("0123456789abcde\n", 5<<16)
	e.put("/huge", huge)
	e.reopen()
	if e.get("/huge").Content != huge || e.get("/ascii").Content != ascii || e.get("/wide").Content != wide {
		e.Error("large contents came back changed")
	}
}
