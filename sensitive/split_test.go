package sensitive_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"memento/sensitive"
	"memento/sensitive/internal/gencorpus"
)

// splits are how a token is continued on the next line.
var splits = []struct{ name, text string }{
	{"wrapped", "the token is %s\n%s and that is all\n"},
	{"wrapped, CRLF", "the token is %s\r\n%s\r\n"},
	{"indented", "    %s\n    %s\n"},
	{"quotation", "> use %s\n> %s for now\n"},
	{"list", "- %s\n- %s\n"},
	{"numbered list", "1. %s\n2. %s\n"},
	{"code block", "```\n%s\n%s\n```\n"},
	{"backslash", "export TOKEN=%s\\\n%s\n"},
	{"concatenation", "t = \"%s\" +\n    \"%s\"\n"},
	{"concatenation, sign in front", "t = '%s'\n  + '%s'\n"},
	{"strings side by side", "t = (\"%s\"\n     \"%s\")\n"},
	{"comment", "# %s\n# %s\n"},
}

// Tokens with a format are found when they continue on the next line.
func TestSplitTokens(t *testing.T) {
	d := sensitive.Default()
	all := tally{}
	for _, n := range gencorpus.Documented(11, 1) {
		secret := n.Secret()
		if n.Surrounding != "alone" || strings.ContainsAny(secret, "\n ") || len(secret) < 30 {
			continue
		}
		for _, s := range splits {
			for _, at := range []int{len(secret) / 3, len(secret) / 2, len(secret) * 3 / 4} {
				text := fmt.Sprintf(s.text, secret[:at], secret[at:])
				masked := mask(text, d.Detect(text, false))
				found := !strings.Contains(masked, secret[:at]) && !strings.Contains(masked, secret[at:])
				for _, name := range []string{n.Kind, s.name, "all"} {
					all.add(name, found)
				}
				checkPromises(t, d, text, false)
			}
		}
	}
	t.Logf("recall %.1f %% of %d:%s", 100*all.recall("all"), all["all"].total, all.worst(50))
	if got := all.recall("all"); got < 0.9 {
		t.Errorf("recall is %.1f %%, want at least 90 %%", 100*got)
	}
}

// Base64 of what would be found is found when it is wrapped.
func TestSplitBase64(t *testing.T) {
	d := sensitive.Default()
	encoded := base64.StdEncoding.EncodeToString([]byte("login with the password: s0lar-w1nd!Q7x of the shop, or ask Kim for another account"))
	for _, width := range []int{40, 60, 64, 76} {
		var lines []string
		for rest := encoded; rest != ""; {
			n := min(width, len(rest))
			lines = append(lines, rest[:n])
			rest = rest[n:]
		}
		text := "Note:\n\n    " + strings.Join(lines, "\n    ") + "\n\nThat is all.\n"
		masked := mask(text, d.Detect(text, false))
		if strings.Contains(masked, encoded[20:40]) {
			t.Errorf("in lines of %d: %q", width, masked)
		}
	}
}

// What ends one line and begins the next is not taken for a token.
func TestNotSplit(t *testing.T) {
	d := sensitive.Default()
	for _, text := range []string{
		"- the key begins with sk-ant-api03-\n- configuration-management-of-the-whole-organization-and-more\n",
		"Tokens of GitLab look like glpat-XXXX\nconfiguration-management-tool is next\n",
		"see ghp_1a2b\nThe rest is in the vault.\n",
		"ids:\n- ghp_1a2b3c\n- gho_4d5e6f\n",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b\n89e6c98d92887913cadf06b2adb97f26cde4849b is next\n",
		"v1.0-beta1\nv1.0-beta2\nv1.0-beta3\n",
		"SHA256SUMS_OLD\nSK1234\nSK5678\n",
		"- prefix: AKIA_TEST1\n- region: eu-central-1\n",
		"see https://docs.acme.io/reference/v2/authentication-and-autho\nrization/tokens-of-2024.html#section-3 for more\n",
		"https://hooks.slack.com/services is the host of all web-\nhooks, T024BE7LD is our team.\n",
		"The key derivation function of the ven-\ndor uses PBKDF2-HMAC-SHA-\n256 with 600000 rounds; the twilio-\ncompatible API v2 does too.\n",
		"heroku apps:\n- 0f3c2a9e-1b7d-4c55-9e2a-\n- 7d1f8b6a4c3e2f10\n",
		"twilio call 2026-11-03\n20261104 and 20261105 were quiet\n",
		"sha256:\n9f86d081884c7d659a2feaa0c55ad015\na3bf4f1b2b0b822cd15d6c15b0f00a08\n",
		"h1:6v0L8xM1uJ2h5rQm3kT9\nh1:wYw3nq0p7uZc8vB1sKdA=\n",
		"iVBORw0KGgoAAAANSUhEUgAAAAUA\nAAAFCAYAAACNbyblAAAAHElEQVQI\n12P4//8/w38GIAXDIBKE0DHxgljN\n",
		"TOKEN_A=\nTOKEN_B=\nMAILCHIMP_SERVER=us12\n",
		"Bot 12345678:\nAAB is the oldest of the bots, version_2\n",
	} {
		if found := d.DetectSplit(text, false); len(found) > 0 {
			t.Errorf("found %q in %q", text[found[0].Start:found[0].End], text)
		}
	}
}

// A scan finds all tokens that continue on the next line, also those without a prefix.
func TestSplitTokensInScans(t *testing.T) {
	d := sensitive.Default()
	all := tally{}
	for _, n := range gencorpus.Documented(11, 1) {
		secret := n.Secret()
		if n.Surrounding != "alone" || strings.ContainsAny(secret, "\n ") || len(secret) < 20 {
			continue
		}
		for _, s := range splits {
			for _, at := range []int{len(secret) / 3, len(secret) / 2, len(secret) * 3 / 4} {
				text := fmt.Sprintf(s.text, secret[:at], secret[at:])
				masked := mask(text, d.DetectSplit(text, false))
				found := !strings.Contains(masked, secret[:at]) && !strings.Contains(masked, secret[at:])
				for _, name := range []string{n.Kind, s.name, "all"} {
					all.add(name, found)
				}
				if again := d.DetectSplit(masked, false); len(again) > 0 {
					t.Errorf("found again: %q", masked)
				}
			}
		}
	}
	t.Logf("recall %.1f %% of %d:%s", 100*all.recall("all"), all["all"].total, all.worst(50))
	if got := all.recall("all"); got < 0.97 {
		t.Errorf("recall is %.1f %%, want at least 97 %%", 100*got)
	}
}

// If a name announces the first part of a token without a prefix, the rest is masked with it.
func TestNamedTokensContinue(t *testing.T) {
	d := sensitive.Default()
	for _, text := range []string{
		"the bot's token is 5210786433:AAHk3Zq8Wv1Lx6T\nb9Rm4YpQ2dN7sVc0jGfE and that is all\n",
		"TOKEN=\"5210786433:AAHk3Zq8Wv1Lx6T\" \\\n  \"b9Rm4YpQ2dN7sVc0jGfE\"\n",
		"> client secret: G6X8Q~uYllzGUGnh2d5\n> M5Sdoh5AW2V6Glx9dWYEl\n",
	} {
		masked := mask(text, d.Detect(text, false))
		for _, rest := range []string{"b9Rm4YpQ", "M5Sdoh5A"} {
			if strings.Contains(masked, rest) {
				t.Errorf("%q", masked)
			}
		}
	}
	two := "API_KEY=4fQ9xB2mLw7Rz1Kc\nOTHER_KEY_2=5210786433:b9Rm4YpQ2dN7sVc0jGfE\n"
	for _, f := range d.Detect(two, false) {
		if strings.Contains(two[f.Start:f.End], "\n") {
			t.Errorf("%q is taken for one", two[f.Start:f.End])
		}
	}
}
