package sensitive

import (
	"encoding/base64"
	"strconv"
	"strings"
)

// maxKeyBlock is the longest private key that is looked for, in bytes.
const maxKeyBlock = 32 << 10

// keyGap matches the text between the lines of a private key, which may be quoted, or
// part of JSON or code.
const keyGap = `(?:\s|\\n|\\r|[>|"'` + "`" + `+,])*`

// structuredRules returns the rules for secrets that are recognized by their structure, or
// by what they are a part of: private keys, tokens of several parts, addresses, commands.
func structuredRules() []*rule {
	return []*rule{
		{ // up to END, or to the last line of a key
			kind: "private-key", keywords: []string{"-----begin"}, anchored: true, reach: maxKeyBlock,
			pattern: `-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----` +
				`(?:(?:[^-]|-{1,4}[^-])*-----END[ A-Z0-9_-]{0,100}-----|` + keyGap + `(?:[A-Za-z0-9+/=]{16,}` + keyGap + `)+)`,
			group: wholeMatch, refine: refineKeyBlock,
		},
		{
			kind: "private-key", keywords: []string{"putty-user-key-file"}, reach: maxKeyBlock,
			pattern: `PuTTY-User-Key-File-\d:[\s\S]{1,}?Private-MAC: [0-9a-f]{32,}`,
			group:   wholeMatch,
		},
		{
			kind: "aws-secret-access-key", keywords: []string{"aws", "secret"},
			pattern: `(?i)(?:aws|secret[ _-]?access[ _-]?key)[^\r\n]{0,60}?[^A-Za-z0-9/+]([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)`,
			entropy: 4.1, refine: refineMixed,
		},
		{
			kind: "azure-storage-key", keywords: []string{"accountkey=", "sharedaccesskey="}, token: true,
			pattern: `(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)`,
		},
		{ // with the signature of the service in it, as Azure makes keys now
			kind: "azure-storage-key", keywords: []string{"+ast", "acdb"}, token: true,
			pattern: `[A-Za-z0-9+/]{76}(?:\+ASt|ACDb)[A-Za-z0-9+/]{5,6}(?:==|)`,
		},
		{
			kind: "azure-api-key", keywords: []string{"jqqj9"}, token: true, generic: true, // 84 characters
			pattern: `[A-Za-z0-9]{52}JQQJ9[A-Za-z0-9]{27}`,
		},
		{
			kind: "azure-devops-pat", keywords: []string{"azdo"}, token: true,
			pattern: `[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}`,
		},
		{
			kind: "azure-search-key", keywords: []string{"azse"}, token: true,
			pattern: `[A-Za-z0-9]{42}AzSe[A-D][A-Za-z0-9]{5}`,
		},
		{
			kind: "azure-function-key", keywords: []string{"azfu"}, token: true,
			pattern: `[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==`,
		},
		{
			kind: "azure-redis-key", keywords: []string{"azca"}, token: true,
			pattern: `[A-Za-z0-9]{33}AzCa[A-P][A-Za-z0-9]{5}=`,
		},
		{
			kind: "azure-container-registry-key", keywords: []string{"+acr"}, token: true,
			pattern: `[A-Za-z0-9+/]{42}\+ACR[A-D][A-Za-z0-9]{5}`,
		},
		{
			kind: "azure-sas-signature", keywords: []string{"sig="}, token: true,
			pattern: `[?&;]sig=([A-Za-z0-9+/]{43}=|[A-Za-z0-9%+/]{43,70}%3[Dd])`,
		},
		{
			kind: "azure-ad-client-secret", keywords: afterDigit("q~"), token: true,
			pattern: `[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}`, entropy: 3,
		},
		{
			kind: "jwt", keywords: []string{"eyj", "eya", "ewo"}, anchored: true, token: true, group: wholeMatch, reach: maxToken,
			pattern: `(?:eyJ|eyA|ewo)[A-Za-z0-9_-]{14,}={0,2}\.` +
				`(?:(?:eyJ|eyA|ewo)[A-Za-z0-9+/_-]{14,}={0,2}\.(?:[A-Za-z0-9+/_-]{10,}={0,2})?|(?:[A-Za-z0-9_-]*\.){3}[A-Za-z0-9_-]{10,})`,
			entropy: 3,
		},
		{ // in base64 once more, as in secrets of Kubernetes
			kind: "jwt-base64", keywords: []string{"zxlk"}, anchored: true, token: true, group: wholeMatch, reach: maxToken,
			pattern: `ZXlK[A-Za-z0-9+/_-]{60,}={0,2}`, entropy: 3, refine: refineEncodedJWT,
		},
		{ // of versions before 1.10
			kind: "vault-service-token", keywords: []string{"s."}, anchored: true, token: true, group: wholeMatch,
			pattern: `s\.[A-Za-z0-9]{24}`, refine: refineRandom, entropy: 3,
		},
		{
			kind: "pushbullet-access-token", keywords: []string{"o."}, anchored: true, token: true, group: wholeMatch,
			pattern: `o\.[A-Za-z0-9]{32}`, refine: refineRandom, entropy: 3,
		},
		{
			kind: "hashicorp-tf-api-token", keywords: []string{".atlasv1."}, token: true, reach: 120,
			pattern: `[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9=_-]{60,70}`, entropy: 3.5,
		},
		{
			kind: "maxmind-license-key", keywords: []string{"_mmk"}, token: true,
			pattern: `[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk`,
		},
		{
			kind: "mailchimp-api-key", keywords: beforeDigit("-us"), token: true,
			pattern: `[0-9a-f]{32}-us\d{1,2}`, entropy: 2.5,
		},
		{ // the ID of the bot, a time, and a code
			kind: "discord-bot-token", keywords: []string{".g", ".x", ".y", ".z"}, reach: 80, token: true,
			pattern: `[MNO][A-Za-z\d]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,38}`,
		},
		{
			kind: "discord-webhook", keywords: []string{"/webhooks/"}, token: true,
			pattern: `https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{17,20}/([A-Za-z0-9_-]{60,80})`,
		},
		{
			kind: "slack-webhook-url", keywords: []string{"hooks.slack.com"}, token: true,
			pattern: `(?:https?://)?hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,80}`,
		},
		{
			kind: "microsoft-teams-webhook", keywords: []string{".webhook.office.com"}, token: true, reach: 300,
			pattern: `https://[A-Za-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@-]{36,80}/IncomingWebhook/[A-Za-z0-9]{32}/[A-Za-z0-9-]{36}(?:/[\w-]+)?`,
		},
		{
			kind: "mailgun-private-api-token", token: true,
			pattern: `[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}`, entropy: 2.5,
		},
		{ // in the wallet import format
			kind: "bitcoin-private-key", token: true,
			pattern: `[5KLc9][1-9A-HJ-NP-Za-km-z]{50,51}`, refine: refineBitcoinKey,
		},
		{
			kind: "recovery-phrase", keywords: []string{"seed", "mnemonic", "phrase", "wallet", "bip39", "bip-39", "bip 39", "trezor"}, reach: 400, plausible: hasPhrase,
			pattern: `[A-Za-z]{3,8}(?:[\s,;|"'` + "`" + `*_-]+(?:\d{1,2}[.):]?[ ]*)?[A-Za-z]{3,8}){11,}`, refine: refinePhrase,
		},
		{ // of passwords, in /etc/shadow, htpasswd and databases
			kind: "password-hash", keywords: []string{"$2a$", "$2b$", "$2y$"}, anchored: true, token: true, group: wholeMatch,
			pattern: `\$2[aby]\$\d\d\$[./A-Za-z0-9+]{53}`,
		},
		{
			kind: "password-hash", keywords: []string{"$1$", "$apr1$", "$5$", "$6$"}, anchored: true, token: true,
			pattern: `(\$(?:1|apr1|5|6)\$(?:rounds=\d+\$)?[./A-Za-z0-9+]{1,16}\$(?:[./A-Za-z0-9+]{86}|[./A-Za-z0-9+]{43}|[./A-Za-z0-9+]{22}))`,
		},
		{
			kind: "password-hash", keywords: []string{"$y$", "$gy$", "$7$"}, anchored: true, token: true,
			pattern: `(\$(?:y|gy|7)\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9+]{43})`,
		},
		{
			kind: "password-hash", keywords: []string{"$argon2", "$scrypt$", "$pbkdf2"}, anchored: true, token: true,
			pattern: `(\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[a-z0-9-]*)\$(?:v=\d+\$)?[A-Za-z0-9=,]+\$[./A-Za-z0-9+]{8,}\$[./A-Za-z0-9+]{20,}={0,2})`,
		},
		{
			kind: "password-hash", keywords: []string{"pbkdf2_sha"}, anchored: true, token: true,
			pattern: `(pbkdf2_sha\d+\$\d+\$[A-Za-z0-9]{8,}\$[A-Za-z0-9+/]{20,}={0,2})`,
		},
		{
			kind: "telegram-bot-api-token", keywords: afterDigit(":a"), token: true,
			pattern: `\d{8,10}:AA[A-Za-z0-9_-]{33}|\d{5,16}:A[A-Za-z0-9_-]{34}`,
		},
		{
			kind: "facebook-access-token", keywords: []string{"facebook", "meta", "graph", "fb"}, token: true, reach: 250,
			pattern: `\d{15,16}[|%](?:7C)?[0-9A-Za-z_-]{27,40}`, entropy: 3,
		},
		{
			kind: "sentry-dsn", keywords: []string{"ingest", "sentry"}, reach: 150,
			pattern: `https?://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[A-Za-z0-9.-]+(?::\d+)?/\d+`, entropy: 2.5,
		},
		{ // Client('AC…', '…') of Twilio's libraries, and user and password of its API
			kind: "twilio-auth-token", keywords: []string{"ac"}, anchored: true, reach: 80,
			pattern: `AC[0-9a-f]{32}["'` + "`" + `]?(?:\s*[,;:|/]\s*|\s+)["'` + "`" + `]?([0-9a-f]{32})`, token: true,
		},
		{
			kind: "sidekiq-sensitive-url", keywords: []string{"contribsys.com"}, reach: 60,
			pattern: `https?://([0-9A-Fa-f]{8}:[0-9A-Fa-f]{8})@(?:gems|enterprise)\.contribsys\.com`,
		},
		{
			kind: "sidekiq-secret", keywords: []string{"contribsys__com"}, anchored: true, reach: 60, token: true,
			pattern: `(?i:contribsys__com)` + assigned + `([0-9A-Fa-f]{8}:[0-9A-Fa-f]{8})`,
		},
		{
			kind: "nuget-config-password", keywords: []string{"password"}, reach: 200,
			pattern: `(?i)<add[ \t]+key="(?:ClearText)?Password"\s*value="([^"\n]{8,})"`, entropy: 1, refine: refineConnectionPassword,
		},
		{
			kind: "hashicorp-tf-password", keywords: []string{"administrator_login_password"}, anchored: true, reach: 120,
			pattern: `(?i:administrator_login_password)\s*=\s*"([^"\s]{8,128})"`, entropy: 2, refine: refineConnectionPassword,
		},
		{
			kind: "freemius-secret-key", keywords: []string{"secret_key"}, anchored: true, reach: 60,
			pattern: `(?i:secret_key)["']\s*=>\s*["'](sk_\S{29})["']`,
		},
		{
			kind: "kubernetes-secret-yaml", keywords: []string{"secret"}, reach: 1000,
			pattern: `\n[ \t]+[\w.-]+:[ \t]*["']?([A-Za-z0-9+/]{8,}={0,2})["']?[ \t]*(?:\r?\n|$)`,
			refine:  refineKubernetesSecret, plausible: isManifest, generic: true,
		},
		{
			kind: "curl-auth-user", keywords: []string{" -u", "\t-u", "--user", "--proxy-user"}, reach: 600,
			pattern: `\b(?:curl|http|https|wget)\b[^\n]*(?:\n[^\n]*){0,5}?[ \t](?:-u|--user|--proxy-user)[= \t]*("[^"\n]{3,}"|'[^'\n]{3,}'|[^\s"'` + "`" + `]{3,})`,
			refine:  afterColon, plausible: isCurl,
		},
		// The credentials after the name of the scheme, in a header or in prose.
		{
			kind: "authorization-header", keywords: []string{"basic", "bearer"},
			pattern: `(?i)\b((?:basic|bearer)[ \t]{1,3}[A-Za-z0-9+/=._~-]{8,})`,
			refine:  refineAuthorization, generic: true,
		},
		{
			kind: "authorization-header", keywords: []string{"authorization"},
			pattern: `(?i)\bauthorization["'` + "`" + `]?\s{0,2}[:=,]\s{0,2}["'` + "`" + `]?(?:token|apikey|api-key|key)[ \t=]{1,3}["']?([A-Za-z0-9+/=._~-]{16,})`,
			refine:  refineRandom, generic: true,
		},
		{
			kind: "curl-auth-header", keywords: []string{" -h", "\t-h", "--header"}, reach: 300, generic: true,
			pattern: `(?i)[ \t](?:-H|--header)[= \t]*["']?(?:authorization|(?:x-)?[a-z-]*(?:key|token|secret))[ \t]*:[ \t]*(?:(?:basic|bearer|token|api-token|apikey|key)[ \t]+)?([A-Za-z0-9=~@.+/_-]{8,})`,
			refine:  refineHeader,
		},
		{ // a name such as api_key, and what is assigned to it
			kind: "generic-api-key", generic: true, anchored: true, reach: 300, refine: refineGeneric, entropy: 3.5, token: true,
			keywords:  []string{"access", "auth", "api", "credential", "creds", "key", "passwd", "password", "secret", "token"},
			pattern:   `(?i:access|auth|api|credential|creds|key|passwo?r?d|secret|token)` + name + `([\w.=-][\w.=+/-]{9,149})`,
			plausible: isAssigned, random: true,
		},
	}
}

// afterDigit returns keywords for s after each digit.
func afterDigit(s string) (words []string) {
	for d := range 10 {
		words = append(words, strconv.Itoa(d)+s)
	}
	return words
}

// beforeDigit returns keywords for s before each digit.
func beforeDigit(s string) (words []string) {
	for d := range 10 {
		words = append(words, s+strconv.Itoa(d))
	}
	return words
}

// name matches what stands between a word in a name and the value that is assigned to it.
const name = `[ \t\w.-]{0,20}["'\s\\]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)["'` + "`" + `\s=\\]{0,5}`

// refineEncodedJWT accepts base64 in which a JSON Web Token is.
func refineEncodedJWT(text string, s span) span {
	decoded, _ := base64.RawStdEncoding.DecodeString(text[s.start : s.start+(s.end-s.start)/4*4])
	if !strings.Contains(string(decoded), ".") {
		return span{}
	}
	return s
}

// isManifest reports whether window may have a secret of Kubernetes in it.
func isManifest(window string) bool {
	return strings.Contains(window, "kind:") && strings.Contains(window, "ata:")
}

// secretKind matches the kind of a manifest.
var secretKind = lazily(`(?i)\bkind:[ \t]*["']?secret\b`)

// refineKubernetesSecret accepts what stands under data in a manifest of kind Secret.
func refineKubernetesSecret(text string, s span) span {
	const around = 1000
	from := max(0, s.start-around)
	const next = "\n---" // begins the next manifest of a file
	if i := strings.LastIndex(text[from:s.start], next); i >= 0 {
		from += i + len(next)
	}
	to := min(len(text), s.end+around)
	if i := strings.Index(text[s.end:to], next); i >= 0 {
		to = s.end + i
	}
	data := max(strings.LastIndex(text[from:s.start], "\ndata:"), strings.LastIndex(text[from:s.start], "\nstringData:")) + 1
	if data == 0 || !secretKind().MatchString(text[from:to]) {
		return span{}
	}
	for line := range strings.Lines(text[from+data : s.start]) {
		if !isSpace(line[0]) && !strings.HasPrefix(line, "data:") && !strings.HasPrefix(line, "stringData:") {
			return span{} // the next field of the manifest
		}
	}
	return s
}

// isCurl reports whether window has a command that takes user:password.
func isCurl(window string) bool {
	return strings.Contains(window, "curl") || strings.Contains(window, "http") || strings.Contains(window, "wget")
}

// refineHeader accepts the value of a header that is sent by a command.
func refineHeader(text string, s span) span {
	if strings.HasPrefix(text[s.start:s.end], "AWS4-") { // a scheme, rather than a token
		return span{}
	}
	if s = trimEnd(text, s); entropy(text[s.start:s.end]) < 2.75 || isCode(text[s.start:s.end]) {
		return span{}
	}
	return s
}

// refineKeyBlock accepts a private key that is not empty, without the gap after it.
func refineKeyBlock(text string, s span) span {
	body := strings.TrimRight(text[s.start:s.end], " \t\r\n\"'`>|,")
	for strings.HasSuffix(body, `\n`) || strings.HasSuffix(body, `\r`) {
		body = body[:len(body)-2]
	}
	s.end = s.start + len(body)
	if len(body) < 100 || entropy(body) < 3.5 {
		return span{}
	}
	return s
}

// refineAuthorization removes the scheme, and checks that credentials follow: there are
// none in "Basic authentication".
func refineAuthorization(text string, s span) span {
	scheme, credentials, _ := strings.Cut(text[s.start:s.end], " ")
	credentials = strings.Trim(credentials, " \t")
	s.start = s.end - len(credentials)
	if strings.EqualFold(scheme, "basic") {
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(credentials, "="))
		if i := strings.IndexByte(string(decoded), ':'); err != nil || i < 0 || i == len(decoded)-1 { // or no password
			return span{}
		}
		return s
	}
	return refineRandom(text, trimEnd(text, s))
}

// refineRandom accepts values that look random.
func refineRandom(text string, s span) span {
	if isKnownID(text[s.start:s.end]) || !isRandom(text[s.start:s.end]) || isIdentifier(text[s.start:s.end]) {
		return span{}
	}
	return s
}

// refineMixed accepts values with digits and letters of both cases, except paths and names.
func refineMixed(text string, s span) span {
	if c := countChars(text[s.start:s.end]); c.upper < 2 || c.lower < 2 || c.digits == 0 || isIdentifier(text[s.start:s.end]) {
		return span{}
	}
	return s
}

// genericName matches names whose value is a secret even if it looks like a hash, an ID
// or a UUID.
var genericName = lazily(`(?i)(?:api|app|application|secret|access|auth|client|sign(?:ing)?|crypt(?:ion)?|private|master|hmac|session|cookie|admin|root|service|webhook|aes|jwt|account|license|licence|deploy|shared|bot|device|storage|feed)[ _.-]?(?:key|token|secret)|secret|passw|credential`)

// otherToken are names of tokens that are no secrets.
var otherToken = words(joinedWords("next page paging continuation sync cursor resume csrf xsrf delimiter special clientrequest client_request client-request idempotency", "token")...)

// tokenName matches a name that is only "token".
var tokenName = lazily(`(?i)\btoken["'` + "`" + `\\]{0,2}[ \t]{0,3}[:=]`)

// refineNamedHash accepts values that look like a hash only after the name of a secret.
func refineNamedHash(text string, s span) span {
	if !isHash(text[s.start:s.end]) {
		return s
	}
	if name := before(text, s.start, 40); !genericName().MatchString(name) && (!tokenName().MatchString(name) || otherToken().in(name)) {
		return span{}
	}
	return s
}

// algorithmNames are in names of constants, such as CertAlgoECDSA256v01, and hardly in keys.
var algorithmNames = words("sha256", "sha384", "sha512", "ecdsa", "ed25519")

// publicWords are in names whose value is public.
var publicWords = words("public", "keyid", "key_id", "key-id", "cache", "badge", ".svg", " h1:", "fingerprint", "thumbprint", "did:key:", "pubkey", "pub_key", "pub-key", "pubx", "puby", "websocket-key",
	"sha1", "sha2", "sha3", "sha5", "sha-1", "sha-2", "sha-3", "sha-5", "md5", "hash", "digest", "checksum", "integrity", "etag")

// isPublicName reports whether name, the text before a value, says that the value is public.
func isPublicName(name string) bool {
	if publicWords().in(name) {
		return true
	}
	i := strings.LastIndex(name, "arn:") // the value is a part of a name of Amazon's
	return i >= 0 && (i == 0 || !isAlphanumeric(name[i-1])) && !strings.ContainsAny(name[i:], " \t\"'=,")
}

// refineGeneric accepts what is assigned to names such as "key", except values
// that are known to be public.
func refineGeneric(text string, s span) span {
	found := text[s.start:s.end]
	name, value, ok := strings.Cut(found, "=") // json=sessionTicketKeys
	switch {
	case isKnownID(found) || !isRandom(found) || isIdentifier(found) || ok && isIdentifier(value) && isWords(name) || isMember(found):
		return span{}
	case algorithmNames().in(found), isPublicKey(found), isArgument(text, s), isPublicName(before(text, s.start, 70)), otherToken().in(before(text, s.start, 40)):
		return span{}
	}
	return refineNamedHash(text, s)
}

// isPublicKey reports whether s is base64 of a public key or a certificate in DER, which
// both begin with a sequence in a sequence (RFC 5280), or base64 of words.
func isPublicKey(s string) bool {
	s = strings.TrimRight(s, "=")
	decoded, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil || len(decoded) < 16 {
		return false
	}
	const sequence = 0x30
	inner := 2 // of the header of the outer sequence
	if decoded[1] > 0x80 {
		inner += int(decoded[1] & 3)
	}
	return decoded[0] == sequence && decoded[inner] == sequence || isPrintable(string(decoded)) && isWords(strings.Join(strings.Fields(string(decoded)), "-"))
}

// isArgument reports whether s is a variable among the arguments of a call.
func isArgument(text string, s span) bool {
	prefix := strings.TrimRight(before(text, s.start, 10), " ")
	return strings.HasSuffix(prefix, ",") && s.end < len(text) && strings.IndexByte("),", text[s.end]) >= 0 && countChars(text[s.start:s.end]).digits < 3
}

// before returns up to n bytes before i, on the same line.
func before(text string, i, n int) string {
	part := text[max(0, i-n):i]
	return part[strings.LastIndexByte(part, '\n')+1:]
}

// afterColon returns the password of user:password, without quotation marks.
func afterColon(text string, s span) span {
	i := strings.IndexByte(text[s.start:s.end], ':')
	if i < 0 {
		return span{}
	}
	s.start += i + 1
	for s.start < s.end && strings.IndexByte(`"'`, text[s.start]) >= 0 {
		s.start++
	}
	for s.start < s.end && strings.IndexByte(`"'`, text[s.end-1]) >= 0 {
		s.end--
	}
	if isTrivial(text[s.start:s.end]) {
		return span{}
	}
	return s
}
