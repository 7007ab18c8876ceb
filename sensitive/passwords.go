package sensitive

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// passwordRules returns the rules for what people choose, which only the words
// and the punctuation around it tell from other text.
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
		{
			kind: "passcode", keywords: []string{"pin", "code", "combination"},
			pattern: `(?i)\b(?:pin(?:[ -]?code| number)?|pass ?code|(?:door|gate|alarm|access|unlock|entry|safe|lock|garage)[ -]?code|combination)` +
				`(?:[ \t](?:for|to|of)(?:[ \t][\w.'-]{1,30}){1,4}?)?["*` + "`" + `]{0,3}` +
				`(?:[ \t]{0,3}[:=][*]{0,2}[ \t]{0,3}|[ \t](?:is|was)[ \t])["'` + "`" + `*]{0,3}(\d{4,12}[#*]?)(?:[^\w-]|$)`,
			vague: true,
		},
		{ // login: name / password
			kind: "password", keywords: []string{"login", "credentials", "creds", "zugangsdaten", "identifiants"}, anchored: true, reach: 200,
			pattern: `(?i)(?:logins?|credentials|creds|zugangsdaten|identifiants)` + whose + closing +
				`[ \t]?(?::|=|[ \t]is|[ \t]are)["'` + "`" + `*]*[ \t]+["` + "`" + `]?[\w.@+-]{2,}["` + "`" + `]?[ \t]?[/:|,][ \t]?["` + "`" + `]?(` + unquoted + `)`,
			refine: refinePassword, vague: true, open: true,
		},
		{ // commands that take it as an argument
			kind: "password", keywords: []string{"sshpass", "| sudo -s"}, reach: 150,
			pattern: `\bsshpass[ \t]+-p[ \t]*["']?([^\s"']{4,})|\becho[ \t]+(?:-n[ \t]+)?["']?([^\s"']{4,})["']?[ \t]*\|[ \t]*sudo[ \t]+-S\b`,
			refine:  refineConnectionPassword, vague: true,
		},
		{ // names such as token, with values that gitleaks does not expect
			kind: "generic-secret", keywords: []string{"key", "token", "secret", "credential"}, anchored: true, reach: 200,
			pattern: `(?i)(?:key|token|secret|credential)s?` + whose + closing + given + `["'` + "`" + `*]*([^\s"'<>` + "`" + `]{10})`,
			refine:  refineSecret, entropy: 2.9, vague: true, open: true, plausible: isRandom,
		},
	}
	for _, n := range passwordNames {
		pattern := `(?i)(?:` + strings.Join(n.names, "|") + `)s?(?:_?[0-9])?`
		rules = append(rules,
			&rule{ // the password for … is …; password: …
				kind: "password", keywords: n.names, anchored: true, separate: n.short, reach: 200,
				pattern: pattern + whose + closing + given + `("[^"\n]{4,}"|'[^'\n]{4,}'|` + "`[^`\n]{4,}`" + `|` + unquoted + `)`,
				refine:  refinePassword, vague: true, open: true,
			},
			&rule{ // the … password … works
				kind: "password", keywords: n.names, anchored: true, separate: n.short, reach: 200,
				pattern: pattern + `[ \t]["'` + "`" + `*]*(` + unquoted + `)`,
				refine:  refineStrongPassword, vague: true, open: true,
			})
	}
	return rules
}

// What stands between a name and its value. Repetitions are not counted, since
// each count is a copy in the compiled expression; the window is the bound.
const (
	whose   = `(?:[ \t](?:for|to|of|on|at|in|für|im|vom|am|zum|para|de|del|do|da|pour|du|des|per|van|voor)(?:[ \t][\w\pL.@/:'-]+){1,6}?|[ \t]?\([^)\n]+\))?`
	closing = `["'` + "`" + `*_\])]*`
	given   = `(?:[ \t]*(?::=|=>|->|→|==?|:|：|>)["'` + "`" + `*_]*?[ \t]*(?:[>|]-?\s+)?` +
		`|['’]s[ \t]+|[ \t]+(?:is|was|are|to|ist|war|lautet|es|est|é|è|är|er|jest|should be|now)[ \t:]+(?:still |now |just |set to |changed to |reset to |currently |jetzt |noch )?)["'` + "`" + `*]*?`
	unquoted = `[^\s"'<>` + "`" + `]{5}` // and what follows, in rules that are open
)

// passwordNames are what a password is called. Short ones are parts of other words.
var passwordNames = []struct {
	names []string
	short bool
}{
	{[]string{"password", "passwd", "passwort", "passphrase", "kennwort", "contraseña", "mot de passe", "wachtwoord", "lösenordet", "lösenord", "пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호",
		"wi-fi key", "wifi key", "wlan key", "wpa key", "network key", "recovery key", "wlan-schlüssel"}, false},
	{[]string{"pass", "passw", "pwd", "pw", "clave", "senha", "hasło"}, true},
}

// trivialPasswords protect nothing, and fill examples and local set-ups.
var trivialPasswords = set(`pass passwd password pwd pw secret token user username guest root admin test foo bar none null nil true false
	undefined string postgres mysql redis mongo minioadmin mypassword mypass oauth2 x-oauth-basic x-access-token`)

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
	found := text[s.start:s.end]
	if isTrivial(found) || isCode(found) {
		return span{}
	}
	return s
}

// refinePassword accepts, behind a word for password, what looks like one.
func refinePassword(text string, s span) span {
	name := before(text, s.start, 100)
	if strings.HasSuffix(name, "--- PASS: ") { // of go test
		return span{}
	}
	if strings.HasSuffix(name, " to ") && !changing().MatchString(name) {
		return span{}
	}
	if q := text[s.start]; (q == '"' || q == '\'' || q == '`') && s.end-s.start > 2 {
		s.start, s.end = s.start+1, s.end-1
	} else {
		s = trimPassword(text, s)
	}
	if !isPassword(text[s.start:s.end], false) {
		return span{}
	}
	return s
}

// changing is what makes of "the password to …" a password.
var changing = lazily(`(?i)\b(?:set|re-?set|chang|updat|rotat|switch)`)

// refineStrongPassword accepts what looks like a password wherever it stands.
func refineStrongPassword(text string, s span) span {
	quote := text[s.start-1]
	quoted := strings.IndexByte("\"'`", quote) >= 0 && s.end < len(text) && text[s.end] == quote
	s = trimPassword(text, s)
	found := text[s.start:s.end]
	c := count(found)
	quoted = quoted && c.lower > 0 && c.upper > 0 && c.digits > 0
	if !isPassword(found, !quoted) {
		return span{}
	}
	return s
}

// refineSecret accepts, behind a name such as token, what looks random.
func refineSecret(text string, s span) span {
	s = trimPassword(text, s)
	found := text[s.start:s.end]
	if len(found) < 10 || !isRandom(found) || isCode(found) || isPlaceholder(found) || !secretName().MatchString(before(text, s.start, 100)) {
		return span{}
	}
	return refineGeneric(text, s)
}

// secretName tells keys that are secret from those of caches and tables.
var secretName = lazily(`(?i)(?:api|access|signing|encryption|master|licen[cs]e|private|shared|service|auth|app|account|secret|client)[ _-]?key|secret|token|credential`)

// parameter returns where in s a parameter begins, as in a query or a connection
// string: "&name=", "; User Id="; or else the length of s.
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

// trimPassword takes off what belongs to the text around an unquoted password.
func trimPassword(text string, s span) span {
	s.end = s.start + parameter(text[s.start:s.end])
	s = trimEnd(text, s)
	for s.end > s.start {
		found := text[s.start:s.end]
		switch last := found[len(found)-1]; {
		case last == ')' && !strings.Contains(found, "("),
			last == ']' && !strings.Contains(found, "["),
			last == '}' && !strings.Contains(found, "{"),
			last == '|', last == '\\',
			last == '*' && strings.HasSuffix(found, "**"):
			s.end--
		default:
			return s
		}
		s = trimEnd(text, s)
	}
	return s
}

// technical are words with digits that are said of passwords: what hashes them,
// what keeps them, how long they are or live.
var technical = lazily(`(?i)^(?:` + strings.Join([]string{
	`(?:ha)?sha-?\d+|md5|hmac.*|argon2(?:id?|d)?|b?s?crypt.*|pbkdf2.*|base64.*|utf-?\d+|ntlm.*|aes-?\d+.*|rsa-?\d+.*|x509`,
	`oauth2?.*|1password.*|auth0|k8s|i18n|o365|m365|log4j|win\d+|ipv\d`,
	`\d+(?:st|nd|rd|th|px|ms|s|m|h|d|min|am|pm|kb|mb|x|chars?|characters|days?|weeks?|months?|years?|bits?|bytes?|hours?)`,
	`q[1-4]|[a-z]+-\d{1,6}|\d+-\w+|v\d.*|[\d.,:/+-]+`,
}, "|") + `)$`)

// code matches expressions of programming languages, paths and addresses.
var code = lazily(strings.Join([]string{
	`^(?:[~.]{0,2}/|[A-Za-z]:\\|[A-Za-z][\w+-]*://)`, // paths, URLs
	`^[\w-]+(?:/[\w.-]+)+$`,
	`^[\w.+-]+@[\w-]+\.[\w.]+$`,
	`^--?\w|^[\w-]+=|^#\w*$|^!\w+$`, // flags, settings, tags
	`\w\(|\[\]|\[["'\w]|=>|[=!]=|^&|^\*\w`,
	`^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|^\w+(?:->|::)\w`, // a.b.c
	`\(\?|\.\*|\\[dwsbS]`,                           // regular expressions
}, "|"))

// isCode reports whether s is an expression, a path or an address.
func isCode(s string) bool { return code().MatchString(s) }

// isPassword reports whether s, which is said to be a password, looks like one:
// letters with digits or symbols, or several words. If strict, it needs to look
// like nothing else.
func isPassword(s string, strict bool) bool {
	length := utf8.RuneCountInString(s)
	if length < 6 || length > 128 {
		return false
	}
	c := count(s)
	letters := c.lower + c.upper + c.other
	strong := strings.ContainsAny(s, "!@#$%^&*+=?~|")
	if letters == 0 || c.digits == 0 && c.symbols == 0 && !strings.Contains(s, " ") {
		return false
	}
	if isTrivial(s) || technical().MatchString(s) || isKnownID(s) || isCode(s) {
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
	return isPassphrase(s, "-") || isPassphrase(s, "_") || isPassphrase(s, ".")
}

// isPassphrase reports whether s is at least four words, each of letters, that do
// not make a sentence.
func isPassphrase(s, separator string) bool {
	words := strings.Split(s, separator)
	for _, w := range words {
		if c := count(w); len(w) < 3 || c.lower+c.upper != len(w) || len(w) > 12 {
			return false
		}
	}
	return len(words) >= 4 && len(words) <= 8 && !isSentence(strings.ReplaceAll(s, separator, " "))
}

// isSentence reports whether s has words that only sentences need.
func isSentence(s string) bool {
	return slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(w string) bool { return functionWords()[w] })
}

var functionWords = set(`the and for not but you your this that from with must should will can cannot never please see use ask when
	are has have was were into only same stored password via`)

// set returns a function for the set of words, made when it is first needed.
func set(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for w := range strings.FieldsSeq(words) {
			m[w] = true
		}
		return m
	})
}
