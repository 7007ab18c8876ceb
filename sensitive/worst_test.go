//go:build !race

package sensitive

import (
	"strings"
	"testing"
	"time"

	"memento/test/cputime"
)

// worst are the parts of the slowest texts that are known, which repeat one of them: a name, a
// sign, the start of a token, or what looks like a value. They were found by trying each keyword
// and prefix with what can follow it, and by changing at random what was slow.
var worst = []string{
	"key=a1B2", "wlan-key=a1B2", "age-secret-key-1=a1B2", "recovery 1234 ", "htpasswd|", "cookie=a1B2", "ПАРОЛЬ: ", ": Паролем", "clave wi-fi\"", "azfu", "AzFu--", "Server=x;Password=", "pw|", "sk-proj-", "totp is ",
	"ewo--", "figd__", "xwfp--", "glrtr--", "glffct--", "glpat---", "yandex_", "okta__", "xkeysib-=a1B2", "=x9authtskey-", "=access-pass:", "sk-||||pass:pass:", "wi-fi key: a1B2c3D4e5\n", "phrase__\n", "pws: pws: a.b=c1, ", "ssid Fj,key=a1B2 ", "wifi wlan wifi wlan wifi key a1B2, ", "pins: id: 1204, ", "* pws: dor_v1_", "wifi key=a1-", "0recupero ", strings.Repeat("twitter", 8) + "the\"sqp_: ", "* \n门禁密码dop_v1_",
	".eya" + strings.Repeat("password=", 8) + "* ",
	"(~~~~~~：  ~" + strings.Repeat("AccountKey=", 40),
	"12345678" + strings.Repeat("accountkey=", 5) + "**",
	strings.Repeat("sbp_", 7) + "sk-admin-sbp_AzFux9dor_v1_",
}

// worstText returns 100 kB of a part.
func worstText(part string) string { return strings.Repeat(part, (100<<10)/len(part)) }

// The slowest texts of 100 kB that are known take at most 100 ms on a machine that has nothing else
// to do. The limit leaves room for one that is busy, whose caches others use.
func TestWorst(t *testing.T) {
	d := Default()
	const limit = 200 * time.Millisecond
	for _, part := range worst {
		text := worstText(part)
		d.Detect(text, false) // compiles what it needs
		took := cputime.Least(5, limit/4, func() { d.Detect(text, false) })
		t.Logf("%.40q: %v", part, took)
		if took > limit {
			t.Errorf("%.40q, again and again: 100 kB take %v, want at most %v", part, took, limit)
		}
	}
}

// BenchmarkWorst prints the time of a processor, too, which other work on the machine changes less.
func BenchmarkWorst(b *testing.B) {
	d := Default()
	for _, part := range worst {
		text := worstText(part)
		b.Run(part[:min(len(part), 24)], func(b *testing.B) {
			d.Detect(text, false)
			sum, n := time.Duration(0), 0
			for b.Loop() {
				sum += cputime.Least(1, 0, func() { d.Detect(text, false) })
				n++
			}
			b.ReportMetric(float64(sum.Microseconds())/1000/float64(n), "cpu-ms/op")
		})
	}
}
