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
		{"SSID Fjord, key: x7Kp-22mQ", "x7Kp-22mQ"},
		{"our Wi-Fi is Fjord and the key is s0larW1nd7", "s0larW1nd7"},
		{"WLAN: Fjord, Schlüssel: s0larW1nd7", "s0larW1nd7"},
		{"WIFI_KEY=s0larW1nd7", "s0larW1nd7"},
		{"hotspot key: s0larW1nd7", "s0larW1nd7"},
		{`{"ssid": "Fjord", "key": "s0larW1nd7"}`, "s0larW1nd7"},
		{"| SSID | key |\n|---|---|\n| Fjord | s0larW1nd7 |\n", "s0larW1nd7"},
		{"uci set wireless.@wifi-iface[0].key='x7Kp-22mQ'", "x7Kp-22mQ"},
		{"wireless.default_radio0.key='x7Kp-22mQ'", "x7Kp-22mQ"},
		{"Passwords: alice: C0pperKettle77, bob: CopperKettle77", "C0pperKettle77 CopperKettle77"},
		{"passwords:\n  - name: alice\n    value: s0larW1nd7\n", "s0larW1nd7"},
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
		`<Icon name="wifi" key="network-item-3" />`,
		`<WifiIcon key="icon-wifi-1" />`,
		`<li v-for="n in wifiNetworks" :key="n.bssid2">`,
		`{"icon":"wifi","key":"wifi-status-2g"}`,
		`"wifi": {"key": "wifi_enabled_v2", "default": true}`,
		`SensorDescription(key="wifi_strength_5ghz")`,
		"$wifi = array('key' => 'lan_settings9');",
		"const wifi = { key: 'wifi5ghz' }",
		"wifi_config.key = nvs_read_str2;",
		"curl http://x/wifi?key=section2",
		"wireless keyboard, key: ctrl+shift+F12",
		`Wi-Fi calling: press key "F12-lock"`,
		"hotspot key: F7+F12",
		`wireless: sort by key "signalStrength2"`,
		"passwords:\n  policy: PasswordPolicy2\n  hashing: Argon2id13\n  provider: LdapProvider2",
		"passwords:\n  - name: db-admin1\n  - name: db-user22",
		"Passwords: env: DB_PASSWORD_1, vault: kv/data/db2",
		"Passwords: Type: SecureString1, Default: none",
		"Passwords: see: KeePass2",
		"Passwords: web: APP_PASSWORD_1, mail: LdapProvider2",
		"pins: tx = 1001, rx = 1002",
		"Pins: CN1: 2041, CN2: 2042",
		"Passcodes: issued: 1204, revoked: 1311",
		"combinations: A: 1204, B: 1311",
	} {
		if found := d.Detect(text, false); len(found) > 0 {
			t.Errorf("found %q in %q", text[found[0].Start:found[0].End], text)
		}
	}
}
