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
		{
			kind: "passcode", keywords: []string{"pin", "code", "combination"},
			pattern: `(?i)\b(?:pin(?:[ -]?code| number)?|pass ?code|(?:door|gate|alarm|access|unlock|entry|safe|lock|garage)[ -]?code|combination)` +
				`(?:[ \t](?:for|to|of)(?:[ \t][\w.'-]{1,30}){1,4}?)?["*` + "`" + `]{0,3}` +
				`(?:[ \t]{0,3}[:=][*]{0,2}[ \t]{0,3}|[ \t](?:is|was)[ \t])["'` + "`" + `*]{0,3}(\d{4,12}[#*]?)(?:[^\w-]|$)`,
			generic: true,
		},
		{ // login: name / password
			kind: "password", keywords: []string{"login", "credentials", "creds", "zugangsdaten", "identifiants"}, anchored: true, reach: 200,
			pattern: `(?i)(?:logins?|credentials|creds|zugangsdaten|identifiants)` + afterName + closing +
				`[ \t]?(?::|=|[ \t]is|[ \t]are)["'` + "`" + `*]*[ \t]+["` + "`" + `]?[\w.@+-]{2,}["` + "`" + `]?[ \t]?[/:|,][ \t]?["` + "`" + `]?(` + unquoted + `)`,
			refine: refinePassword, generic: true, openEnded: true,
		},
		{ // commands with a password as an argument
			kind: "password", keywords: []string{"sshpass", "| sudo -s"}, reach: 150,
			pattern: `\bsshpass[ \t]+-p[ \t]*["']?([^\s"']{4,})|\becho[ \t]+(?:-n[ \t]+)?["']?([^\s"']{4,})["']?[ \t]*\|[ \t]*sudo[ \t]+-S\b`,
			refine:  refineConnectionPassword, generic: true,
		},
		{ // names such as token, with values that gitleaks does not match
			kind: "generic-secret", keywords: []string{"key", "token", "secret", "credential"}, anchored: true, reach: 200,
			pattern: `(?i)(?:key|token|secret|credential)s?` + afterName + closing + assignment + `["'` + "`" + `*]*([^\s"'<>` + "`" + `]{10})`,
			refine:  refineSecret, entropy: 2.9, generic: true, openEnded: true, plausible: isRandom,
		},
	}
	for _, n := range passwordNames {
		pattern := `(?i)(?:` + strings.Join(n.names, "|") + `)s?(?:_?[0-9])?`
		rules = append(rules,
			&rule{ // the password for … is …; password: …
				kind: "password", keywords: n.names, anchored: true, atWordStart: n.short, reach: 200,
				pattern: pattern + afterName + closing + assignment + `("[^"\n]{4,}"|'[^'\n]{4,}'|` + "`[^`\n]{4,}`" + `|` + unquoted + `)`,
				refine:  refinePassword, generic: true, openEnded: true,
			},
			&rule{ // the … password … works
				kind: "password", keywords: n.names, anchored: true, atWordStart: n.short, reach: 200,
				pattern: pattern + `[ \t]["'` + "`" + `*]*(` + unquoted + `)`,
				refine:  refineStrongPassword, generic: true, openEnded: true,
			})
	}
	return rules
}

// Patterns for the text between a name and its value. Repetitions have no upper bound,
// since each count is a copy in the compiled expression; the window bounds them.
const (
	afterName  = `(?:[ \t](?:for|to|of|on|at|in|für|im|vom|am|zum|para|de|del|do|da|pour|du|des|per|van|voor)(?:[ \t][\w\pL.@/:'-]+){1,6}?|[ \t]?\([^)\n]+\))?`
	closing    = `["'` + "`" + `*_\])]*`
	assignment = `(?:[ \t]*(?::=|=>|->|→|==?|:|：|>)["'` + "`" + `*_]*?[ \t]*(?:[>|]-?\s+)?` +
		`|['’]s[ \t]+|[ \t]+(?:is|was|are|to|ist|war|lautet|es|est|é|è|är|er|jest|should be|now)[ \t:]+(?:still |now |just |set to |changed to |reset to |currently |jetzt |noch )?)["'` + "`" + `*]*?`
	unquoted = `[^\s"'<>` + "`" + `]{5}` // the start of the value, in rules that are openEnded
)

// passwordNames are words for a password. Short ones are also parts of other words.
var passwordNames = []struct {
	names []string
	short bool
}{
	{[]string{"password", "passwd", "passwort", "passphrase", "kennwort", "contraseña", "mot de passe", "wachtwoord", "lösenordet", "lösenord", "пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호",
		"wi-fi key", "wifi key", "wlan key", "wpa key", "network key", "recovery key", "wlan-schlüssel"}, false},
	{[]string{"pass", "passw", "pwd", "pw", "clave", "senha", "hasło"}, true},
}

// trivialPasswords are common in examples and local set-ups, and protect nothing.
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

// refinePassword accepts, after a word for it, a text that looks like a password.
func refinePassword(text string, s span) span {
	name := before(text, s.start, 100)
	if strings.HasSuffix(name, "--- PASS: ") { // output of go test
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

// changing matches verbs after which "the password to …" is followed by a password.
var changing = lazily(`(?i)\b(?:set|re-?set|chang|updat|rotat|switch)`)

// refineStrongPassword accepts texts that look like a password without a sign of
// assignment before them.
func refineStrongPassword(text string, s span) span {
	quote := text[s.start-1]
	quoted := strings.IndexByte("\"'`", quote) >= 0 && s.end < len(text) && text[s.end] == quote
	s = trimPassword(text, s)
	found := text[s.start:s.end]
	c := countChars(found)
	quoted = quoted && c.lower > 0 && c.upper > 0 && c.digits > 0
	if !isPassword(found, !quoted) {
		return span{}
	}
	return s
}

// refineSecret accepts, after a name such as "token", values that look random.
func refineSecret(text string, s span) span {
	s = trimPassword(text, s)
	found := text[s.start:s.end]
	if len(found) < 10 || !isRandom(found) || isCode(found) || isPlaceholder(found) || !secretName().MatchString(before(text, s.start, 100)) {
		return span{}
	}
	return refineGeneric(text, s)
}

// secretName matches names of secret keys, and not those of keys in caches and tables.
var secretName = lazily(`(?i)(?:api|access|signing|encryption|master|licen[cs]e|private|shared|service|auth|app|account|secret|client)[ _-]?key|secret|token|credential`)

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

// technical matches words with digits that often stand near passwords: names of hash
// functions and products, lengths, durations.
var technical = lazily(`(?i)^(?:` + strings.Join([]string{
	`(?:ha)?sha-?\d+|md5|hmac.*|argon2(?:id?|d)?|b?s?crypt.*|pbkdf2.*|base64.*|utf-?\d+|ntlm.*|aes-?\d+.*|rsa-?\d+.*|x509`,
	`oauth2?.*|1password.*|auth0|k8s|i18n|o365|m365|log4j|win\d+|ipv\d`,
	`\d+(?:st|nd|rd|th|px|ms|s|m|h|d|min|am|pm|kb|mb|x|chars?|characters|days?|weeks?|months?|years?|bits?|bytes?|hours?)`,
	`q[1-4]|[a-z]+-\d{1,6}|\d+-\w+|v\d.*|[\d.,:/+-]+`,
}, "|") + `)$`)

// codePattern matches expressions of programming languages, paths and addresses.
var codePattern = lazily(strings.Join([]string{
	`^(?:[~.]{0,2}/|[A-Za-z]:\\|[A-Za-z][\w+-]*://)`, // paths, URLs
	`^[\w-]+(?:/[\w.-]+)+$`,
	`^[\w.+-]+@[\w-]+\.[\w.]+$`,
	`^--?\w|^[\w-]+=|^#\w*$|^!\w+$`, // flags, settings, tags
	`\w\(|\[\]|\[["'\w]|=>|[=!]=|^&|^\*\w`,
	`^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|^\w+(?:->|::)\w`, // a.b.c
	`\(\?|\.\*|\\[dwsbS]`,                           // regular expressions
}, "|"))

// isCode reports whether s is an expression, a path or an address.
func isCode(s string) bool { return codePattern().MatchString(s) }

// isPassword reports whether s looks like a password: letters with digits or symbols,
// or several words. With strict, texts that could also be something else are rejected.
func isPassword(s string, strict bool) bool {
	length := utf8.RuneCountInString(s)
	if length < 6 || length > 128 {
		return false
	}
	c := countChars(s)
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
