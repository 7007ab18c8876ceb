package sensitive_test

import (
	"strings"
	"testing"

	"memento/sensitive"
)

// The values in a list that a plural announces are found, whatever each is for.
func TestLists(t *testing.T) {
	d := sensitive.Default()
	for _, c := range []struct{ text, secrets string }{
		{"Passwords: alice: s0lar-w1nd!Q7, bob: br4veGl4ss", "s0lar-w1nd!Q7 br4veGl4ss"},
		{"passwords: alice = s0larW1nd7; bob = br4veGl4ss and carol = c0pperK3ttle", "s0larW1nd7 br4veGl4ss c0pperK3ttle"},
		{"Passwords:\n- the NAS: s0lar-w1nd!Q7\n- router: `br4veGl4ss`\n- **mail**: c0pperK3ttle\n\nAll from May.", "s0lar-w1nd!Q7 br4veGl4ss c0pperK3ttle"},
		{"passwords:\n  alice: s0larW1nd7\n  bob: \"br4veGl4ss\"\n", "s0larW1nd7 br4veGl4ss"},
		{"PINs: front: 4471, back: 9920", "4471 9920"},
		{"Contraseñas: ana: s0larW1nd7, luis: br4veGl4ss", "s0larW1nd7 br4veGl4ss"},
		{"SSID Fjord, key: rocket-ribbon-kettle-falcon", "rocket-ribbon-kettle-falcon"},
		{"SSID: Fjord, key: s0larW1nd7", "s0larW1nd7"},
		{"Wi-Fi Fjord, key 's0larW1nd7'", "s0larW1nd7"},
	} {
		masked := mask(c.text, d.Detect(c.text, false))
		for _, s := range strings.Fields(c.secrets) {
			if strings.Contains(masked, s) {
				t.Errorf("%q is left in %q", s, masked)
			}
		}
		if strings.Contains(c.text, "alice") && !strings.Contains(masked, "alice") {
			t.Errorf("a name is masked in %q", masked)
		}
		checkPromises(t, d, c.text, false)
	}
	for _, text := range []string{
		"Passwords: length: at least 12, digits: two, symbols: one",
		"passwords:\n  algorithm: argon2id\n  min_length: 12\n  history: 5\n  store: /etc/pam.d/common\n",
		"Passwords: reset: monthly, shared: never, expired: rotate-on-login",
		"Pins: LED: 13, button: 4",
		"Tokens: input: 20415, output: 1830",
		"SSID Fjord, key: ask at the reception",
		"The wifi key: see the vault entry wifi-2024",
	} {
		if found := d.Detect(text, false); len(found) > 0 {
			t.Errorf("found %q in %q", text[found[0].Start:found[0].End], text)
		}
	}
}
