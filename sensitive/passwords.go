package sensitive

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// passwordRules returns the rules for secrets that people choose. Only the words and
// the punctuation around them distinguish these from other text.
func passwordRules() []*rule {
	rules := []*rule{
		{
			kind: "url-password", keywords: []string{"://"}, anchored: true, reach: 300,
			pattern: `://[^\s/?#"'<>@` + "`" + `:]*:([^\s/"'<>` + "`" + `]{4,})@[\w.\[{$%-]`,
			refine:  refineURLPassword,
		},
		{ // of Go's MySQL driver
			kind: "url-password", keywords: []string{"@tcp(", "@unix("}, reach: 150,
			pattern: `\b[\w.-]+:([^\s"'` + "`" + `]{4,})@(?:tcp|unix)\(`,
			refine:  refineURLPassword,
		},
		{
			kind: "connection-string-password", keywords: []string{"password=", "pwd="}, reach: 300,
			pattern: `(?i)(?:server|data source|host|hostaddr|dbname|database|initial catalog|jdbc:[a-z:]+//[^\s"']+)[^\n"']*?[;&? ](?:password|pwd)=([^;&\s"'` + "`" + `]{3,})|` +
				`(?i)[;& "'](?:password|pwd)=([^;&\s"'` + "`" + `]{3,})[; &][^\n"']*(?:server|data source|host|dbname|database|initial catalog)=`,
			refine: refineConnectionPassword,
		},
		{ // commands with a password as an argument
			kind: "password", keywords: []string{"sshpass", "| sudo -s"}, reach: 150,
			pattern: `\bsshpass[ \t]+-p[ \t]*["']?([^\s"']{4,})|\becho[ \t]+(?:-n[ \t]+)?["']?([^\s"']{4,})["']?[ \t]*\|[ \t]*sudo[ \t]+-S\b`,
			refine:  refineConnectionPassword, generic: true,
		},
		{ // names such as token, with values that gitleaks does not match
			kind: "generic-secret", keywords: []string{"key", "token", "secret", "credential"}, anchored: true, reach: 200,
			pattern: `(?i)(?:key|token|secret|credential)s?` + afterName + closing + assignment + `["'` + "`" + `*]*([^\s"'<>` + "`" + `]{10})`,
			refine:  refineSecret, entropy: 2.9, generic: true, openEnded: true, random: true,
		},
	}
	rules = append(rules, &rule{ // in separated values
		kind: "generic-secret", keywords: []string{"api_key", "apikey", "api key", "token", "secret", "access_key"}, anchored: true, reach: readReach,
		read: columnSecrets, generic: true,
	})
	for _, n := range announcingWords {
		rules = append(rules, &rule{
			kind: n.kind, keywords: n.words, anchored: true, reach: readReach,
			read: announced(n.words, n.what, n.short), generic: true, atWordStart: n.short, random: n.what >= aKey,
		})
	}
	return append(rules, commandRules()...)
}

// Patterns for the text between a name and its value. Repetitions have no upper bound,
// since each count is a copy in the compiled expression; the window bounds them.
const (
	afterName  = `(?:[ \t](?:for|to|of|on|at|in|für|im|vom|am|zum|para|de|del|do|da|pour|du|des|per|van|voor)(?:[ \t][\w\pL.@/:'-]+){1,6}?|[ \t]?\([^)\n]+\))?`
	closing    = `["'` + "`" + `*_\])\\]*`
	assignment = `(?:[ \t]*(?::=|=>|->|→|==?|:|：|>)["'` + "`" + `*_]*?[ \t]*(?:[>|]-?\s+)?` +
		`|['’]s[ \t]+|[ \t]+(?:is|was|are|to|ist|war|lautet|es|est|é|è|är|er|jest|should be|now)[ \t:]+(?:still |now |just |set to |changed to |reset to |currently |jetzt |noch )?)["'` + "`" + `*]*?`
)

// announcingWords are words for passwords, in fourteen languages. Letters of ASCII are in
// lower case; of others, both cases are listed. Short words are also parts of other words.
var announcingWords = []struct {
	kind  string
	what  announces
	short bool
	words []string
}{
	{"password", aPassword, false, []string{
		"password", "passwd", "passphrase", "passwort", "kennwort", "mot de passe", "contraseña", "contraseÑa", "parola d'ordine", "parola d’ordine", "palavra-passe", "palavra passe",
		"wachtwoord", "hasło", "hasła", "hasłem", "hasŁo", "lösenord", "lösenordet", "adgangskode", "salasana",
		"пароль", "Пароль", "ПАРОЛЬ", "пароля", "паролем", "Паролем", "паролю", "密码", "口令", "密碼", "パスワード", "パスフレーズ", "비밀번호", "비번", "암호",
		"كلمة المرور", "كلمة مرور", "كلمة السر", "كلمة سر", "كلمه المرور", "كلمه السر", "كلمة المرور السرية", "الرقم السري", "סיסמה", "סיסמא", "סיסמת", "סיסמתו", "סיסמתה",
	}},
	{"password", aPassword, true, []string{"pass", "passw", "pwd", "pw", "clave", "senha", "mdp", "haslo", "psk"}},
	{"password", aNetworkKey, true, []string{
		"wi-fi key", "wifi key", "wlan key", "wpa key", "wpa2 key", "wpa3 key", "network key", "recovery key", "wlan-schlüssel", "wlan-key", "netzwerkschlüssel",
		"clé wi-fi", "clé wifi", "code wifi", "code wi-fi", "clé wpa", "clé du wifi", "clé réseau", "clave wi-fi", "clave wpa", "clave del wifi", "chiave wi-fi", "chiave wifi", "chiave di rete", "chiave wpa", "chave wpa", "chave do wi-fi", "chave da rede",
		"wifi-sleutel", "wpa-sleutel", "wifi-code", "klucz wpa", "klucz sieci", "ключ сети", "Ключ сети", "ключ wi-fi", "ключ wpa", "مفتاح الشبكة", "مفتاح الواي فاي", "مفتاح wpa", "מפתח רשת", "מפתח הרשת", "מפתח wpa", "暗号化キー", "wi-fiキー", "wifiキー", "セキュリティキー",
	}},
	{"passcode", aNumber, true, []string{
		"pin", "pin code", "pin-code", "pincode", "pin number", "passcode", "pass code", "door code", "gate code", "alarm code", "access code", "unlock code", "entry code", "safe code", "lock code", "garage code",
		"combination", "türcode", "alarmcode", "geheimzahl", "zugangscode", "code pin", "digicode", "code de la porte", "code de l'alarme", "code du portail", "code de l’alarme", "code de l'immeuble", "code de l’immeuble", "code d'entrée", "code d’entrée",
		"código de la puerta", "código de la alarma", "código pin", "codice pin", "codice dell'allarme", "codice dell’allarme", "codice della porta", "código da porta", "código do alarme", "deurcode",
		"kod pin", "kod do drzwi", "kod do alarmu", "пин-код", "ПИН-код", "Пин-код", "пин", "ПИН", "код от двери", "код домофона", "Код домофона", "Код от двери",
		"رمز الدخول", "رمز المرور", "رمز الباب", "رمز الإنذار", "الرمز السري", "رقم التعريف الشخصي", "קוד סודי", "קוד כניסה", "קוד הכניסה", "קוד הדלת", "קוד האזעקה", "קוד לדלת", "קוד לכספת",
		"门禁密码", "门锁密码", "开门密码", "银行卡密码", "支付密码", "取款密码", "暗証番号", "핀번호", "현관 비밀번호", "도어락 비밀번호", "현관 비번",
	}},
	{"generic-secret", aKey, true, []string{
		"api-schlüssel", "geheimschlüssel", "geheimer schlüssel", "zugriffsschlüssel", "clé api", "clé d'api", "clé d’api", "clé secrète", "jeton", "jeton d'accès", "jeton d’accès",
		"clave api", "clave de api", "clave secreta", "chiave api", "chiave segreta", "chave api", "chave de api", "chave da api", "chave secreta", "api-sleutel", "geheime sleutel",
		"klucz api", "tajny klucz", "ключ api", "Ключ api", "api-ключ", "секретный ключ", "Секретный ключ", "токен", "Токен",
	}},
	{"generic-secret", aKey, false, []string{
		"مفتاح api", "مفتاح واجهة البرمجة", "المفتاح السري", "מפתח api", "מפתח סודי", "密钥", "密鑰", "秘钥", "金鑰", "令牌", "权杖", "apiキー", "秘密鍵", "シークレットキー", "アクセスキー", "トークン", "api 키", "api키", "비밀 키", "비밀키", "시크릿 키", "액세스 키", "토큰",
	}},
	{"password", aNetworkLine, true, []string{"key", "schlüssel", "clé", "chiave", "chave", "sleutel", "klucz", "ключ"}},
	{"generic-secret", aPaired, false, []string{"key", "token", "secret"}},
	{"password", aLogin, true, []string{
		"login", "logins", "credentials", "creds", "zugangsdaten", "identifiants", "credenciales", "credenziali", "credenciais", "inloggegevens", "dane logowania", "логин/пароль", "Логин/пароль", "账号密码", "로그인 정보", "ログイン情報", "بيانات الدخول", "بيانات تسجيل الدخول", "פרטי התחברות", "פרטי כניסה", "פרטי הכניסה",
	}},
}

// trivialPasswords are common in examples and local set-ups, and protect nothing.
var trivialPasswords = set(`pass passwd password pwd pw secret token user username guest root admin test foo bar none null nil true false
	123456 12345678 123456789 1234567890 undefined string postgres mysql redis mongo minioadmin mypassword mypass oauth2 x-oauth-basic x-access-token`)

func isTrivial(s string) bool {
	return trivialPasswords()[strings.ToLower(s)] || isPlaceholder(s)
}

func refineURLPassword(text string, s span) span {
	if isTrivial(text[s.start:s.end]) || strings.HasPrefix(text[s.start:s.end], "$") {
		return span{}
	}
	return s
}

func refineConnectionPassword(text string, s span) span {
	s = trimPassword(text, cutAtMark(text, s))
	found := text[s.start:s.end]
	if isTrivial(found) || isCode(found) || isKeywordArgument(text, s) {
		return span{}
	}
	return s
}

// isKeywordArgument reports whether s, which follows a sign, is a variable or a constant
// among the arguments of a call, as in connect(host, password=word).
func isKeywordArgument(text string, s span) bool {
	return s.end < len(text) && strings.IndexByte("),", text[s.end]) >= 0 && plainName().MatchString(text[s.start:s.end]) &&
		strings.Contains(before(text, s.start, 100), "(")
}

// plainName matches names of variables without digits.
var plainName = lazily(`^[A-Za-z_]+$`)

// isChanged reports whether s has a verb after which "the password to …" is followed by a
// password.
func isChanged(s string) bool {
	for _, verb := range []string{"set", "Set", "chang", "Chang", "updat", "Updat", "rotat", "Rotat", "switch", "Switch"} {
		if strings.Contains(s, verb) {
			return true
		}
	}
	return false
}

// refineSecret accepts, after a name such as "token", values that look random.
func refineSecret(text string, s span) span {
	if i := strings.Index(text[s.start:s.end], ")]("); i >= 0 { // a link in Markdown
		s.end = s.start + i
	}
	s = trimPassword(text, s)
	found := text[s.start:s.end]
	if len(found) < 10 || strings.HasPrefix(found, "arn:") || strings.HasPrefix(found, "urn:") || isPublicParameter(before(text, s.start, 100)) || !isRandom(found) || isCode(found) || isPlaceholder(found) || !secretName().in(before(text, s.start, 100)) {
		return span{}
	}
	return refineGeneric(text, s)
}

// publicParameter matches the start of an address of a badge, whose token only shows it.
var publicParameter = lazily(`(?:badge|shield)[^\s()]*[?&]token=$`)

func isPublicParameter(name string) bool {
	return strings.HasSuffix(name, "token=") && publicParameter().MatchString(name)
}

// secretName are in names of secret keys, and not in those of keys in caches and tables.
var secretName = words(append(joinedWords("api access signing encryption master license licence private shared service auth app account secret client", "key"), "secret", "token", "credential")...)

// cutAtMark returns the part of s before a wide mark or a word of a script without spaces.
func cutAtMark(text string, s span) span {
	for i, c := range text[s.start:s.end] {
		if i > 0 && endsValue(c) {
			s.end = s.start + i
			break
		}
	}
	return s
}

// parameter returns where in s the next parameter of a query or a connection string
// begins, such as "&name=" or "; User Id=", or the length of s.
func parameter(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] != '&' && s[i] != ';' {
			continue
		}
		end := i + 1
		for end < len(s) && (isLetter(s[end]) || s[end] == '_' || s[end] == ' ' && end > i+1) {
			end++
		}
		if end > i+1 && end < len(s) && s[end] == '=' {
			return i
		}
		i = end - 1
	}
	return len(s)
}

// trimPassword removes characters of the surrounding text from an unquoted password.
func trimPassword(text string, s span) span {
	s.end = s.start + parameter(text[s.start:s.end])
	s = trimEnd(text, s)
	for s.end > s.start {
		found := text[s.start:s.end]
		switch last := found[len(found)-1]; {
		case last == ')' && !strings.Contains(found, "("),
			last == ']' && !strings.Contains(found, "["),
			last == '}' && !strings.Contains(found, "{"),
			last == '|', last == '\\':
			s.end--
		case strings.HasSuffix(found, "**"):
			s.end -= 2
		default:
			return s
		}
		s = trimEnd(text, s)
	}
	return s
}

// technical matches words with digits that often stand near passwords: names of hash
// functions and products, lengths, durations.
var technical = lazily(`(?i)^(?:` + strings.Join([]string{
	`(?:ha)?sha-?\d+|md5|hmac.*|argon2(?:id?|d)?|b?s?crypt.*|pbkdf2.*|base64.*|utf-?\d+|ntlm.*|aes-?\d+.*|rsa-?\d+.*|x509`,
	`oauth2?.*|1password.*|auth0|k8s|i18n|o365|m365|log4j|win\d+|ipv\d`,
	`\d+(?:st|nd|rd|th|px|ms|s|m|h|d|min|am|pm|kb|mb|x|chars?|characters|days?|weeks?|months?|years?|bits?|bytes?|hours?)`,
	`q[1-4]|0x[0-9a-f]{1,16}|\d+-\w+|v\d+(?:[.-]\w+)*|[\d.,:/+-]+|[a-z]+-\d{1,6}`,
}, "|") + `)$`)

// isTechnical reports whether technical matches s. Without a digit only a few words do.
func isTechnical(s string) bool {
	return (strings.ContainsAny(s, "0123456789") || slices.ContainsFunc(technicalWords, func(w string) bool { return hasPrefixFold(s, w) })) &&
		technical().MatchString(s)
}

var technicalWords = []string{"hmac", "ntlm", "crypt", "bcrypt", "scrypt", "oauth"}

// nameAndNumber matches what is technical in prose, as in AES-256, but can be a password
// after a word for it.
var nameAndNumber = lazily(`^[A-Z][a-z]{3,}-\d{1,6}$`)

// codePattern matches the starts of expressions of programming languages, paths and addresses, or
// the whole of them.
var codePattern = lazily(`^(?:` + strings.Join([]string{
	`[~.]{0,2}/|[A-Za-z]:\\|[A-Za-z][\w+-]*://`, // paths, URLs
	`[\w-]+(?:/[\w.-]+)+$`,
	`[\w.+-]+@[\w-]+\.[\w.]+$`,
	`--?\w|#\w*$|!\w+$`, // flags, tags
	`&|\*\w`,
	`#?[A-Za-z_]+(?:\.[A-Za-z_]+)+$|\w+(?:->|::)\w`, // a.b.c
	`[a-z]\w*(?:\.[a-z]\w*){2,}$`,                   // a.b.c1
	`\d*\*[A-Z]+$|[\w.]+\{$`,                        // repetition in a grammar, a type
}, "|") + `)`)

// isCode reports whether s is an expression, a path or an address.
func isCode(s string) bool { return mayBeCode(s) && (hasCode(s) || codePattern().MatchString(s)) }

// hasCode reports whether s has what only expressions have.
func hasCode(s string) bool {
	for i := range len(s) - 1 {
		if !codeSigns.has(s[i]) {
			continue
		}
		switch next := s[i+1]; s[i] {
		case '(': // a call; a regular expression
			if next == '?' || i > 0 && isWordByte(s[i-1]) {
				return true
			}
		case '[':
			if isWordByte(next) || strings.IndexByte(`]"'`, next) >= 0 {
				return true
			}
		case '=':
			if next == '>' {
				return true
			}
		case '.':
			if next == '*' {
				return true
			}
		case '/': // a/{b}
			if n := strings.IndexByte(s[i:], '}'); next == '{' && n > 2 && !strings.ContainsFunc(s[i+2:i+n], func(c rune) bool { return c >= utf8.RuneSelf || !isWordByte(byte(c)) }) {
				return true
			}
		case '\\': // a regular expression; bytes in a program
			if strings.IndexByte("dwsbS", next) >= 0 || next == 'x' && i+3 < len(s) && isHex(s[i+2]) && isHex(s[i+3]) {
				return true
			}
		}
	}
	return strings.HasSuffix(s, "(") && len(s) > 1 && isWordByte(s[len(s)-2])
}

var codeSigns = func() (c class) {
	for _, b := range "([=./\\" {
		c.add(rangeClass(b, b))
	}
	return c
}()

func isWordByte(c byte) bool { return isAlphanumeric(c) || c == '_' }

// mayBeCode is a cheap check for what isCode is true of.
func mayBeCode(s string) bool {
	return s != "" && (strings.IndexByte("-#!&*", s[0]) >= 0 || s[len(s)-1] == '{' || codeBytes.in(s)) || strings.Contains(s, "=>") || strings.Contains(s, "->")
}

// codeBytes is a byte that most of what codePattern matches has.
var codeBytes = byteRun{func() (c class) {
	for _, b := range `/\@([.:*` {
		c.add(rangeClass(b, b))
	}
	return c
}(), 1}

// isAssignment reports whether s is a setting, or an expression that compares.
func isAssignment(s string) bool {
	i := strings.IndexByte(s, '=')
	if i < 0 {
		return false
	}
	name := strings.IndexFunc(s[:i], func(c rune) bool { return c >= utf8.RuneSelf || c != '-' && !isWordByte(byte(c)) }) < 0
	return i > 0 && name || strings.Contains(s[i:], "==") || strings.Contains(s, "!=")
}

// maxPassword is the length of the longest password, in characters.
const maxPassword = 128

// isPassword reports whether s looks like a password: letters with digits or symbols,
// or several words. With strict, texts that could also be something else are rejected.
func isPassword(s string, strict bool) bool {
	length := utf8.RuneCountInString(s)
	if length < 6 || length > maxPassword {
		return false
	}
	c := countChars(s)
	letters := c.lower + c.upper + c.other
	strong := strings.ContainsAny(s, "!@#$%^&*+=?~|")
	if letters == 0 || c.digits == 0 && c.symbols == 0 && !strings.Contains(s, " ") {
		return false
	}
	composed := c.upper > 0 && c.lower > 0 && c.digits > 1
	if isTrivial(s) || isTechnical(s) && (strict || !nameAndNumber().MatchString(s)) || isKnownID(s) || isCode(s) || !composed && isAssignment(s) {
		return false
	}
	if strings.ContainsAny(s, " \t") {
		return isPassphrase(s, " ") || strong && c.digits > 0 && strings.Count(s, " ") < 5 && !isSentence(s)
	}
	switch {
	case strict:
		return c.digits > 0 && (strong || c.lower > 0 && c.upper > 0 && isRandom(s))
	case c.digits > 0:
		return true
	case strong && !strings.HasSuffix(s, "?"):
		return strings.ContainsAny(s[:len(s)-1], "!@#$%^&*+=?~|") || c.upper > 0 && c.lower > 0
	}
	return isPassphrase(s, "-") || isPassphrase(s, "_") || isPassphrase(s, ".") || hasUnlikeWord(s)
}

// hasUnlikeWord reports whether a part of s, between hyphens and the like, has letters of both
// cases and is like no word.
func hasUnlikeWord(s string) bool {
	for part := range strings.FieldsFuncSeq(s, func(c rune) bool { return strings.ContainsRune("-_.", c) }) {
		c, n := countChars(part), len(part)
		if n >= 6 && c.lower+c.upper == n && c.lower > 0 && caseChanges(part) > 2 && (isUnlikeWords(part) || isUpper(part[n-1]) && !isUpper(part[n-2])) {
			return true
		}
	}
	return false
}

// judge returns the part of v that is what is announced, or an empty span.
func (a *announcement) judge(v value) span {
	found := a.text[v.start:v.end]
	if len(found) > maxPassword {
		return span{}
	}
	if n := len(found) - 1; n > 0 && !v.quoted && strings.IndexByte("!?", found[n]) >= 0 && !strings.ContainsAny(found[:n], "!?") {
		if c := countChars(found[:n]); c.digits == n || c.digits+c.upper == 0 { // of the sentence
			v.end, found = v.end-1, found[:n]
		}
	}
	if a.what >= aKey {
		return a.judgeKey(v)
	}
	if a.what == aNetworkLine && isNoNetworkKey(found) {
		return span{}
	}
	c := countChars(found)
	if a.bare && c.lower+c.upper == 0 {
		return span{}
	}
	if c.digits > 0 && c.lower+c.upper+c.other+c.symbols == 0 {
		least := 8
		switch {
		case a.what == aNumber:
			least = 4
		case a.what == aPassword && !a.short && v.how >= verb:
			least = 6
		case a.what == aPassword && strings.EqualFold(a.text[a.name.start:a.name.end], "pass"), a.what == aLogin:
			return span{} // a count
		}
		if len(found) < least || len(found) > 24 || isTrivial(found) {
			return span{}
		}
		return v.span
	}
	switch {
	case a.bare && c.digits == 0:
		return span{}
	case a.what == aNumber:
		if len(found) > 4 && strings.Trim(found[:len(found)-1], "0123456789") == "" && strings.IndexByte("#*", found[len(found)-1]) >= 0 {
			return v.span
		}
		if v.how >= verb && keypadCode().MatchString(found) {
			return v.span
		}
		return span{}
	case v.how < verb && c.digits == 0 && !v.quoted && (v.how == adjacent || !isPassphrase(found, "-")):
		return span{}
	case c.digits+c.symbols == 0 && !strings.Contains(found, " ") && (v.how != own || v.alone):
		if !v.isLetterPassword(a, found) {
			return span{}
		}
		return v.span
	case v.how == own && !v.alone, a.bare && !isPassword(found, true), reference().MatchString(found), v.how < sign && strings.HasPrefix(found, "-"),
		v.how < verb && (strings.Contains(found, "](") || strings.Contains(found, "://")):
		return span{}
	case !isPassword(found, false):
		return span{}
	}
	switch v.how {
	case adjacent, preceded:
		inside := lettersAndDigits(found)
		switch {
		case isMember(found), isAssignment(found) && !strings.ContainsAny(found, "!@#%^*+?~"):
			return span{}
		case c.digits == 0:
			if !isPassphrase(found, "-") && (!v.quoted || !hasUnlikeWord(found) && (v.how == adjacent || c.upper == 0 || c.lower == 0 || !strings.ContainsAny(found, "!$%^&*+~|"))) {
				return span{}
			}
		case v.quoted && (c.upper > 0 && c.lower > 0 || inside):
		case strings.ContainsAny(found, "!@#$%^&*+=?~|") && c.lower+c.upper > 0:
		case inside && len(found) >= 8 && (c.upper > 0 || c.digits > 1):
		case c.upper > 0 && c.lower > 0 && c.digits > 1 && len(found) >= 8:
		case v.how == preceded && (c.digits > 1 || inside) && len(found) >= 8:
		default:
			return span{}
		}
	}
	return v.span
}

// judgeKey returns v if it looks like a key that is random, or an empty span.
func (a *announcement) judgeKey(v value) span {
	const least = 16
	found := a.text[v.start:v.end]
	c := countChars(found)
	if v.how < verb || v.how == own && !v.alone || len(found) < least || c.digits == 0 || c.lower+c.upper == 0 || c.other > 0 || !isRandom(found) || isCode(found) || reference().MatchString(found) {
		return span{}
	}
	if isHash(found) {
		if a.what == aKey && strings.IndexByte(found, '-') < 0 || a.what == aPaired && len(found) >= 32 && a.isSecretName() {
			return v.span
		}
		return span{}
	}
	return refineGeneric(a.text, v.span)
}

// isSecretName reports whether the name is that of a secret key, or of a variable of the environment
// that is not for something public.
func (a *announcement) isSecretName() bool {
	name := a.text[nameStart(a.text, a.name.start):a.name.end]
	return secretName().in(name) || strings.ToUpper(name) == name && strings.IndexByte(name, '_') > 0 && !isPublicName(name)
}

// keypadCode matches codes of keypads that have two letters beside the digits.
var keypadCode = lazily(`^\d{1,5}[AB]\d{0,4}$`)

// reference matches values that say where the password is, or belong to code.
var reference = lazily(`^(?:\$+[A-Za-z_({]|@?(?:env|file|vault|kv|ssm|keyring|pass|secret|ref|arn):|@\w+:\d*/?$|%[a-z]|[+,\\])`)

// lettersAndDigits reports whether digits stand between letters in s.
func lettersAndDigits(s string) bool {
	for i := 1; i < len(s)-1; i++ {
		if isDigit(s[i]) && isLetter(s[i-1]) {
			rest := strings.TrimLeft(s[i:], "0123456789")
			if rest != "" && isLetter(rest[0]) {
				return true
			}
		}
	}
	return false
}

// isLetterPassword reports whether found, which has letters only, can be nothing but a
// password: it is in quotation marks, or alone on its line, and like no word.
func (v value) isLetterPassword(a *announcement, found string) bool {
	if v.how < verb || len(found) < 8 || len(found) > 40 {
		return false
	}
	variable := a.assigned || a.isVariable()
	if a.short && !v.quoted && !variable || isTrivial(found) || a.what == aLogin && !v.quoted {
		return false
	}
	for _, w := range notPasswords {
		if strings.Contains(strings.ToLower(found), w) {
			return false
		}
	}
	if c := countChars(found); c.other > 0 {
		return false
	}
	if isUnlikeWords(found) || variable && caseChanges(found) >= 5 {
		return v.quoted || (v.alone || variable) && v.how >= sign
	}
	return v.quoted && v.code && v.alone && a.isLineName() && (strings.ToLower(found) == found || a.text[v.end] != '"')
}

// isVariable reports whether the name is a variable of the environment that is assigned
// the value.
func (a *announcement) isVariable() bool {
	name := a.text[nameStart(a.text, a.name.start):a.name.end]
	return strings.ToUpper(name) == name && len(name) > 5 && strings.HasPrefix(a.text[a.name.end:], "=")
}

// notPasswords are parts of words that stand in the place of a password without being one.
var notPasswords = strings.Fields(`pass kenn wort secret token user name login admin string required optional hidden invalid incorrect missing wrong
	encrypt plain text default disabled enabled current nullable boolean integer number generate random field value masked unknown authen
	credential account invalid hash input label form button error message config setting option param env vault keychain`)

// isUnlikeWords reports whether letters are hardly those of words: many changes of case,
// or long parts without a vowel.
func isUnlikeWords(s string) bool {
	run, longest, vowels := 0, 0, 0
	for i := range len(s) {
		if i > 0 && (s[i] < 'a') != (s[i-1] < 'a') {
			if i > 1 && i < len(s)-1 && s[i] < 'a' && s[i-2] < 'a' && s[i+1] >= 'a' {
				return true // a single small letter, as in AqPo
			}
		}
		if strings.IndexByte("aeiouyAEIOUY", s[i]) >= 0 {
			run = 0
			vowels++
			continue
		}
		run++
		longest = max(longest, run)
	}
	changes := caseChanges(s)
	return longest >= 5 || changes >= 3 && longest >= 4 || changes >= 4 && longest >= 3 || vowels*5 < len(s)
}

// caseChanges returns how often capital and small letters take turns in s.
func caseChanges(s string) int {
	n := 0
	for i := 1; i < len(s); i++ {
		if (s[i] < 'a') != (s[i-1] < 'a') {
			n++
		}
	}
	return n
}

// isPassphrase reports whether s is four to eight words of letters that are not a
// sentence.
func isPassphrase(s, separator string) bool {
	words := strings.Split(s, separator)
	for _, w := range words {
		if c := countChars(w); len(w) < 3 || c.lower+c.upper != len(w) || len(w) > 12 {
			return false
		}
	}
	return len(words) >= 4 && len(words) <= 8 && !isSentence(strings.ReplaceAll(s, separator, " "))
}

// isSentence reports whether s has words that mostly occur in sentences.
func isSentence(s string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(w string) bool { return functionWords()[w] })
}

var functionWords = set(`the and for not but you your this that from with must should will can cannot never please see use ask when
	are has have was were into only same stored password via`)

// set returns a function for the set of words, which is made on the first call.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}
