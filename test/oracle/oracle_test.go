// Package oracle compares package sensitive with gitleaks: what gitleaks finds, sensitive
// finds too. It is a module of its own, for gitleaks and what that depends on.
package oracle

import (
	"fmt"
	"io"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"

	"memento/sensitive"
)

// A writer writes what expressions match.
type writer struct{ *rand.Rand }

// match returns a text that re matches, except for what has no width.
func (w writer) match(re *syntax.Regexp) string {
	repeat := func(least, most int) string {
		if most < 0 || most > least+40 {
			most = least + 40
		}
		var b strings.Builder
		for range least + w.IntN(most-least+1) {
			b.WriteString(w.match(re.Sub[0]))
		}
		return b.String()
	}
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return strings.ToLower(string(re.Rune))
		}
		return string(re.Rune)
	case syntax.OpCharClass:
		return w.character(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return w.character([]rune{'a', 'z', 'A', 'Z', '0', '9'})
	case syntax.OpStar:
		return repeat(0, 10)
	case syntax.OpPlus:
		return repeat(1, 10)
	case syntax.OpQuest:
		return repeat(0, 1)
	case syntax.OpRepeat:
		return repeat(re.Min, re.Max)
	case syntax.OpAlternate:
		return w.match(re.Sub[w.IntN(len(re.Sub))])
	}
	var b strings.Builder
	for _, sub := range re.Sub {
		b.WriteString(w.match(sub))
	}
	return b.String()
}

// character returns a printable character of a class: of an alphabet that has letters and
// digits, mostly one of these.
func (w writer) character(class []rune) string {
	var letters, others []rune
	for i := 0; i+1 < len(class); i += 2 {
		for c := class[i]; c <= min(class[i+1], 0x7e); c++ {
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
				letters = append(letters, c)
			case c >= ' ' || c == '\n' || c == '\t':
				others = append(others, c)
			}
		}
	}
	if strings.Trim(strings.ToLower(string(letters)), "0123456789abcdef") == "" { // nobody mixes the cases
		letters = slices.DeleteFunc(letters, func(c rune) bool { return 'A' <= c && c <= 'F' && slices.Contains(letters, 'a') })
	}
	if len(letters) > 0 && (len(others) == 0 || w.IntN(30) > 0) {
		return string(letters[w.IntN(len(letters))])
	}
	if len(others) == 0 {
		return ""
	}
	return string(others[w.IntN(len(others))])
}

func newGitleaks(t *testing.T) *detect.Detector {
	t.Helper()
	logging.Logger = zerolog.New(io.Discard)
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// accepted has the rules of gitleaks that also match what is no secret, and what that is.
var accepted = map[string]string{
	"asana-client-id":          "numbers, which are public",
	"discord-client-id":        "numbers, which are public",
	"jwt":                      "parts that are no JSON",
	"jwt-base64":               "base64 in which there is no token",
	"private-key":              "text between the marks that is no key",
	"curl-auth-user":           "a user without a password",
	"slack-app-token":          "shorter texts than any token",
	"sourcegraph-access-token": "hashes of commits",
}

// named is how people write the names that the rules of gitleaks allow anything in.
var named = strings.NewReplacer(
	"hooks.slack.com", `hooks\.slack\.com`, "xoxe.xox", `xoxe\.xox`, "contribsys.com", `contribsys\.com`,
	`[\w.-]{0,50}?`, "", `(?:[ \t\w.-]{0,20})`, `(?:_key|_token|-secret| api key|.apiKey)`,
	`[\s'"]{0,3}`, `["']?[ ]?`, "[\\x60'\"\\s=]{0,5}", "[ ]?[\"'`]?")

// What the rules of gitleaks match, in texts made from their expressions, is found: at least
// as much of it as gitleaks finds.
func TestNotBelowGitleaks(t *testing.T) {
	gitleaks, ours := newGitleaks(t), sensitive.Default()
	w := writer{rand.New(rand.NewPCG(1, 2))}
	var ids []string
	for id, rule := range gitleaks.Config.Rules {
		if rule.Regex != nil && rule.Path == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	total, missed := 0, 0
	for _, id := range ids {
		if len(ours.Detect("password: [REDACTED:"+id+"]", false)) > 0 {
			t.Errorf("%s is not a kind: texts in which it was masked are masked again", id)
		}
		re, err := syntax.Parse(named.Replace(gitleaks.Config.Rules[id].Regex.String()), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		found, lost := 0, []string{}
		for range 40 {
			text := w.sample(id, gitleaks.Config.Rules[id].Keywords, re)
			theirs := secrets(gitleaks, id, text)
			if len(theirs) == 0 {
				continue
			}
			found++
			masked := text
			findings := ours.Detect(text, false)
			for _, f := range slices.Backward(findings) {
				masked = masked[:f.Start] + "█" + masked[f.End:]
			}
			for _, secret := range theirs {
				if strings.Contains(masked, secret) {
					lost = append(lost, fmt.Sprintf("%q", text))
					break
				}
			}
		}
		total, missed = total+found, missed+len(lost)
		if found == 0 {
			t.Errorf("%s: gitleaks finds nothing in the texts made for it", id)
		}
		// The expressions allow more between a name and its value than anybody writes, such as
		// a comma before a quote or two bars: one of the texts may be lost.
		if len(lost) > 1 && accepted[id] == "" {
			t.Errorf("%s: %d of %d are not found, as %s", id, len(lost), found, lost[0])
		}
	}
	t.Logf("of %d texts with what gitleaks finds, %d are missed", total, missed)
}

// spelled restores the case of what gitleaks matches in any case.
var spelled = strings.NewReplacer("atatt3", "ATATT3", "clojars_", "CLOJARS_", "eyjrijoi", "eyJrIjoi", "-x", "-X", "xoxB", "xoxb", "xoxP", "xoxp", strings.Repeat("a", 22), strings.Repeat("A", 22))

// keyword returns one of keywords, or nothing if text has one. Without a keyword, gitleaks
// does not look.
func keyword(text string, keywords []string) string {
	for _, k := range keywords {
		if strings.Contains(strings.ToLower(text), k) {
			return ""
		}
	}
	if len(keywords) == 0 {
		return ""
	}
	return keywords[0]
}

// sample returns a text with a match for a rule in it.
func (w writer) sample(id string, keywords []string, re *syntax.Regexp) string {
	text := w.match(re)
	text = spelled.Replace(text)
	if strings.HasPrefix(id, "generic") {
		return text
	}
	if word := keyword(text, keywords); word != "" {
		text = word + ": " + text
	}
	return []string{"", "The new one is ", "- "}[w.IntN(3)] + text + []string{"", "\n", "\nNothing else is needed.\n"}[w.IntN(3)]
}

// secrets returns what gitleaks finds in text by a rule.
func secrets(d *detect.Detector, id, text string) (all []string) {
	for _, f := range d.DetectString(text) {
		if f.RuleID == id && strings.TrimSpace(f.Secret) != "" {
			all = append(all, f.Secret)
		}
	}
	return all
}
