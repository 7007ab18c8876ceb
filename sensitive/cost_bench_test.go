package sensitive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The vocabulary of notes such as an agent writes that helps with customers and code.
var (
	subjects = []string{"customer", "team", "reviewer", "build server", "release", "migration", "importer", "invoice",
		"dashboard", "parser", "scheduler", "client", "gateway", "report", "schema", "index", "cache", "pipeline"}
	verbs = []string{"needs", "prefers", "keeps", "expects", "returns", "rejects", "loads", "sends", "waits for",
		"replaces", "documents", "measures", "retries", "skips", "validates"}
	objects = []string{"short answers", "plain text", "a second review", "smaller batches", "exact totals",
		"the old format", "weekly summaries", "stable names", "fewer requests", "clear errors", "one owner"}
	reasons = []string{"because the last attempt failed on large inputs", "as agreed in the planning call",
		"until the new version is out", "when the nightly job is late", "unless the account is on trial",
		"so that nobody has to ask twice", "since the numbers must match the ledger"}
)

// written returns notes of about n bytes each, with the line that extra returns
// after every third sentence.
func written(count, n int, extra func(r *rand.Rand) string) []string {
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(words []string) string { return words[r.IntN(len(words))] }
	notes := make([]string, count)
	for i := range notes {
		var b strings.Builder
		fmt.Fprintf(&b, "# Notes on %s %d\n\nReview state: pending\n", pick(subjects), i)
		for line := 0; b.Len() < n; line++ {
			switch {
			case line%9 == 0:
				fmt.Fprintf(&b, "\n## %s %s\n", pick(subjects), pick(objects))
			case line%3 == 0:
				fmt.Fprintf(&b, "- [%d] %s", line, extra(r))
			}
			fmt.Fprintf(&b, "The %s %s %s %s.\n", pick(subjects), pick(verbs), pick(objects), pick(reasons))
		}
		notes[i] = b.String()
	}
	return notes
}

// extras are the kinds of notes whose cost is measured.
var extras = []struct {
	name  string
	extra func(r *rand.Rand) string
}{
	{"prose", func(*rand.Rand) string { return "" }},
	{"numbers", func(r *rand.Rand) string {
		return fmt.Sprintf("On 2026-%02d-%02d it took %d ms for %d rows (%.1f %%), order %d. ", 1+r.IntN(12), 1+r.IntN(28), r.IntN(5000), r.IntN(1e6), 100*r.Float64(), r.IntN(1e9))
	}},
	{"urls", func(r *rand.Rand) string {
		return fmt.Sprintf("See https://docs.acme.io/team/%d/page?id=%d#part-%d and http://10.0.%d.%d:8080/health. ", r.IntN(100), r.IntN(1e6), r.IntN(10), r.IntN(255), r.IntN(255))
	}},
	{"code", func(r *rand.Rand) string {
		return fmt.Sprintf("`for i := range len(keys) { m[keys[i]] = append(m[keys[i]], %d) }`, `cfg.Timeout = %d * time.Second`, commit %08x. ", r.IntN(9), r.IntN(60), r.Uint32())
	}},
	{"loaded", func(r *rand.Rand) string {
		return fmt.Sprintf("The API key is in 1Password, the token of client %d expires in %d days, and its password was reset. ", r.IntN(100), r.IntN(90))
	}},
	{"secrets", func(r *rand.Rand) string {
		return fmt.Sprintf("Its password: s0lar-w%dnd!Q%d ", r.IntN(100), r.IntN(1000))
	}},
}

// Where an ordinary note has a keyword, what every match has is missing: no
// expression is run.
func TestNothingMayMatchInProse(t *testing.T) {
	e := Default().all()
	windows := 0
	for _, text := range slices.Concat(written(64, 2048, extras[0].extra), written(64, 2048, withDigits)) {
		s := e.newSearch()
		e.windows(s, text, nil)
		for _, i := range s.rulesWithWindows {
			r := e.rules[i]
			for _, w := range r.widen(text, r.inOrder(s.windows[i])) {
				windows++
				if r.anchored || r.mayMatch(text[w.start:w.end]) {
					t.Errorf("%s may be in %q", r.kind, text[w.start:w.end])
				}
			}
		}
		e.done(s)
	}
	if windows == 0 {
		t.Error("no note has a keyword")
	}
}

// withDigits returns a line that has digits, which are keywords of rules for phone numbers.
func withDigits(r *rand.Rand) string {
	return fmt.Sprintf("Ticket %d was closed, and %d are open. ", r.IntN(1e4), r.IntN(100))
}

// A note of 2 KB, as most are.
func BenchmarkNote(b *testing.B) {
	d := Default()
	for _, personal := range []bool{false, true} {
		for _, x := range extras {
			notes := written(64, 2048, x.extra)
			b.Run(fmt.Sprintf("%s/personal=%t", x.name, personal), func(b *testing.B) {
				for _, n := range notes {
					d.Detect(n, personal)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					d.Detect(notes[i%len(notes)], personal)
					i++
				}
			})
		}
	}
}

// Ordinary notes cost the same however many rules there are.
func BenchmarkManyRules(b *testing.B) {
	notes := written(64, 2048, extras[0].extra)
	for _, n := range []int{0, 100, 1000} {
		var rules strings.Builder
		for i := range n {
			fmt.Fprintf(&rules, "[[rules]]\nid = 'acme-%d'\nregex = '\\bacme%d_[a-z0-9]{20}\\b'\nkeywords = ['acme%d_']\n", i, i, i)
		}
		d, err := New(&Options{Rules: []byte(rules.String())})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%d more", n), func(b *testing.B) {
			for _, n := range notes {
				d.Detect(n, false)
			}
			i := 0
			for b.Loop() {
				d.Detect(notes[i%len(notes)], false)
				i++
			}
		})
	}
}
