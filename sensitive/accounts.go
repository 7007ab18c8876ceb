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
			kind: "totp-seed", keywords: []string{"totp", "otp", "2fa", "mfa", "authenticator", "two-factor"}, anchored: true, reach: 160, token: true, plausible: isSeedNamed,
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
			anchored: true, reach: 700, plausible: hasFourDigits,
			pattern: `(?i:recovery|backup|rescue|scratch|wiederherstellung|récupération|secours|recuperación|recuperação|recupero)s?[ -]?(?i:codes?|schlüssel|códigos?|codici)?[^\n:：]{0,40}[:：]?[\s*` + "`" + `"'-]*` +
				`(` + recoveryCode + `(?:[\s,;|` + "`" + `*•-]+(?:\d{1,2}[.)][ ])?` + recoveryCode + `)+)`,
			refine: refineRecoveryCodes,
		},
	}
}

// recoveryCode matches a code as services show them: two groups of letters and digits, or
// eight digits and more.
const recoveryCode = `(?:[A-Za-z0-9]{4,6}-[A-Za-z0-9]{4,6}|\d{4}[ -]\d{4}|\d{8,10}|[a-z0-9]{8,10}|[A-Z0-9]{8,10})`

// hasFourDigits reports whether window may have recovery codes.
func hasFourDigits(window string) bool {
	digits := 0
	for i := 0; i < len(window) && digits < 4; i++ {
		if isDigit(window[i]) {
			digits++
		}
	}
	return digits == 4
}

// refineCookie accepts values that look random.
func refineCookie(text string, s span) span {
	if found := text[s.start:s.end]; !isRandom(found) || isPlaceholder(found) {
		return span{}
	}
	return s
}

// isSeedNamed reports whether window may begin with a name that is followed by a sign or a verb.
func isSeedNamed(window string) bool {
	const longest = 64 // of the name
	name := window[:min(len(window), longest)]
	return strings.ContainsAny(name, ":=：") || strings.Contains(name, "is") || strings.Contains(name, "es")
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

// refineRecoveryCodes accepts codes of which most have digits.
func refineRecoveryCodes(text string, s span) span {
	c := countChars(text[s.start:s.end])
	continues := s.end < len(text) && text[s.end] == '-' // a UUID
	if continues || strings.HasPrefix(text[s.start:s.end], "0x") || c.digits*8 < c.digits+c.lower+c.upper || c.digits < 4 {
		return span{}
	}
	return s
}
