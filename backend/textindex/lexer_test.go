package textindex

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"memento"
)

// lexerTexts are more spellings than a lexer's table has room for at first.
func lexerTexts() (all []string) {
	for n := range 200 {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "w%d Word%d a%s Ünïcode%d 北京%c, %s\n", i*n, n, strings.Repeat("b", (i+n)%70), i%3, rune(0x4e00+n), "\u0301")
		}
		all = append(all, b.String()+"ab", strings.Repeat("x", 15)+" "+strings.Repeat("x", 16)+" "+strings.Repeat("x", 17))
	}
	return all
}

// A lexer counts what there is in a text, whatever it has read before, and for however many
// spellings its table has room.
func TestLexerCountsWords(t *testing.T) {
	x := newLexer(nil)
	for _, text := range lexerTexts() {
		checkLexer(t, x, "/notes/a.md", text)
	}
}

func FuzzLexer(f *testing.F) {
	texts := lexerTexts()
	for i, text := range texts[1:] {
		if i%100 == 0 {
			f.Add(texts[i][:200], "/notes/Ünï.md", text[:50], uint8(i))
		}
	}
	f.Add("the fox", "/the.md", "# der Hund und die Katze\n北京 北\n京 a\u0301 \u0301", uint8(2))
	f.Fuzz(func(t *testing.T, before, path, text string, room uint8) {
		x := newLexer(nil)
		x.room = 1 + int(room)
		checkLexer(t, x, path, before)
		checkLexer(t, x, path, text)
	})
}

// checkLexer compares what a lexer takes from a text with what a new one does, and with Words.
func checkLexer(t *testing.T, x *lexer, path, text string) {
	t.Helper()
	d := x.read(path, text)
	if fresh := newLexer(nil).read(path, text); !reflect.DeepEqual(d, fresh) {
		t.Errorf("a lexer finds %v after other texts, and a new one %v in %q", d, fresh, text)
	}
	length, language := 0, detector{}
	count := func(text string) map[string]int {
		has := map[string]int{}
		var before Word
		for w := range Words(text) {
			length++
			form := term(w.Text)
			has[form]++
			language.add(tokenInfo{function: functionWordOf[form], script: scriptOf(form)})
			if pair := pairOf(before, w); pair != "" {
				has[pair]++
			}
			before = w
		}
		return has
	}
	contents := count(text)
	if d.length != length {
		t.Errorf("%d words are counted as %d in %q", length, d.length, text)
	}
	paths := count(path)
	if want := language.language(); d.language != want {
		t.Errorf("language %d instead of %d: %q", d.language, want, text)
	}
	for _, f := range d.forms {
		if body, inPath := min(contents[f.form], 1<<16-1), min(paths[f.form], 1<<16-1); int(f.body) != body || int(f.path) != inPath {
			t.Errorf("%q is counted %d and %d times instead of %d and %d in %q", f.form, f.body, f.path, body, inPath, text)
		}
		delete(contents, f.form)
		delete(paths, f.form)
	}
	if len(contents)+len(paths) > 0 {
		t.Errorf("forms are missing: %v %v", contents, paths)
	}
}

// What a lexer holds is bounded, whatever a document has, also while it reads one and when it
// remembers only what a request needs.
func TestLexerForgets(t *testing.T) {
	var b strings.Builder
	for i := range 3 * maxTokens {
		fmt.Fprintf(&b, "w%d ", i)
	}
	heap := func() uint64 {
		for range 2 { // a pool forgets in two collections
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for name, query := range map[string]string{"all words": "", "words that begin so": "w", "one word": "w1 "} {
		var filter *wordFilter
		if query != "" {
			filter = newWordFilter(request(memento.SearchOptions{Query: query}), 0)
		}
		before := heap()
		x := newLexer(filter)
		for _, text := range []string{b.String(), "a small one"} {
			x.read("/a.md", text)
			if x.tokens.len() > maxTokens || len(x.tokens.slots) > 2*maxTokens || len(x.tallies) >= maxTokens || cap(x.found) > 2*maxTokens {
				t.Errorf("%s: a lexer remembers %d spellings in %d slots, %d forms, and room for %d of a document", name, x.tokens.len(), len(x.tokens.slots), len(x.tallies), cap(x.found))
			}
		}
		if now := heap(); now > before+16<<20 {
			t.Errorf("%s: a lexer holds %d MB", name, (now-before)>>20)
		}
		runtime.KeepAlive(x)
	}
}
