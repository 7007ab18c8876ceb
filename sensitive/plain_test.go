package sensitive

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/test/race"
)

// plainly is Detect without what makes it fast: it looks for one keyword after
// another, and runs the expression of each rule in all of its windows.
func (e *engine) plainly(text string) []memento.Finding {
	found := e.findPlainly(text, false)
	if len(found) == 0 {
		return nil
	}
	return findAll(text, found, e.findPlainly)
}

func (e *engine) findPlainly(text string, again bool) []memento.Finding {
	text, dress := e.stripBrackets(text)
	holes := e.placeholders(text)
	near := []span{{0, len(text)}}
	if again {
		near = linesAround(text, holes)
	}
	found := append(e.encoded(text, encodedRun.all(nil, text)), e.split(text)...)
	for _, r := range e.rules {
		windows := r.widen(text, r.plainWindows(text, holes))
		before := len(found)
		var run tokenRun
		for _, w := range windows {
			part := text[w.start:w.end]
			if n := len(found); n > before && r.anchored && r.read == nil && w.end <= found[n-1].end || len(overlapping(near, w)) == 0 || run.isExhausted(r, text, w.start) {
				continue
			}
			if r.plausible != nil && !r.plausible(part) || r.random && len(randomWords(nil, part)) == 0 {
				continue
			}
			if r.read != nil {
				found = r.readAll(found, text, w)
				continue
			}
			if r.anchored {
				n := len(found)
				if m := r.compiled().FindStringSubmatchIndex(part); m != nil {
					found = r.check(found, text, w, w.start, m)
				}
				if len(found) > n || r.mayMatch(part) {
					run.tried(len(found) > n)
				}
				continue
			}
			for _, m := range r.compiled().FindAllStringSubmatchIndex(part, -1) {
				found = r.check(found, text, w, w.start, m)
			}
		}
	}
	return e.findings(text, found, holes, dress)
}

// plainWindows returns where in text the rule must be searched for.
func (r *rule) plainWindows(text string, holes []span) (windows []span) {
	if len(r.keywords) == 0 {
		return []span{{0, len(text)}}
	}
	var places []span // of the keywords
	lowered := lowerASCII(text)
	for _, k := range slices.Compact(slices.Sorted(slices.Values(r.keywords))) {
		for from := 0; ; {
			i := strings.Index(lowered[from:], k)
			if i < 0 {
				break
			}
			places = append(places, span{from + i, from + i + len(k)})
			from += i + 1
		}
	}
	slices.SortFunc(places, func(a, b span) int { return cmp.Or(a.start-b.start, a.end-b.end) })
	reach := r.info().reach
	for _, p := range places {
		for len(holes) > 0 && holes[0].end <= p.start {
			holes = holes[1:]
		}
		if len(holes) > 0 && holes[0].start < p.end {
			continue
		}
		if r.atWordStart && p.start > 0 && (isLetter(text[p.start-1]) || isDigit(text[p.start-1])) ||
			r.startsToken() && !r.beginsAt(text, p.start) {
			continue
		}
		w := span{p.start, min(len(text), p.start+reach+utf8.UTFMax)}
		if r.anchored {
			w.end = characterStart(text, w.end)
		} else {
			w.start = max(0, p.start-reach)
		}
		n := len(windows) - 1
		if n >= 0 && (w.start == windows[n].start || w.start <= windows[n].end && !r.anchored) {
			windows[n].end = max(windows[n].end, w.end)
			continue
		}
		windows = append(windows, w)
	}
	return windows
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

// A writer writes texts that match expressions, or nearly.
type writer struct{ *rand.Rand }

// match returns what re matches, but for what has no width.
func (w writer) match(re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			if re.Flags&syntax.FoldCase != 0 && w.IntN(2) == 0 {
				c = []rune(strings.ToUpper(string(c)))[0]
			}
			b.WriteRune(c)
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return ""
		}
		i := 2 * w.IntN(len(re.Rune)/2)
		low, high := re.Rune[i], re.Rune[i+1]
		if high > 0x3000 && w.IntN(4) > 0 { // mostly what is near
			high = max(low, min(high, low+80))
		}
		if w.IntN(50) == 0 && high >= utf8.RuneError && low <= utf8.RuneError {
			return "\xfe" // which is taken for it
		}
		b.WriteRune(low + rune(w.IntN(int(high-low)+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a", "7", " ", "-", ".", "é", "\x80", "→"}[w.IntN(8)]
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			least, most = 0, -1
		case syntax.OpPlus:
			least, most = 1, -1
		case syntax.OpQuest:
			least, most = 0, 1
		}
		n := least
		if most < 0 {
			n += w.IntN(20)
		} else if w.IntN(3) > 0 {
			n += w.IntN(min(most-least, 60) + 1)
		}
		for range n {
			b.WriteString(w.match(re.Sub[0]))
		}
	case syntax.OpAlternate:
		return w.match(re.Sub[w.IntN(len(re.Sub))])
	default:
		for _, sub := range re.Sub {
			b.WriteString(w.match(sub))
		}
	}
	return b.String()
}

// damage returns s with something cut off, left out or changed, or as it is.
func (w writer) damage(s string) string {
	if s == "" {
		return s
	}
	i := w.IntN(len(s))
	switch w.IntN(6) {
	case 0:
		return s[:i]
	case 1:
		return s[i:]
	case 2:
		return s[:i] + s[i+1:]
	case 3:
		return s[:i] + pick(w, separators) + s[i+1:]
	}
	return s
}

func pick(w writer, from []string) string { return from[w.IntN(len(from))] }

var separators = []string{"", "", " ", "\n", "=", ": ", "@", "\"", "\t", "-", "_", "x", "7", "[REDACTED:password]", "[REDACTED:", "]", "\xff", "é", "ſ", "K", "→",
	" and the invoice needs exact totals ", "\n- [12] The customer keeps stable names.\n", " is ", " = ", "://", " password: ", " token is ", "key=", "(", "+", ".", ","}

// notes returns the texts of the corpus.
func notes(t testing.TB) (all []string) {
	for _, name := range []string{"secrets.txt", "personal.txt", "ordinary.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(data).Files {
			text := strings.NewReplacer("¦", "", "⟧", "").Replace(string(f.Data))
			for kind, rest, ok := strings.Cut(text, "⟦"); ok; kind, rest, ok = strings.Cut(text, "⟦") {
				_, rest, _ = strings.Cut(rest, "|")
				text = kind + rest
			}
			all = append(all, text)
		}
	}
	return all
}

// text returns parts of notes and what matches rules, or nearly.
func (w writer) text(notes []string, rules []*rule, parsed []*syntax.Regexp) string {
	var b strings.Builder
	for range 1 + w.IntN(8) {
		switch w.IntN(3) {
		case 0:
			note := pick(w, notes)
			b.WriteString(w.damage(note[w.IntN(len(note)):]))
		case 1:
			b.WriteString(w.damage(w.match(parsed[w.IntN(len(parsed))])))
		case 2: // which makes rules look that have no such word in their expression
			if r := rules[w.IntN(len(rules))]; len(r.keywords) > 0 {
				b.WriteString(pick(w, r.keywords))
			}
		}
		b.WriteString(pick(w, separators))
	}
	return b.String()
}

func parse(t testing.TB, r *rule) *syntax.Regexp {
	parsed, err := syntax.Parse(r.pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// What is said to be in every match is in every match.
func TestNecessary(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(3, 4))}
	helped := 0
	rules := Default().all().rules
	for _, r := range rules {
		if r.read != nil {
			continue
		}
		parsed, f := parse(t, r), r.info()
		if f.prefilter != nil {
			helped++
		}
		matches := 0
		for range race.Scaled(300, 30) {
			s := w.match(parsed)
			whole := pick(w, separators) + s + pick(w, separators)
			if r.anchored {
				whole = s + pick(w, separators)
			}
			m := r.compiled().FindStringIndex(whole)
			if m == nil {
				continue
			}
			matches++
			match := whole[m[0]:m[1]]
			if f.within != nil && len(slices.Collect(f.within.runs(match, span{0, len(match)}))) != 1 {
				t.Fatalf("%s: %q has other bytes than it is said to have", r.kind, match)
			}
			if r.kind == "email-address" && !r.plausible(match) {
				t.Fatalf("%q should be plausible", match)
			}
			if !f.prefilter.in(whole) || !f.prefilter.in(match) || !f.prefixes.in(whole) || !f.prefixes.mayBegin(match) {
				t.Fatalf("%s: there is a match in %q, which is denied", r.kind, whole)
			}
		}
		if matches < 10 {
			t.Errorf("%s: only %d of the texts made for it match", r.kind, matches)
		}
	}
	if helped < len(rules)*3/4 {
		t.Errorf("of %d rules, only %d know what is in every match", len(rules), helped)
	}
}

func TestRun(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(5, 6))}
	for range race.Scaled(100_000, 5_000) {
		var b strings.Builder
		for range w.IntN(40) {
			b.WriteByte("ab"[w.IntN(8)/7])
		}
		s, least := b.String(), 1+w.IntN(12)
		r := byteRun{rangeClass('a', 'a'), least}
		if got, want := r.in(s), strings.Contains(s, strings.Repeat("a", least)); got != want {
			t.Fatalf("%d in a row in %q: %t, want %t", least, s, got, want)
		}
	}
}

// Words are found once, wherever in a text they are.
func TestKeywords(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(7, 8))}
	words := []string{"a", "ab", "bab", "abcab", "cc", "bcabcabcabca", "é", "пар", "-u", "q1-"}
	k := newKeywords(words)
	for range race.Scaled(20_000, 1_000) {
		var b strings.Builder
		for range w.IntN(w.IntN(100) + 1) {
			b.WriteString([]string{"a", "b", "c", "A", "B", "C", "d", "-u", "Q1", "-", "é", "п", "пар", "\x00"}[w.IntN(4+w.IntN(10))])
		}
		text := b.String()
		var got, want []span
		k.find(text, func(word int32, start int) { got = append(got, span{start, int(word)}) })
		lowered := lowerASCII(text)
		for i, word := range words {
			for from := range len(text) {
				if strings.HasPrefix(lowered[from:], word) {
					want = append(want, span{from, i})
				}
			}
		}
		slices.SortFunc(got, func(a, b span) int { return cmp.Or(a.end-b.end, a.start-b.start) })
		if !slices.Equal(got, want) {
			t.Fatalf("in %q: %v, want %v", text, got, want)
		}
		if k.in(text) != (len(want) > 0) {
			t.Fatalf("in %q there are %d words", text, len(want))
		}
	}
}

// isPlainlyRandom is isRandom, byte by byte.
func isPlainlyRandom(s string) bool {
	numbers, cases := 0, 0
	for i := 1; i < len(s); i++ {
		a, b := s[i-1], s[i]
		switch {
		case isDigit(a) && isLetter(b) || isLetter(a) && isDigit(b):
			numbers++
		case 'a' <= a && a <= 'z' && 'A' <= b && b <= 'Z':
			cases++
		}
	}
	return numbers >= 4 || numbers >= 2 && cases >= 2 || cases >= 5
}

func TestIsRandom(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(11, 12))}
	random := 0
	n := race.Scaled(50_000, 5_000)
	for range n {
		var b strings.Builder
		for range w.IntN(30) {
			b.WriteByte("aaabbzAZ09-_ \xc3"[w.IntN(14)])
		}
		s := b.String()
		if got, want := isRandom(s), isPlainlyRandom(s); got != want {
			t.Fatalf("%q: %t, want %t", s, got, want)
		} else if got {
			random++
		}
	}
	if random < n/10 || random > n*9/10 {
		t.Errorf("%d of %d are random; want both kinds", random, n)
	}
	for _, length := range []int{1 << 16, 1 << 17} { // as many changes as half of it
		if s := strings.Repeat("aA", length/2); !isRandom(s) {
			t.Errorf("%d changes of case are not random", length/2)
		}
	}
}

func sameAsPlainly(t *testing.T, e *engine, d *Detector, text string, personal bool) {
	t.Helper()
	if diff := gocmp.Diff(e.plainly(text), d.Detect(text, personal)); diff != "" {
		t.Fatalf("personal=%t: findings in %q (-plainly +fast):\n%s", personal, text, diff)
	}
}

// What is fast finds what is plain, in texts with secrets, parts of secrets and what
// is like them.
func TestSameAsPlainly(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(9, 10))}
	d, all := Default(), notes(t)
	var parsed []*syntax.Regexp
	for _, r := range d.all().rules {
		parsed = append(parsed, parse(t, r))
	}
	for _, personal := range []bool{false, true} {
		e := d.secrets()
		if personal {
			e = d.all()
		}
		for _, text := range all {
			sameAsPlainly(t, e, d, text, personal)
		}
		found := 0
		n := race.Scaled(3000, 200)
		for range n {
			text := w.text(all, d.all().rules, parsed)
			sameAsPlainly(t, e, d, text, personal)
			found += min(1, len(d.Detect(text, personal)))
		}
		t.Logf("personal=%t: something in %d of %d texts", personal, found, n)
		if found < n/4 || found > n*9/10 {
			t.Errorf("personal=%t: something in %d of %d texts; want both kinds", personal, found, n)
		}
	}
}

func FuzzSameAsPlainly(f *testing.F) {
	for i, n := range notes(f) {
		f.Add(n, i%2 == 0)
	}
	f.Add("password: [REDACTED:hunter2abc-9x8y] and [REDACTED:[REDACTED:hunter2abc-9x8y]", false)
	f.Add("token=\xff\xfe\x80\x80\x80\x80 \xf0\x9f", true)
	d := Default()
	f.Fuzz(func(t *testing.T, text string, personal bool) {
		e := d.secrets()
		if personal {
			e = d.all()
		}
		sameAsPlainly(t, e, d, text, personal)
	})
}
