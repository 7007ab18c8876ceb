package sensitive_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"memento"
	"memento/backend/apikey"
	"memento/sensitive"
	"memento/test/cputime"
	"memento/test/race"
)

// mask replaces findings as a store does.
func mask(text string, findings []memento.Finding) string {
	var b strings.Builder
	from := 0
	for _, f := range findings {
		b.WriteString(text[from:f.Start] + "[REDACTED:" + f.Kind + "]")
		from = f.End
	}
	return b.String() + text[from:]
}

// checkPromises checks what memento.Detector promises of every text.
func checkPromises(t *testing.T, d memento.SplitDetector, text string, personal bool) {
	t.Helper()
	checkPromisesOf(t, d.Detect, text, personal)
	checkPromisesOf(t, d.DetectSplit, text, personal)
}

func checkPromisesOf(t *testing.T, detect func(text string, personal bool) []memento.Finding, text string, personal bool) {
	t.Helper()
	findings := detect(text, personal)
	end := 0
	for _, f := range findings {
		switch {
		case f.Start < end || f.End <= f.Start || f.End > len(text):
			t.Fatalf("%+v: the findings overlap, are empty or are out of order", findings)
		case !isBoundary(text, f.Start) || !isBoundary(text, f.End):
			t.Fatalf("%+v of %q is not at characters", f, text)
		case strings.Trim(f.Kind, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || f.Kind == "":
			t.Fatalf("the kind is %q", f.Kind)
		}
		end = f.End
	}
	masked := mask(text, findings)
	if again := detect(masked, personal); len(again) > 0 {
		t.Fatalf("%q\nmasked %q\nfound again %+v", text, masked, again)
	}
}

// isBoundary reports whether a character of text begins or ends at i.
func isBoundary(text string, i int) bool {
	for at := range text {
		if at == i {
			return true
		}
	}
	return i == len(text)
}

func allNotes(t testing.TB) []note {
	return slices.Concat(corpus(t, "secrets.txt"), corpus(t, "personal.txt"), corpus(t, "ordinary.txt"))
}

func TestPromises(t *testing.T) {
	d := sensitive.Default()
	for _, n := range allNotes(t) {
		for _, personal := range []bool{false, true} {
			checkPromises(t, d, n.text, personal)
		}
	}
}

// Parts of notes in any order, so that secrets stand next to one another, cut
// short, and next to placeholders.
func TestPromisesOfMixedTexts(t *testing.T) {
	d := sensitive.Default()
	notes := allNotes(t)
	r := rand.New(rand.NewPCG(1, 2))
	n := 3000
	if race.Enabled || testing.Short() {
		n = 300
	}
	for range n {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			text := notes[r.IntN(len(notes))].text
			from := r.IntN(len(text))
			b.WriteString(text[from : from+r.IntN(min(len(text)-from, 200))])
			b.WriteString([]string{"", "", " ", "\n", "=", ":", "@", "[REDACTED:password]", "[REDACTED:", "]", "\xff", "é"}[r.IntN(12)])
		}
		checkPromises(t, d, b.String(), r.IntN(2) == 0)
	}
}

func FuzzDetect(f *testing.F) {
	for _, n := range allNotes(f) {
		f.Add(n.text, len(n.text)%2 == 0)
	}
	f.Add("password: [REDACTED:password]abc123", false)
	f.Add("password: [REDACTED:hunter2abc-9x8y] and [REDACTED:[REDACTED:hunter2abc-9x8y]", false)
	f.Add("token=\xff\xfe\x80\x80\x80\x80 \xf0\x9f", true)
	d := sensitive.Default()
	f.Fuzz(func(t *testing.T, text string, personal bool) {
		checkPromises(t, d, text, personal)
	})
}

// What is said of the windows that rules look at: they find in the whole text
// what they find in the note that it is in.
func TestWindowsLoseNothing(t *testing.T) {
	d := sensitive.Default()
	for _, archive := range []string{"secrets.txt", "personal.txt"} {
		var text strings.Builder
		var want []memento.Finding
		for _, n := range corpus(t, archive) {
			text.WriteString("\n\n" + strings.Repeat("- an ordinary line about the garden\n", 40) + "\n")
			for _, f := range d.Detect(n.text, true) {
				want = append(want, memento.Finding{Kind: f.Kind, Start: text.Len() + f.Start, End: text.Len() + f.End})
			}
			text.WriteString(n.text)
		}
		if diff := cmp.Diff(want, d.Detect(text.String(), true)); diff != "" {
			t.Errorf("%s: findings of single notes (-) and of all in one (+):\n%s", archive, diff)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	d := sensitive.Default()
	notes := corpus(t, "secrets.txt")
	want := sensitive.Default().Detect(notes[0].text, true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if diff := cmp.Diff(want, d.Detect(notes[0].text, true)); diff != "" {
				t.Error(diff)
			}
		})
	}
	wg.Wait()
}

func TestKinds(t *testing.T) {
	d := sensitive.Default()
	secrets, all := d.Kinds(false), d.Kinds(true)
	for _, kind := range []string{"github-pat", "password", "url-password", "private-key"} {
		if !slices.Contains(secrets, kind) {
			t.Errorf("there is no %s", kind)
		}
	}
	if slices.Contains(secrets, "iban") || !slices.Contains(all, "iban") {
		t.Error("iban should be a kind of personal data")
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Error("the kinds are not sorted, or not distinct")
	}
}

// The keys that memento makes are found, wherever they stand, and nothing beside them.
func TestFindsKeysOfMemento(t *testing.T) {
	d := sensitive.Default()
	for i := range 300 {
		random := sha256.Sum256([]byte{byte(i), byte(i >> 8)}) // as of chance, but the same every time
		secret := apikey.SecretPrefix + base64.RawURLEncoding.EncodeToString(random[:])
		for _, around := range [][2]string{
			{"", ""}, {"MEMENTO_KEY=", "\n"}, {"Authorization: Bearer ", "\r\n"}, {`{"key":"`, `"}`}, {"it is ", ", and"}, {"(", ")."},
		} {
			want := []memento.Finding{{Kind: "memento-key", Start: len(around[0]), End: len(around[0]) + len(secret)}}
			if diff := cmp.Diff(want, d.Detect(around[0]+secret+around[1], false)); diff != "" {
				t.Fatalf("key %d in %q (-want +got):\n%s", i, around, diff)
			}
		}
	}
	if made := d.Detect(apikey.NewSecret(), false); len(made) != 1 || made[0].Kind != "memento-key" {
		t.Errorf("in a new one: %+v", made)
	}
}

// A rule of one's own, and a change to one that exists.
func TestRules(t *testing.T) {
	rules := `
title = "ours"
[extend]
useDefault = true
disabledRules = ["passcode"]

[[rules]]
id = "acme-key"
description = "key of the ACME API"
regex = '''\b(acme_[a-z0-9]{12})\b'''
entropy = 2.5
keywords = ["ACME_"]
	[[rules.allowlists]]
	regexes = ['''^acme_test''']

[[rules]]
id = "ticket"
regex = '''\bCONF-\d{4}\b'''

[[rules]]
id = "github-pat"
	[[rules.allowlists]]
	stopwords = ["zzzz"]

[[rules]]
id = "password"
	[[rules.allowlists]]
	regexes = ['''^ourTest''']

[[rules]]
id = "age-secret-key"
regex = '''\bAGE-[0-9]{6}\b'''

[[allowlists]]
regexes = ['''^letmein42$''']
`
	d, err := sensitive.New(&sensitive.Options{Rules: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	pat := "ghp_" + "a8Kd02mQx7Lw93TzzzzV5nB1cE6rY4uJ0pSg"
	for _, tt := range []struct{ text, kind string }{
		{"key acme_k3v9w2m7q1x8 here", "acme-key"},
		{"key acme_test2m7q1x8 here", ""},
		{"key acme_aaaaaaaaaaaa here", ""},
		{"see CONF-1234", "ticket"},
		{"Garage code is 482913.", ""},
		{"password: letmein42", ""},
		{"password: letmein43", "password"},
		{"password: ourTest43", ""},
		{"DB_PASS=ourTest43", ""},
		{"AGE-123456, or age-secret-key-1", "age-secret-key"},
		{"pushed with " + pat, ""},
		{"pushed with " + strings.Replace(pat, "zzzz", "zazz", 1), "github-pat"},
	} {
		var kinds []string
		for _, f := range d.Detect(tt.text, false) {
			kinds = append(kinds, f.Kind)
		}
		if got := strings.Join(kinds, " "); got != tt.kind {
			t.Errorf("%.12q…: found %q, want %q", tt.text, got, tt.kind)
		}
	}
}

func TestFaultyRules(t *testing.T) {
	for _, tt := range []struct{ rules, want string }{
		{"[[rules]]\nid = \"x\"\nregex = '''(a'''", `rule "x"`},
		{"[[rules]]\nid = \"My Rule\"\nregex = '''a'''", `rule "My Rule"`},
		{"[[rules]]\nid = \"x\"\nregex = '''a'''\nsecretGroup = 2", "no group 2"},
		{"[[rules]]\nid = \"x\"\nregex = '''a'''\npath = '''b'''", "path"},
		{"[[rules]]\nid = \"x\"\nregexp = '''a'''", "regexp"},
		{"[[rules]]\nid = \"x\"\nregex = '''^'''", "empty text"},
		{"[[rules]]\nid = \"unknown\"\nentropy = 2.0", "no regex"},
		{"[extend]\npath = \"other.toml\"", "extend.path"},
		{"[[allowlists]]\nregexes = ['''(a''']", "allowlist"},
		{"= 1", "toml"},
	} {
		_, err := sensitive.New(&sensitive.Options{Rules: []byte(tt.rules)})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: error %v, want one with %q", tt.rules, err, tt.want)
		}
	}
}

// What is in brackets is only a placeholder if it is a kind; else it may be the
// secret itself.
func TestDressedSecrets(t *testing.T) {
	d := sensitive.Default()
	hex := "3f786850e387550fdab836ed7e6dc881de23001b"
	for _, tt := range []struct{ text, want string }{
		{"password: [REDACTED:hunter2abc-9x8y]", "password: [REDACTED:password]"},
		{"password: [REDACTED:hunter2abc-9x8y", "password: [REDACTED:[REDACTED:password]"},
		{`password is "[REDACTED:Hunter2abc!9]".`, `password is "[REDACTED:password]".`},
		{"password: [REDACTED:[REDACTED:hunter2abc-9x8y]]", "password: [REDACTED:[REDACTED:password]]"},
		{"api_key = [REDACTED:" + hex + "]\n", "api_key = [REDACTED:generic-api-key]\n"},
		{"postgres://app:[REDACTED:s0lar-wind]@db.acme.io/x", "postgres://app:[REDACTED:url-password]@db.acme.io/x"},
		{"a [REDACTED:password] and token=[REDACTED:" + hex + "]", "a [REDACTED:password] and token=[REDACTED:generic-api-key]"},
		{"password: [REDACTED:password]", "password: [REDACTED:password]"},
		{"password: [REDACTED:iban]", "password: [REDACTED:iban]"},         // of a store that looks for personal data
		{"password: [REDACTED:acme-key]", "password: [REDACTED:acme-key]"}, // of one with rules of its own
		{"token=[REDACTED:acme-key-2], [REDACTED:] and [REDACTED:", "token=[REDACTED:acme-key-2], [REDACTED:] and [REDACTED:"},
	} {
		if got := mask(tt.text, d.Detect(tt.text, false)); got != tt.want {
			t.Errorf("%q: masked to %q, want %q", tt.text, got, tt.want)
		}
		checkPromises(t, d, tt.text, false)
		checkPromises(t, d, tt.text, true)
	}
}

// The kinds of further rules are kinds of placeholders, as are those of rules that
// were left out.
func TestPlaceholdersOfRules(t *testing.T) {
	rules := "[extend]\ndisabledRules = ['us-ssn']\n[[rules]]\nid = 'k3v9w2-m7q1x8'\nregex = 'ACME'"
	ours, err := sensitive.New(&sensitive.Options{Rules: []byte(rules)})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"password: [REDACTED:k3v9w2-m7q1x8]", "password: [REDACTED:us-ssn]"} {
		if found := ours.Detect(text, false); len(found) > 0 {
			t.Errorf("%q: found %+v", text, found)
		}
	}
	if text := "password: [REDACTED:k3v9w2-m7q1x8]"; len(sensitive.Default().Detect(text, false)) != 1 {
		t.Errorf("%q: nothing found; without the rule it is no placeholder", text)
	}
}

// sized returns a text of about n bytes, made of notes.
func sized(notes []note, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(notes[i%len(notes)].text)
		b.WriteByte('\n')
	}
	end := n
	for !utf8.RuneStart(b.String()[end]) {
		end--
	}
	return b.String()[:end]
}

// texts returns those whose time is promised.
func texts(t testing.TB) map[string]string {
	ordinary, secrets := corpus(t, "ordinary.txt"), corpus(t, "secrets.txt")
	few := slices.Concat(ordinary[:12], secrets[2:5], ordinary[12:60])
	plain := strings.Repeat("The user likes short mails, and no meeting before ten. ", 2000)
	m := map[string]string{}
	for _, kB := range []int{4, 100} {
		m[fmt.Sprintf("ordinary/%dkB", kB)] = sized(ordinary, kB<<10)
		m[fmt.Sprintf("with a few secrets/%dkB", kB)] = sized(few, kB<<10)
		m[fmt.Sprintf("full of secrets/%dkB", kB)] = sized(secrets, kB<<10)
		m[fmt.Sprintf("without keywords/%dkB", kB)] = plain[:kB<<10]
	}
	return m
}

// The times that are promised: 5 ms for 4 kB, 120 ms for 100 kB.
func TestTimes(t *testing.T) {
	d := sensitive.Default()
	for name, text := range texts(t) {
		if strings.HasPrefix(name, "full") { // for the benchmark: a secret on every other line
			continue
		}
		limit := 5 * time.Millisecond
		if len(text) > 50<<10 {
			limit = 120 * time.Millisecond
		}
		if race.Enabled {
			limit *= 20
		}
		for _, personal := range []bool{false, true} {
			d.Detect(text, personal)
			took := cputime.Least(race.Scaled(9, 3), 0, func() { d.Detect(text, personal) })
			if t.Logf("%s, personal=%t: %v", name, personal, took); took > limit {
				t.Errorf("%s, personal=%t: took %v, want at most %v", name, personal, took, limit)
			}
		}
	}
}

func BenchmarkDetect(b *testing.B) {
	d := sensitive.Default()
	m := texts(b)
	for _, personal := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			b.Run(fmt.Sprintf("%s/personal=%t", name, personal), func(b *testing.B) {
				b.SetBytes(int64(len(m[name])))
				b.ReportAllocs()
				for b.Loop() {
					d.Detect(m[name], personal)
				}
			})
		}
	}
}

// A Detector that is made and not used, and one whose first text has a secret.
func BenchmarkFirst(b *testing.B) {
	b.Run("Default", func(b *testing.B) {
		for b.Loop() {
			sensitive.Default()
		}
	})
	text := corpus(b, "secrets.txt")[0].text
	b.Run("Detect", func(b *testing.B) {
		for b.Loop() {
			sensitive.Default().Detect(text, false)
		}
	})
}
