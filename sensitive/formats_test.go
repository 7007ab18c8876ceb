package sensitive_test

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"memento/sensitive"
)

// kindsIn returns the kinds of the findings in text, and the text without them.
func kindsIn(text string) (kinds, rest string) {
	var all []string
	findings := sensitive.Default().Detect(text, false)
	for _, f := range findings {
		all = append(all, f.Kind)
	}
	return strings.Join(all, " "), mask(text, findings)
}

// A token is found only if it begins and ends where its alphabet does.
func TestTokensAreWhole(t *testing.T) {
	token := "ghp_" + "a8Kd02mQx7Lw93TzPwrzV5nB1cE6rY4uJ0pS"
	for _, text := range []string{
		"TOKEN", "(TOKEN)", "TOKEN.", "TOKEN, and", "用TOKEN登录", "は「TOKEN」です", "_TOKEN_", "**TOKEN**", "a|TOKEN|b", `"x\nTOKEN\n"`, "k=%3DTOKEN%26",
		"\x1b[32mTOKEN\x1b[0m", "mysql -pTOKEN", "{TOKEN}", "<TOKEN>", "TOKEN&x=1", `\u003dTOKEN`, "–TOKEN—",
	} {
		if kinds, rest := kindsIn(strings.ReplaceAll(text, "TOKEN", token)); kinds != "github-pat" || strings.Contains(rest, token[4:]) {
			t.Errorf("%q: found %q", text, kinds)
		}
	}
	blob := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAA+AKIA4QJ7XZ5M2NPLK3RD/", 20)
	hex := "0123456789abcdef0123456789abcdef"
	for _, text := range []string{
		"data:image/png;base64," + blob, "x" + token, "AKIA4QJ7XZ5M2NPLK3RDX", "whisk-" + hex, "AKIA4QJ7XZ5M2NPLK3Rd", "glpat-short", "shpat_" + hex + "0",
	} {
		if kinds, _ := kindsIn(text); kinds != "" {
			t.Errorf("%.60q: found %q, want nothing", text, kinds)
		}
	}
}

// A right checksum outweighs what else speaks against a token.
func TestChecksums(t *testing.T) {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	random := "exampleKd02mQx7Lw93Tzb5nB1cE6r" // which looks like a placeholder
	sum, check := crc32.ChecksumIEEE([]byte(random)), ""
	for range 6 {
		check = string(digits[sum%62]) + check
		sum /= 62
	}
	if kinds, _ := kindsIn("it is ghp_" + random + check); kinds != "github-pat" {
		t.Errorf("with the right checksum: found %q", kinds)
	}
	if kinds, _ := kindsIn("it is ghp_" + random + "000000"); kinds != "" {
		t.Errorf("with a wrong checksum: found %q", kinds)
	}
	// From the test vectors of BIP-39 and of Bitcoin.
	phrase := "legal winner thank year wave sausage worth useful legal winner thank yellow"
	for _, tt := range []struct{ text, want string }{
		{"seed: " + phrase, "recovery-phrase"},
		{"Wallet, on paper:\n1. " + strings.ReplaceAll(phrase, " ", "\n2. ") + "\n", "recovery-phrase"},
		{"the seed phrase is " + phrase + ", do not lose it", "recovery-phrase"},
		{"seed: " + strings.Replace(phrase, "yellow", "year", 1), ""},
		{"5HueCGU8rMjxEXxiPuD5BDku4MkFqe" + "Zyd4dZ1jvhTVqvbTLvyTJ", "bitcoin-private-key"},
		{"5HueCGU8rMjxEXxiPuD5BDku4MkFqe" + "Zyd4dZ1jvhTVqvbTLvyTK", ""},
	} {
		if kinds, _ := kindsIn(tt.text); kinds != tt.want {
			t.Errorf("%q: found %q, want %q", tt.text, kinds, tt.want)
		}
	}
}

// Base64 of what would be found is found, and other base64 is not.
func TestEncoded(t *testing.T) {
	token := "ghp_" + "a8Kd02mQx7Lw93TzPwrzV5nB1cE6rY4uJ0pS"
	for _, text := range []string{"export GH=" + token + "\n", `{"auth": "` + token + `", "user": "kim?>"}`, "the password is Gr33n-Kettle!42, and nothing else"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			want, _ := kindsIn(text)
			note := "value: " + encoding.EncodeToString([]byte(text)) + ", see below"
			if kinds, rest := kindsIn(note); kinds != want || want == "" || rest != "value: [REDACTED:"+want+"], see below" {
				t.Errorf("%q: found %q, want %q; masked %q", note, kinds, want, rest)
			}
		}
	}
	for _, text := range []string{"The user likes short mails, and no meeting before ten o'clock.", strings.Repeat("\x00\x89PNG\xff", 40)} {
		if kinds, _ := kindsIn("value: " + base64.StdEncoding.EncodeToString([]byte(text))); kinds != "" {
			t.Errorf("%q: found %q, want nothing", text, kinds)
		}
	}
}

// What code, addresses and documents have in place of secrets is left alone.
func TestLeavesCode(t *testing.T) {
	hash := "3f786850e387550fdab836ed7e6dc881de23001b"
	for _, text := range []string{
		`key := os.Getenv("API_KEY")`, "mysql -u root -p shop < dump.sql", "mysql -p$MYSQL_ROOT_PASSWORD", "docker run -p8080:80 x", "docker login -u kim --password-stdin",
		"commit " + hash, "cache key: linux-" + hash, "nextPageToken=" + hash, "[![x](https://codecov.io/gh/a/b/branch/main/graph/badge.svg?token=" + hash[:10] + ")",
		"CREATE USER app IDENTIFIED BY '<password>';", "define('DB_PASSWORD', getenv('X'));", "linear issue 7c31ac2f-3e18-47b3-aee7-df968a893c69",
		"redis-cli -a $REDIS_PASSWORD ping", "Cookie: sessionid=...", "Recovery codes are kept in the safe.", "We use TOTP: it is required.",
	} {
		if kinds, _ := kindsIn(text); kinds != "" {
			t.Errorf("%q: found %q, want nothing", text, kinds)
		}
	}
}

func ExampleDetector_Detect() {
	d := sensitive.Default()
	for _, f := range d.Detect("请用"+"glpat-"+"vTzqBN4qR0a_eXLiSAhh"+"登录。", false) {
		fmt.Println(f.Kind)
	}
	// Output: gitlab-pat
}
