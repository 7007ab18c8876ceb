//go:build !race

package sensitive_test

import (
	"strings"
	"testing"
	"time"

	"memento/sensitive"
)

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
