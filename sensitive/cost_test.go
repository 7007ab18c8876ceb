//go:build !race

package sensitive_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/sensitive"
	"memento/test/cputime"
)

// detects returns how much time of a processor it takes to look through text: the first
// that is within limit, or else the least of a few.
func detects(d memento.Detector, text string, limit time.Duration) time.Duration {
	return cputime.Least(5, limit, func() { d.Detect(text, true) })
}

// What nothing is found in takes no memory.
func TestNoAllocations(t *testing.T) {
	d := sensitive.Default()
	text := strings.Repeat("- [3] The task of the team needs a second review of 4 invoices; see https://acme.io/a.\n", 25)
	if got := testing.AllocsPerRun(100, func() { d.Detect(text, false) }); got > 0 {
		t.Errorf("%v allocations, want none", got)
	}
}

// Texts made of what rules look for, again and again, cost little more than is
// promised of ordinary ones, and twice the length costs about twice as much.
func TestRepeatedTriggers(t *testing.T) {
	d := sensitive.Default()
	const limit = 400 * time.Millisecond // on a machine that is busy with other tests
	for _, part := range []string{"key", "key ", "key=", "key: ", "api_key=", "token=", "token=\x80", "secret:", "password", "password:", "password=", "password= ", "pwd=", "pw=",
		"密码=", "lösenordet=", "pass to to ", "Server=x;Password=", "discord", "twitter", "twitter=", "sumo=", "linkedin=", "glpat-", "sk-ant-api03=", "eyJ", "://", "a://b:", "a://b:c@",
		"Bearer ", "curl \n", "cookie=sid=", "totp: ", "seed legal ", "mysql -p", "-----BEGIN PRIVATE KEY-----", "PuTTY-User-Key-File-3:", "[REDACTED:", "[REDACTED:password]", "[REDACTED:password] key=", "\x80",
		"(0", "(1", "1", "1 ", "0-", "+1", "@", "a@b.", "call ", "DE12 ", "key=a1B2", "wlan-key=a1B2", "pw|", "recovery1", "totp is ", "sk-proj-", "clave wi-fi\""} {
		d.Detect(part, true) // compiles what it needs
		half := strings.Repeat(part, (100<<10)/len(part))
		short := detects(d, half, limit)
		long := detects(d, half+half, 3*short)
		t.Logf("%q: %v, %v", part, short, long)
		if short > limit {
			t.Errorf("%q, again and again: 100 kB take %v, want at most %v", part, short, limit)
		}
		if long > 3*short+10*time.Millisecond {
			t.Errorf("%q, again and again: 200 kB take %v, 100 kB %v; want at most thrice as much", part, long, short)
		}
	}
}

// Texts full of what must be replaced, which are searched again, cost more; but
// no more a byte if they are longer.
func TestRepeatedFindings(t *testing.T) {
	d := sensitive.Default()
	const limit = time.Second
	for _, part := range []string{"token: a1B2c3D4e5F6g7H8 ", "password: hunter2!xyz ", "4111 1111 1111 1111 ", "password: [REDACTED:hunter2abc-9x8y] "} {
		text := strings.Repeat(part, (100<<10)/len(part))
		short := detects(d, text, limit)
		long := detects(d, strings.Repeat(text, 4), 5*short)
		t.Logf("%q: %v, %v", part, short, long)
		if short > limit {
			t.Errorf("%q, again and again: 100 kB take %v, want at most %v", part, short, limit)
		}
		if long > 6*short {
			t.Errorf("%q, again and again: 400 kB take %v, 100 kB %v; want at most six times as much", part, long, short)
		}
	}
}

// A long text of what nothing ends, or everything could be the beginning of, costs
// no more a byte than a short one.
func TestLongTexts(t *testing.T) {
	d := sensitive.Default()
	random := make([]byte, 3<<18) // 1 MB in base64
	source := rand.NewChaCha8([32]byte{})
	if _, err := source.Read(random); err != nil {
		t.Fatal(err)
	}
	digits := []byte(base64.StdEncoding.EncodeToString(random))
	for i := range digits {
		digits[i] = '0' + digits[i]%10
	}
	words := strings.Repeat("the scheduler keeps the old format since the numbers must match the ledger ", 1<<20/75+1)
	for name, text := range map[string]string{
		"one digit":       strings.Repeat("7", 1<<20),
		"digits":          string(digits),
		"at signs":        strings.Repeat("@", 1<<20),
		"addresses":       strings.Repeat("a@", 1<<19),
		"one letter":      strings.Repeat("a", 1<<20),
		"capital letters": strings.Repeat("A", 1<<20),
		"base64":          base64.StdEncoding.EncodeToString(random),
		"spaces":          strings.Repeat(" ", 1<<20),
		"lines":           strings.Repeat("\n", 1<<20),
		"no UTF-8":        strings.Repeat("\x80", 1<<20),
		"words":           words[:1<<20],
	} {
		d.Detect(text[:1<<16], true)  // compiles what it needs
		const limit = 3 * time.Second // on a machine that is busy with other tests
		short := detects(d, text[:1<<18], limit/4)
		long := detects(d, text, 6*short)
		t.Logf("%s: 256 kB %v, 1 MB %v", name, short, long)
		if long > 6*short+50*time.Millisecond || long > limit {
			t.Errorf("%s: 1 MB takes %v, 256 kB %v; want at most six times as much, and %v", name, long, short, limit)
		}
	}
}
