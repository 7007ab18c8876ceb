package sensitive_test

import (
	"testing"

	"memento/sensitive"
)

// What follows a word that announces a password is read as people and programs write it: the
// value is found, and nothing beside it.
func TestAnnouncedParser(t *testing.T) {
	d := sensitive.Default()
	for _, c := range []struct{ text, secret string }{
		{"password: s0larW1nd7", "s0larW1nd7"},
		{"## Password\n\ns0larW1nd7\n", "s0larW1nd7"},
		{"Passwort:\n  s0larW1nd7\n", "s0larW1nd7"},
		{"password:\r\n- s0larW1nd7\r\n", "s0larW1nd7"},
		{"| password|s0larW1nd7|kim|\n", "s0larW1nd7"},
		{"| user | password |\n|---|---|\n| kim | s0larW1nd7|\n", "s0larW1nd7"},
		{"password for the router in the hall: s0larW1nd7", "s0larW1nd7"},
		{"the password of Kim's account is s0larW1nd7.", "s0larW1nd7"},
		{"password (guest network): s0larW1nd7", "s0larW1nd7"},
		{"**Password:** `s0larW1nd7`", "s0larW1nd7"},
		{"the password was changed to s0larW1nd7", "s0larW1nd7"},
		{"密码是s0larW1nd7。", "s0larW1nd7"},
		{"비밀번호는 s0larW1nd7 입니다", "s0larW1nd7"},
		{"mot de passe : « s0larW1nd7 »", "s0larW1nd7"},
		{"login: kim / s0larW1nd7", "s0larW1nd7"},
		{"the pw is s0larW1nd7", "s0larW1nd7"},

		{"if (t.password===e.passw0rdX7) return", ""},
		{"if user.password == input.passw0rdX7 {", ""},
		{"a compass is N0rthW3st by habit", ""},
		{"upw: s0larW1nd7", ""},
		{"password::s0larW1nd7", ""},
		{"the password for build-2024x is in the safe", ""},
		{"password policy v2.4 applies", ""},
		{"BIND_PASSWORD=\nQUERY_BASE2024=\n", ""},
		{"case AuthCleartextPassword:\n\t\tfallthrough\n", ""},
	} {
		found := d.Detect(c.text, false)
		got := ""
		if len(found) > 0 {
			got = c.text[found[0].Start:found[0].End]
		}
		if got != c.secret || len(found) > 1 {
			t.Errorf("%d findings, first %q, want %q in %q", len(found), got, c.secret, c.text)
		}
	}
}
