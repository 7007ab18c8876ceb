package gencorpus

import (
	"fmt"
	"strings"
)

// A language has texts that announce a secret, in whose place is {}.
type language struct {
	name      string
	words     []string // for a password, as they stand before a colon or in a table
	passwords []string // sentences with a password
	pins      []string // sentences with a number that opens something
	networks  []string // sentences with the key of a wireless network
}

var languages = []language{
	{
		"English", []string{"Password", "password", "Passphrase", "pw", "Login password", "Admin password"},
		[]string{
			"The password is {}", "the password for the router is {}", "log in with password {}", "use pw {}", "password for admin@nas: {}",
			"the root password was changed to {}", "user admin, password {}", "creds: admin / {}", "login: kim@acme.io / {}", "passphrase of the backup = {}",
			"the password of the staging database is now {}", "Kim's password is {}", "sign in as kim with the password {}", "password -> {}",
			"temporary password {} until Friday", "Username: kim\nPassword: {}",
		},
		[]string{"PIN: {}", "The PIN is {}", "the PIN for the card is {}", "alarm code is {}", "door code: {}", "garage code = {}", "SIM PIN: {}", "safe combination: {}", "the gate code is {}"},
		[]string{"Wi-Fi password: {}", "wifi pw: {}", "The Wi-Fi key is {}", "WLAN key: {}", "WPA2 key: {}", "guest wifi: Fjord, password {}", "SSID Fjord, passphrase {}"},
	},
	{
		"German", []string{"Passwort", "Kennwort", "Admin-Passwort", "PW"},
		[]string{
			"Das Passwort ist {}", "Das Passwort lautet {}", "Passwort für den Router: {}", "mit Passwort {} anmelden", "mit dem Kennwort {} anmelden",
			"Zugangsdaten: kim / {}", "das neue Passwort lautet {}", "Benutzer kim, Passwort {}", "Das Kennwort vom NAS ist {}", "Benutzername: kim\nPasswort: {}",
		},
		[]string{"PIN: {}", "Die PIN ist {}", "Die PIN lautet {}", "Türcode: {}", "der Alarmcode ist {}", "PIN der Karte: {}", "Geheimzahl: {}"},
		[]string{"WLAN-Passwort: {}", "WLAN-Schlüssel: {}", "Der WLAN-Schlüssel lautet {}", "WLAN-Kennwort: {}", "Netzwerkschlüssel: {}"},
	},
	{
		"French", []string{"Mot de passe", "mot de passe", "MDP", "mdp"},
		[]string{
			"Le mot de passe est {}", "mot de passe du routeur : {}", "se connecter avec le mot de passe {}", "le mot de passe est désormais {}",
			"identifiants : kim / {}", "utilisateur kim, mot de passe {}", "Identifiant : kim\nMot de passe : {}", "le nouveau mot de passe : {}",
		},
		[]string{"code PIN : {}", "Le code PIN est {}", "le code de la porte est {}", "digicode : {}", "code de l'alarme : {}"},
		[]string{"clé Wi-Fi : {}", "mot de passe du wifi : {}", "clé WPA : {}", "La clé Wi-Fi est {}"},
	},
	{
		"Spanish", []string{"Contraseña", "contraseña", "Clave"},
		[]string{
			"La contraseña es {}", "contraseña del router: {}", "entrar con la contraseña {}", "la nueva contraseña es {}", "usuario kim, contraseña {}",
			"Usuario: kim\nContraseña: {}", "la clave del NAS es {}", "credenciales: kim / {}",
		},
		[]string{"PIN: {}", "El PIN es {}", "código de la puerta: {}", "el código de la alarma es {}", "código PIN: {}"},
		[]string{"clave del wifi: {}", "contraseña del Wi-Fi: {}", "La clave Wi-Fi es {}", "clave WPA: {}"},
	},
	{
		"Italian", []string{"Password", "password", "Parola d'ordine"},
		[]string{
			"La password è {}", "password del router: {}", "accedere con la password {}", "la nuova password è {}", "utente kim, password {}",
			"Utente: kim\nPassword: {}", "credenziali: kim / {}", "la parola d'ordine è {}",
		},
		[]string{"PIN: {}", "Il PIN è {}", "codice PIN: {}", "il codice dell'allarme è {}", "codice della porta: {}"},
		[]string{"password del Wi-Fi: {}", "chiave Wi-Fi: {}", "La chiave di rete è {}", "chiave WPA: {}"},
	},
	{
		"Portuguese", []string{"Senha", "senha", "Palavra-passe"},
		[]string{
			"A senha é {}", "senha do roteador: {}", "entrar com a senha {}", "a nova senha é {}", "usuário kim, senha {}", "Usuário: kim\nSenha: {}",
			"a palavra-passe é {}", "credenciais: kim / {}",
		},
		[]string{"PIN: {}", "O PIN é {}", "código da porta: {}", "o código do alarme é {}", "código PIN: {}"},
		[]string{"senha do Wi-Fi: {}", "chave WPA: {}", "A senha da rede é {}", "palavra-passe do Wi-Fi: {}"},
	},
	{
		"Dutch", []string{"Wachtwoord", "wachtwoord"},
		[]string{
			"Het wachtwoord is {}", "wachtwoord van de router: {}", "inloggen met wachtwoord {}", "het nieuwe wachtwoord is {}", "gebruiker kim, wachtwoord {}",
			"Gebruiker: kim\nWachtwoord: {}", "inloggegevens: kim / {}",
		},
		[]string{"pincode: {}", "De pincode is {}", "PIN: {}", "alarmcode: {}", "de deurcode is {}"},
		[]string{"wifi-wachtwoord: {}", "Het wifi-wachtwoord is {}", "wifi-sleutel: {}", "WPA-sleutel: {}"},
	},
	{
		"Polish", []string{"Hasło", "hasło"},
		[]string{
			"Hasło to {}", "hasło do routera: {}", "zaloguj się hasłem {}", "nowe hasło to {}", "użytkownik kim, hasło {}", "Użytkownik: kim\nHasło: {}",
			"dane logowania: kim / {}",
		},
		[]string{"PIN: {}", "Kod PIN to {}", "kod do drzwi: {}", "kod do alarmu to {}", "PIN do karty: {}"},
		[]string{"hasło do Wi-Fi: {}", "klucz WPA: {}", "Hasło sieci to {}", "klucz sieci: {}"},
	},
	{
		"Russian", []string{"Пароль", "пароль"},
		[]string{
			"Пароль — {}", "пароль от роутера: {}", "войти с паролем {}", "новый пароль: {}", "пользователь kim, пароль {}", "Логин: kim\nПароль: {}",
			"логин/пароль: kim / {}", "Пароль теперь {}", "пароль от базы - {}",
		},
		[]string{"PIN: {}", "ПИН-код: {}", "пин-код карты {}", "код от двери: {}", "код домофона: {}"},
		[]string{"пароль от Wi-Fi: {}", "пароль от вайфая {}", "ключ сети: {}", "пароль WiFi — {}"},
	},
	{
		"Chinese", []string{"密码", "口令", "密碼"},
		[]string{
			"密码是{}", "密码是 {}", "路由器的密码为{}", "用密码{}登录", "管理员密码：{}", "新密码：{}。", "用户名：kim，密码：{}", "用户名：kim\n密码：{}", "密碼是{}", "口令为 {}",
			"账号 kim 密码 {}",
		},
		[]string{"PIN码：{}", "PIN 是 {}", "门禁密码是{}", "门锁密码：{}", "银行卡密码：{}"},
		[]string{"WiFi密码：{}", "无线密码是{}", "Wi-Fi 密码: {}", "WiFi密码是 {}"},
	},
	{
		"Japanese", []string{"パスワード", "パスフレーズ"},
		[]string{
			"パスワードは{}です", "パスワードは {} です。", "パスワードは「{}」です", "ルーターのパスワードは{}", "新しいパスワード：{}", "ユーザー名：kim、パスワード：{}", "ユーザー名: kim\nパスワード: {}",
			"パスワード {} でログイン", "パスワード『{}』を使う",
		},
		[]string{"暗証番号は{}です", "暗証番号：{}", "PINコード：{}", "PINは{}", "玄関の暗証番号は {}"},
		[]string{"Wi-Fiのパスワードは{}", "Wi-Fiパスワード：{}", "暗号化キー：{}", "無線LANのパスワード: {}"},
	},
	{
		"Korean", []string{"비밀번호", "암호", "비번"},
		[]string{
			"비밀번호는 {}입니다", "비밀번호는 {} 입니다.", "공유기 비밀번호는 {}", "비번은 {}", "새 비밀번호: {}", "아이디: kim, 비밀번호: {}", "아이디: kim\n비밀번호: {}", "비밀번호 {}로 로그인",
			"암호는 {}이다",
		},
		[]string{"PIN 번호: {}", "핀번호는 {}", "현관 비밀번호는 {}", "PIN: {}", "도어락 비밀번호: {}"},
		[]string{"와이파이 비밀번호: {}", "와이파이 비번은 {}", "Wi-Fi 비밀번호는 {}", "무선 암호: {}"},
	},
	{
		"Arabic", []string{"كلمة المرور", "كلمة السر", "كلمة مرور"},
		[]string{
			"كلمة المرور هي {}", "كلمة مرور الراوتر: {}", "سجل الدخول باستخدام كلمة المرور {}", "كلمة المرور الجديدة: {}", "المستخدم kim، كلمة المرور {}",
			"اسم المستخدم: kim\nكلمة المرور: {}", "كلمة السر للخادم هي {}", "ادخل بكلمة المرور {}", "كلمة المرور الآن {}", "بيانات الدخول: kim / {}",
		},
		[]string{"PIN: {}", "رمز الباب: {}", "رمز الدخول هو {}", "الرمز السري للبطاقة: {}", "رمز PIN: {}"},
		[]string{"كلمة مرور الواي فاي: {}", "كلمة سر الواي فاي هي {}", "مفتاح الشبكة: {}", "كلمة مرور WiFi: {}"},
	},
	{
		"Hebrew", []string{"סיסמה", "הסיסמה", "סיסמא"},
		[]string{
			"הסיסמה היא {}", "סיסמת הראוטר: {}", "להתחבר עם הסיסמה {}", "הסיסמה החדשה: {}", "משתמש kim, סיסמה {}", "שם משתמש: kim\nסיסמה: {}",
			"הסיסמה של השרת היא {}", "היכנס בסיסמה {}", "הסיסמה עכשיו {}", "פרטי התחברות: kim / {}",
		},
		[]string{"PIN: {}", "קוד הדלת: {}", "קוד הכניסה הוא {}", "קוד סודי לכרטיס: {}", "קוד PIN: {}"},
		[]string{"סיסמת WiFi: {}", "סיסמת הוויי-פיי: {}", "הסיסמה לרשת היא {}", "מפתח הרשת: {}"},
	},
}

// layouts place a value beside a word for it, in whose place is W.
var layouts = []surrounding{
	{"colon", "W: {}"},
	{"colon without a space", "W:{}"},
	{"wide colon", "W：{}"},
	{"colon and space before", "W : {}"},
	{"equals sign", "W = {}"},
	{"arrow", "W → {}"},
	{"next line", "W:\n{}\n"},
	{"next line, indented", "W:\n    {}\n"},
	{"next line, in a list", "W:\n- {}\n"},
	{"next line, in code", "W:\n```\n{}\n```\n"},
	{"paragraph below", "W:\n\n{}\n"},
	{"heading", "## W\n\n{}\n"},
	{"heading, code span", "### W\n`{}`\n"},
	{"list", "- W: {}\n- region: eu\n"},
	{"bold in a list", "- **W:** {}\n"},
	{"bold word in a list", "* **W**: {}\n"},
	{"code span", "W: `{}`"},
	{"code span in a list", "- W `{}`\n"},
	{"double quotes", `W: "{}"`},
	{"typographic quotes", "W: “{}”"},
	{"guillemets", "W : «{}»"},
	{"table row", "| user | kim |\n| W | {} |\n"},
	{"table row, code span", "| W | `{}` |\n"},
	{"table column", "| user | W |\n|------|-----|\n| kim | {} |\n"},
	{"table column, last of three", "| host | user | W |\n|---|---|---|\n| nas | kim | {} |\n"},
	{"table column, first", "| W | user |\n|---|---|\n| {} | kim |\n"},
	{"definition", "W\n: {}\n"},
	{"in parentheses", "the NAS (W: {}) is new"},
	{"after a comma", "kim, W: {}, since May"},
	{"sentence", "W: {}. Then restart.\n"},
	{"JSON", `{"W": "{}", "n": 1}`},
	{"YAML", "login:\n  W: {}\n"},
	{"tab", "W\t{}\n"},
	{"double colon column", "W .... {}\n"},
}

// values are passwords as people choose them and managers generate them. Each ends with
// a letter or a digit: punctuation there cannot be told from that of a sentence.
var values = []format{
	{"random password", "", func(m maker) string {
		return m.chars(small, 2) + m.chars(capital, 2) + m.chars(digits, 2) + m.chars("!@#%*+=?~", 2) + m.chars(base62, 4+m.IntN(5)) + m.chars(small+digits, 1)
	}},
	{"letters and digits", "", func(m maker) string { return m.chars(small, 3) + m.chars(digits, 2) + m.chars(base62, 5+m.IntN(6)) }},
	{"word and year", "", func(m maker) string { return title(pick(m, nouns)) + fmt.Sprint(1970+m.IntN(60)) }},
	{"word, sign and digits", "", func(m maker) string {
		return title(pick(m, nouns)) + pick(m, []string{"!", "#", "-", "_", "@", "$", "&"}) + m.chars(digits, 2+m.IntN(2))
	}},
	{"words with hyphens", "", func(m maker) string {
		return strings.Join([]string{pick(m, nouns), pick(m, nouns), pick(m, nouns), pick(m, nouns)}, "-")
	}},
	{"changed letters", "", func(m maker) string {
		word := pick(m, nouns) + pick(m, nouns)
		return strings.NewReplacer("o", "0", "a", "4", "e", "3", "i", "1").Replace(word) + m.chars(digits, 1)
	}},
}

// letterValues are passwords of letters only.
var letterValues = []format{
	{"random letters", "", func(m maker) string {
		return m.chars(small, 2) + m.chars(capital, 2) + m.chars("bcdfghjklmnpqrstvwxz", 3) + m.chars(small+capital, 3)
	}},
	{"a word", "", func(m maker) string { return pick(m, nouns) + pick(m, nouns) }},
}

// letterLayouts leave no doubt that a value of letters is a password.
var letterLayouts = []surrounding{
	{"code span", "W: `{}`"},
	{"double quotes", `W: "{}"`},
	{"code span in a list", "- W: `{}`\n"},
	{"typographic quotes", "W: “{}”"},
}

var nouns = strings.Fields(`anchor basil cactus dolphin ember falcon garden hammer island jungle kettle lantern marble needle orchid
	pepper quartz ribbon saddle tunnel umbra velvet walnut yonder zephyr copper meadow thunder summer winter rocket planet`)

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Announced returns passwords, numbers and keys of networks, of which a word in one of
// the languages says what they are. The surrounding is the language and where the value
// stands.
func Announced(seed uint64, n int) []Note {
	m := newMaker(seed)
	var notes []Note
	add := func(kind, language, where, text, secret string) {
		notes = append(notes, m.newNote(kind, language+", "+where, text, secret))
	}
	for _, l := range languages {
		for range n {
			for _, s := range layouts {
				for _, w := range l.words {
					v := pick(m, values)
					add("password, "+v.kind, l.name, s.name, strings.Replace(s.text, "W", w, 1), v.make(m))
				}
			}
			for _, s := range letterLayouts {
				for _, w := range l.words {
					v := pick(m, letterValues)
					add("password, "+v.kind, l.name, s.name, strings.Replace(s.text, "W", w, 1), v.make(m))
				}
			}
			for _, s := range l.passwords {
				for _, v := range values {
					add("password, "+v.kind, l.name, "sentence "+s, m.ended(s), v.make(m))
				}
			}
			for _, s := range l.pins {
				add("PIN", l.name, "sentence "+s, m.ended(s), m.chars(digits[1:], 1)+m.chars(digits, 3+m.IntN(4)))
			}
			for _, s := range l.networks {
				v := pick(m, values)
				add("network key, "+v.kind, l.name, "sentence "+s, m.ended(s), v.make(m))
				add("network key, digits", l.name, "sentence "+s, m.ended(s), m.chars(digits, 16+m.IntN(5)))
			}
		}
	}
	return notes
}

// ended returns s with or without a mark or a line end after it, in parentheses or in a list.
func (m maker) ended(s string) string {
	if strings.HasSuffix(s, "{}") && m.IntN(2) == 0 {
		return s + pick(m, []string{".", ".\n", ", and that is all", "; see above", ")", "。", "\r\n", " (since May)", " - do not share", "!"})
	}
	return pick(m, []string{"", "- ", "* ", "> ", "(", "NB: ", "1. "}) + s + "\n"
}
