package sensitive_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/sensitive"
	"memento/sensitive/internal/gencorpus"
	"memento/test/race"
)

// A tally counts, for each kind or surrounding, how many secrets there are and how many
// were found.
type tally map[string]*struct{ found, total int }

func (t tally) add(name string, found bool) {
	c := t[name]
	if c == nil {
		c = &struct{ found, total int }{}
		t[name] = c
	}
	c.total++
	if found {
		c.found++
	}
}

func (t tally) recall(name string) float64 { return float64(t[name].found) / float64(t[name].total) }

// worst returns lines with the names of lowest recall, lowest first.
func (t tally) worst(n int) string {
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.recall(a), t.recall(b)), cmp.Compare(a, b))
	})
	var b strings.Builder
	for _, name := range names[:min(n, len(names))] {
		fmt.Fprintf(&b, "\n\t%5.1f %%  %d of %d  %s", 100*t.recall(name), t[name].found, t[name].total, name)
	}
	return b.String()
}

// isFound reports whether a finding covers the secret of n, and no more than extra bytes
// beside it.
func isFound(n gencorpus.Note, findings []memento.Finding, extra int) bool {
	f, ok := covering(findings, memento.Finding{Start: n.Start, End: n.End})
	return ok && (f.End-f.Start)-(n.End-n.Start) <= extra
}

// A measure is what was found in generated notes.
type measure struct {
	kinds, places, all tally
	byLanguage         tally
	pairs              tally // kind and surrounding
	wrong              int   // findings where there is no secret
	missed             []gencorpus.Note
}

// measured returns what a detector finds in notes. Findings that cover a secret may cover
// extra bytes around it.
func measured(notes []gencorpus.Note, extra int) *measure {
	d := sensitive.Default()
	m := &measure{kinds: tally{}, places: tally{}, all: tally{}, byLanguage: tally{}, pairs: tally{}}
	for _, n := range notes {
		findings := d.Detect(n.Text, false)
		for _, f := range findings {
			if f.End <= n.Start || n.End <= f.Start {
				m.wrong++
			}
		}
		if n.Start == n.End {
			continue
		}
		found := isFound(n, findings, extra)
		m.kinds.add(n.Kind, found)
		m.places.add(n.Surrounding, found)
		m.pairs.add(n.Kind+" / "+n.Surrounding, found)
		m.all.add("all", found)
		if language, _, ok := strings.Cut(n.Surrounding, ", "); ok {
			m.byLanguage.add(language, found)
		}
		if !found {
			m.missed = append(m.missed, n)
		}
	}
	return m
}

var showMissed = flag.Int("missed", 0, "how many generated notes to print whose secrets are missed")

func (m *measure) print(t *testing.T) {
	t.Helper()
	t.Logf("recall %.2f %% of %d, %d wrong findings\nkinds:%s\nsurroundings:%s",
		100*m.all.recall("all"), m.all["all"].total, m.wrong, m.kinds.worst(30), m.places.worst(30))
	for i := range min(*showMissed, len(m.missed)) {
		n := m.missed[i*len(m.missed)/min(*showMissed, len(m.missed))]
		t.Logf("missed: %s / %s: %q in %q", n.Kind, n.Surrounding, n.Secret(), n.Text)
	}
}

// Secrets of each documented format are found in each surrounding: of each kind at least
// 95 % in any of them. With -long, there are twenty of each.
func TestFindsDocumentedSecrets(t *testing.T) {
	each := race.Scaled(5, 1)
	if *long {
		each = 20
	}
	m := measured(gencorpus.Documented(1, each), 16)
	m.print(t)
	if got := m.all.recall("all"); got < leastDocumented {
		t.Errorf("recall is %.2f %%, want at least %.1f %%", 100*got, 100*leastDocumented)
	}
	for kind := range m.kinds {
		if m.kinds.recall(kind) < 0.95 {
			t.Errorf("%s: recall is %.1f %%, want at least 95 %%", kind, 100*m.kinds.recall(kind))
		}
	}
	for pair, c := range m.pairs {
		if missed := c.total - c.found; missed > 1 && m.pairs.recall(pair) < 0.95 {
			t.Errorf("%s: recall is %.1f %%, want at least 95 %%", pair, 100*m.pairs.recall(pair))
		}
	}
}

// Passwords, PINs and keys of networks are found after words for them.
func TestFindsAnnouncedSecrets(t *testing.T) {
	m := measured(gencorpus.Announced(2, race.Scaled(2, 1)), 16)
	m.print(t)
	t.Logf("languages:%s", m.byLanguage.worst(20))
	if got := m.all.recall("all"); got < leastAnnounced {
		t.Errorf("recall is %.2f %%, want at least %.1f %%", 100*got, 100*leastAnnounced)
	}
}

// Secrets that commands, files and names make known are found.
func TestFindsCarriedSecrets(t *testing.T) {
	m := measured(gencorpus.Carried(3, race.Scaled(3, 1)), 48)
	m.print(t)
	if got := m.all.recall("all"); got < leastCarried {
		t.Errorf("recall is %.2f %%, want at least %.1f %%", 100*got, 100*leastCarried)
	}
}

// Secrets in columns that are aligned by spaces, to either side and with wide characters, are
// found.
func TestFindsSecretsInColumns(t *testing.T) {
	m := measured(gencorpus.Columns(8, race.Scaled(20, 5)), 4)
	m.print(t)
	if got := m.all.recall("all"); got < leastInColumns || m.wrong > 0 {
		t.Errorf("recall is %.2f %% with %d wrong findings, want at least %.1f %% and none", 100*got, m.wrong, 100*leastInColumns)
	}
}

// Harmless texts that look as if they had secrets are left alone.
func TestPrecision(t *testing.T) {
	d := sensitive.Default()
	found, wrong := 0, 0
	for _, n := range slices.Concat(gencorpus.Documented(4, 1), gencorpus.Announced(5, 1), gencorpus.Carried(6, 1), gencorpus.Harmless(7, 8)) {
		for _, f := range d.Detect(n.Text, false) {
			if f.Start < n.End && n.Start < f.End {
				found++
				continue
			}
			wrong++
			if wrong <= 60 {
				t.Logf("%s: found %s %q in %.200q", n.Kind, f.Kind, n.Text[f.Start:f.End], n.Text)
			}
		}
	}
	precision := float64(found) / float64(found+wrong)
	t.Logf("precision %.2f %%: %d right, %d wrong", 100*precision, found, wrong)
	if precision < leastPrecision {
		t.Errorf("precision is %.2f %%, want at least %.1f %%", 100*precision, 100*leastPrecision)
	}
}

// What must be reached.
const (
	leastDocumented = 0.995
	leastAnnounced  = 0.99
	leastCarried    = 0.985
	leastInColumns  = 0.98
	leastPrecision  = 0.995
)
