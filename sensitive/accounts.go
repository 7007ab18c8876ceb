package sensitive

import "strings"

// accountRules returns the rules for what gives access to an account besides passwords, and
// has a name rather than a format: keys in files, cookies, seeds and recovery codes.
func accountRules() []*rule {
	return []*rule{
		{
			kind: "password", keywords: []string{"define("}, anchored: true, reach: 200, generic: true,
			pattern: `(?i)define\([ \t]*["']\w*(?:passw\w*|pwd|secret|_key|_salt|token)\w*["'][ \t]*,[ \t]*["']([^"'\n]{4,})["']`, refine: refineArgument,
		},
		{
			kind: "kubernetes-client-key", keywords: []string{"client-key-data"}, anchored: true, token: true, reach: 8 << 10,
			pattern: `client-key-data["']?:[ \t]*["']?([A-Za-z0-9+/]{40,}={0,2})`,
		},
		{ // a session that a browser or a tool has kept
			kind: "session-cookie", keywords: []string{"cookie"}, anchored: true, token: true, reach: 300, random: true,
			pattern: `(?i:cookie)["']?[ \t]*[:=][ \t]*["']?(?:[\w.-]+=[^;\s"']*;[ \t]*)*(?i:[\w.-]*(?:sess|sid|auth|token|jwt|login|remember)[\w.-]*)=([A-Za-z0-9%._~+/=:-]{16,})`,
			refine:  refineCookie,
		},
		{ // a session that is known by the name of its cookie
			kind: "session-cookie", keywords: []string{"phpsessid", "jsessionid", "connect.sid", "asp.net_sessionid", "laravel_session"}, anchored: true, token: true, reach: 100, random: true,
			pattern: `(?i:phpsessid|jsessionid|connect\.sid|asp\.net_sessionid|laravel_session)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9%._~+/:-]{16,})`,
			refine:  refineCookie,
		},
		{
			kind: "generic-secret", keywords: []string{"master.key"}, anchored: true, token: true, reach: 80, generic: true,
			pattern: `master\.key["'` + "`" + `*]*(?:[ \t]*[:=]|[ \t]+(?:is|has|holds|contains))[\s"'` + "`" + `*]*([0-9a-f]{32})`,
		},
		{ // the default of a variable in Terraform
			kind: "generic-secret", keywords: []string{`variable "`}, anchored: true, reach: 400, generic: true,
			pattern: `variable "[\w-]*(?:passw\w*|pwd|secret\w*|token|api_?key|private_key)"\s*\{[^{}]*?\bdefault\s*=\s*("[^"\n]{4,}")`, refine: refineArgument,
		},
		{ // the seed of an authenticator, as it is shown to people
			kind: "totp-seed", keywords: []string{"totp", "otp", "2fa", "mfa", "authenticator", "two-factor"}, anchored: true, reach: 160, token: true, plausible: mayHaveSeed,
			pattern: `(?i:totp|otp|2fa|mfa|authenticator|two-factor)[\w \t'’(),-]{0,40}?["'` + "`" + `*_]{0,3}(?:[:=：]|[ \t](?:is|ist|es|est)[ \t])[\s"'` + "`" + `*_(]{0,4}` +
				`((?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}|(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4}|[A-Z2-7]{16,64}|[a-z2-7]{32,64})`,
			refine: refineSeed,
		},
		{
			kind: "totp-seed", keywords: []string{"otpauth://"}, anchored: true, reach: 400, token: true,
			pattern: `(?i:otpauth)://[^\s"'<>` + "`" + `]*?[?&]secret=([A-Za-z2-7]{16,128})`,
		},
		{ // codes to get into an account without the second factor
			kind: "recovery-codes", keywords: []string{"recovery", "backup", "rescue", "scratch", "wiederherstellung", "récupération", "secours", "recuperación", "recuperação", "recupero"},
			anchored: true, reach: 250, plausible: mayHaveCodes,
			pattern: `(?i:recovery|backup|rescue|scratch|wiederherstellung|récupération|secours|recuperación|recuperação|recupero)s?[ -]?(?i:codes?|schlüssel|códigos?|codici)?[^\n:：]{0,40}[:：]?[\s*` + "`" + `"'-]*` +
				`(` + recoveryCode + `(?:` + nextCode + `)+)`,
			refine: refineRecoveryCodes,
		},
	}
}

// recoveryCode matches a code as services show them: two groups of letters and digits, or
// eight digits and more.
const recoveryCode = `(?:[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}|\d{4}[ -]\d{4}|\d{8,10}|[a-z0-9]{8,10}|[A-Z0-9]{8,10})`

// nextCode matches another code, and what is between.
const nextCode = `[\s,;|` + "`" + `*•-]+(?:\d{1,2}[.)][ ])?` + recoveryCode

// mayHaveCodes reports whether window, which begins with a name, may have two recovery codes
// soon after it.
func mayHaveCodes(window string) bool {
	const far = 160 // from the name to the end of the second code
	window = window[:min(len(window), far)]
	codes, from := 0, 0
	for i := range len(window) + 1 {
		if i < len(window) && (isAlphanumeric(window[i]) || window[i] == '-') {
			continue
		}
		if isCodeGroup(window[from:i], i == len(window)) {
			codes++
		}
		from = i + 1
	}
	return codes >= 2
}

// isCodeGroup reports whether s has a digit and may be a recovery code, four digits of one, or,
// if it is cut off, the start of one.
func isCodeGroup(s string, cut bool) bool {
	const least, mostGroup, most = 4, 6, 10
	if len(s) < least || !strings.ContainsAny(s, "0123456789") {
		return false
	}
	first, second, parts := strings.Cut(s, "-")
	if parts {
		return len(first) >= least && len(first) <= mostGroup && (cut || len(second) >= least) && len(second) <= mostGroup
	}
	c := countChars(s)
	return len(s) <= most && (c.lower == 0 || c.upper == 0) && (cut || len(s) >= 2*least || c.digits == least)
}

// refineCookie accepts values that look random.
func refineCookie(text string, s span) span {
	if found := text[s.start:s.end]; !isRandom(found) || isPlaceholder(found) {
		return span{}
	}
	return s
}

// mayHaveSeed reports whether window may begin with a name that is followed by a sign or a verb,
// and then by a seed: enough characters of base32, alone or in groups of four.
func mayHaveSeed(window string) bool {
	const longest, least = 64, 16 // of the name; of the seed
	name := window[:min(len(window), longest)]
	if !strings.ContainsAny(name, ":=：") && !strings.Contains(name, "is") && !strings.Contains(name, "es") {
		return false
	}
	seed, group := 0, 0
	for i := range len(window) {
		switch c := window[i]; {
		case isLetter(c) || '2' <= c && c <= '7':
			group++
			if seed++; seed == least {
				return true
			}
		case (c == ' ' || c == '-') && group == 4:
			group = 0
		default:
			seed, group = 0, 0
		}
	}
	return false
}

// refineSeed accepts seeds that are not words.
func refineSeed(text string, s span) span {
	found := text[s.start:s.end]
	letters := strings.NewReplacer(" ", "", "-", "").Replace(found)
	if countChars(found).digits == 0 && !isUnlikeWords(letters) || entropy(found) < 2.8 {
		return span{}
	}
	return s
}

// moreCodes matches the rest of a list of codes, with the end of one that a window has cut off.
var moreCodes = lazily(`\A[A-Za-z0-9-]{0,6}(?:` + nextCode + `)+`)

// refineRecoveryCodes accepts codes of which most have digits, and adds those after them, which are
// beyond the window: it is short, since many names are followed by something else.
func refineRecoveryCodes(text string, s span) span {
	const most = 700
	if s = acceptCodes(text, s); s.start == s.end {
		return s
	}
	if rest := text[s.end:max(s.end, min(len(text), s.start+most))]; rest != "" {
		s.end += len(moreCodes().FindString(rest))
	}
	return s
}

func acceptCodes(text string, s span) span {
	c := countChars(text[s.start:s.end])
	continues := s.end < len(text) && text[s.end] == '-' // a UUID
	if continues || strings.HasPrefix(text[s.start:s.end], "0x") || c.digits*8 < c.digits+c.lower+c.upper || c.digits < 4 {
		return span{}
	}
	return s
}
