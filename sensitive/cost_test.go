//go:build !race

package sensitive_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/sensitive"
)

// detects returns how long it takes to look through text: the first time that is
// within limit, or else the least of a few.
func detects(d memento.Detector, text string, limit time.Duration) time.Duration {
	least := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		d.Detect(text, true)
		if least = min(least, time.Since(start)); least <= limit {
			break
		}
	}
	return least
}

// Texts made of what rules look for, again and again, cost little more than is
// promised of ordinary ones, and twice the length costs about twice as much.
func TestRepeatedTriggers(t *testing.T) {
	d := sensitive.Default()
	const limit = 400 * time.Millisecond // on a machine that is busy with other tests
	for _, part := range []string{"key", "key ", "key=", "key: ", "api_key=", "token=", "token=\x80", "secret:", "password", "password:", "password=", "password= ", "pwd=", "pw=",
		"密码=", "lösenordet=", "pass to to ", "Server=x;Password=", "discord", "twitter", "twitter=", "sumo=", "linkedin=", "glpat-", "sk-ant-api03=", "eyJ", "://", "a://b:", "a://b:c@",
		"Bearer ", "curl \n", "-----BEGIN PRIVATE KEY-----", "PuTTY-User-Key-File-3:", "[REDACTED:", "[REDACTED:password]", "[REDACTED:password] key=", "\x80",
		"(0", "(1", "1", "1 ", "0-", "+1", "@", "a@b.", "call ", "DE12 "} {
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
