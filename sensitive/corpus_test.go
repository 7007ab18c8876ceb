package sensitive_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"memento"
	"memento/sensitive"
)

// A note is one of the corpus, with what must be found in it.
type note struct {
	name, text string
	marks      []memento.Finding
}

var mark = regexp.MustCompile(`⟦([a-z0-9-]+)\|([^⟧]*)⟧`)

// corpus reads an archive of notes; testdata/README.md describes them.
func corpus(t testing.TB, name string) []note {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var notes []note
	names := map[string]bool{}
	for _, f := range txtar.Parse(data).Files {
		if names[f.Name] {
			t.Fatalf("%s: two notes are called %q", name, f.Name)
		}
		names[f.Name] = true
		marked := strings.ReplaceAll(string(f.Data), "¦", "")
		n := note{name: f.Name}
		from := 0
		for _, m := range mark.FindAllStringSubmatchIndex(marked, -1) {
			n.text += marked[from:m[0]]
			start := len(n.text)
			n.text += marked[m[4]:m[5]]
			n.marks = append(n.marks, memento.Finding{Kind: marked[m[2]:m[3]], Start: start, End: len(n.text)})
			from = m[1]
		}
		n.text += marked[from:]
		if strings.ContainsAny(n.text, "⟦⟧") {
			t.Fatalf("%s: %s: a mark is not well formed", name, f.Name)
		}
		notes = append(notes, n)
	}
	return notes
}

// covering returns the finding that covers all of m.
func covering(findings []memento.Finding, m memento.Finding) (memento.Finding, bool) {
	i := slices.IndexFunc(findings, func(f memento.Finding) bool { return f.Start <= m.Start && m.End <= f.End })
	if i < 0 {
		return memento.Finding{}, false
	}
	return findings[i], true
}

// maxExtra is how many bytes around what it is about a finding may cover.
const maxExtra = 8

func checkRecall(t *testing.T, archive string, personal bool, least int) {
	d := sensitive.Default()
	total, found, extra, otherKind := 0, 0, 0, 0
	missed := map[string]int{}
	for _, n := range corpus(t, archive) {
		findings := d.Detect(n.text, personal)
		for _, m := range n.marks {
			total++
			f, ok := covering(findings, m)
			if !ok {
				missed[m.Kind]++
				t.Logf("%s: missed: %s", n.name, m.Kind)
				continue
			}
			found++
			more := (f.End - f.Start) - (m.End - m.Start)
			extra += more
			if more > maxExtra && m.Kind != "private-key" {
				t.Errorf("%s: %s: the finding is %d bytes longer than what it is about", n.name, m.Kind, more)
			}
			if f.Kind != m.Kind {
				otherKind++
				t.Errorf("%s: found as %s, want %s", n.name, f.Kind, m.Kind)
			}
		}
		for _, f := range findings {
			if !slices.ContainsFunc(n.marks, func(m memento.Finding) bool { return f.Start < m.End && m.Start < f.End }) {
				t.Errorf("%s: found %s where nothing is marked, in %d bytes at %d", n.name, f.Kind, f.End-f.Start, f.Start)
			}
		}
	}
	recall := float64(found) / float64(total)
	t.Logf("%s: found %d of %d, recall %.1f %%, %d bytes around them, %d of other kinds", archive, found, total, 100*recall, extra, otherKind)
	if total < least {
		t.Errorf("the corpus has %d marks, want at least %d", total, least)
	}
	if recall < 0.95 {
		t.Errorf("recall is %.1f %%, want at least 95 %%; missed: %v", 100*recall, missed)
	}
}

func TestFindsSecrets(t *testing.T)      { checkRecall(t, "secrets.txt", false, 80) }
func TestFindsPersonalData(t *testing.T) { checkRecall(t, "personal.txt", true, 30) }

// Ordinary notes are left alone, although they talk of tokens and passwords.
func TestLeavesOrdinaryNotes(t *testing.T) {
	d := sensitive.Default()
	notes := corpus(t, "ordinary.txt")
	loaded := regexp.MustCompile(`(?i)token|key|passw|secret|api|auth`)
	words := 0
	for _, n := range notes {
		if len(n.marks) > 0 {
			t.Fatalf("%s has marks", n.name)
		}
		if loaded.MatchString(n.text) {
			words++
		}
	}
	if len(notes) < 250 || words*2 < len(notes) {
		t.Errorf("%d notes, %d with words that announce secrets; want at least 250, and half of them", len(notes), words)
	}
	for _, personal := range []bool{false, true} {
		touched := 0
		kinds := map[string]int{}
		for _, n := range notes {
			findings := d.Detect(n.text, personal)
			if len(findings) == 0 {
				continue
			}
			touched++
			for _, f := range findings {
				kinds[f.Kind]++
				t.Logf("personal=%t: %s: found %s in %d bytes at %d", personal, n.name, f.Kind, f.End-f.Start, f.Start)
			}
		}
		share := float64(touched) / float64(len(notes))
		t.Logf("personal=%t: %d of %d ordinary notes touched, %.2f %%: %v", personal, touched, len(notes), 100*share, slices.Sorted(maps.Keys(kinds)))
		if share > 0.01 {
			t.Errorf("personal=%t: %.2f %% of the ordinary notes are touched, want at most 1 %%", personal, 100*share)
		}
	}
}
