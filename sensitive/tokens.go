package sensitive

import (
	"encoding/base64"
	"regexp"
	"strings"

	"memento/apikey"
)

// maxKeyBlock is the longest private key that is looked for, in bytes.
const maxKeyBlock = 32 << 10

// keyGap matches the text between the lines of a private key, which may be quoted, or
// part of JSON or code.
const keyGap = `(?:\s|\\n|\\r|[>|"'` + "`" + `+,])*`

// tokenRules returns the rules for tokens that gitleaks does not find, or finds only
// next to the name of the service.
func tokenRules() []*rule {
	rules := []*rule{
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
			kind: "azure-storage-key", keywords: []string{"accountkey=", "sharedaccesskey="},
			pattern: `(?i)(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==)`,
		},
		{
			kind: "azure-sas-signature", keywords: []string{"sig="},
			pattern: `[?&]sig=([A-Za-z0-9+/]{43}=|[A-Za-z0-9%+/]{43,70}%3[Dd])`,
		},
		{
			kind: "discord-bot-token", keywords: []string{"discord", "bot", "token"}, reach: 250,
			pattern: `\b([MNO][A-Za-z\d]{23,25}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,38})(?:[^A-Za-z\d_-]|$)`,
		},
		{
			kind: "discord-webhook", keywords: []string{"/webhooks/"},
			pattern: `https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{17,20}/([A-Za-z0-9_-]{60,80})`,
		},
		{
			kind: "telegram-bot-api-token", keywords: []string{":aa"},
			pattern: `(?:^|[^0-9])(\d{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)`,
		},
		{
			kind: "google-oauth-refresh-token", keywords: []string{"1//0"},
			pattern: `\b(1//0[A-Za-z0-9_-]{40,120})`,
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
	}
	for _, p := range prefixes {
		rules = append(rules, &rule{
			kind: p.kind, keywords: []string{strings.ToLower(p.prefix)}, anchored: true,
			pattern: `(` + regexp.QuoteMeta(p.prefix) + p.rest + `)(?:[^A-Za-z0-9_-]|$)`,
			refine:  refineWord, entropy: 3,
		})
	}
	return rules
}

// prefixes lists tokens that are recognized by their prefix.
var prefixes = []struct{ kind, prefix, rest string }{
	{"memento-key", apikey.SecretPrefix, `[A-Za-z0-9_-]{43}`},
	{"anthropic-api-key", "sk-ant-", `(?:api|admin|sid|oat|ort)\d{2}-[A-Za-z0-9_-]{24,200}`},
	{"openai-api-key", "sk-proj-", `[A-Za-z0-9_-]{40,200}`},
	{"openai-api-key", "sk-svcacct-", `[A-Za-z0-9_-]{40,200}`},
	{"openai-api-key", "sk-admin-", `[A-Za-z0-9_-]{40,200}`},
	{"openai-api-key", "sk-", `[A-Za-z0-9]{48}`},
	{"deepseek-api-key", "sk-", `[0-9a-f]{32}`},
	{"openrouter-api-key", "sk-or-v1-", `[0-9a-f]{64}`},
	{"groq-api-key", "gsk_", `[A-Za-z0-9]{52}`},
	{"xai-api-key", "xai-", `[A-Za-z0-9]{80}`},
	{"replicate-api-token", "r8_", `[A-Za-z0-9]{37}`},
	{"pinecone-api-key", "pcsk_", `[A-Za-z0-9_]{40,90}`},
	{"langsmith-api-key", "lsv2_", `(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}`},
	{"google-oauth-access-token", "ya29.", `[A-Za-z0-9_-]{40,400}`},
	{"google-oauth-client-secret", "GOCSPX-", `[A-Za-z0-9_-]{28}`},
	{"gcp-api-key", "AIza", `[A-Za-z0-9_-]{35}`},
	{"digitalocean-spaces-key", "DO00", `[A-Z0-9]{16}`},
	{"cloudflare-api-token", "cfut_", `[A-Za-z0-9]{32,60}`},
	{"docker-pat", "dckr_pat_", `[A-Za-z0-9_-]{27}`},
	{"docker-org-token", "dckr_oat_", `[A-Za-z0-9_-]{24,40}`},
	{"supabase-access-token", "sbp_", `[0-9a-f]{40}`},
	{"supabase-secret-key", "sb_secret_", `[A-Za-z0-9_-]{22,40}`},
	{"figma-pat", "figd_", `[A-Za-z0-9_-]{40,}`},
	{"stripe-webhook-secret", "whsec_", `[A-Za-z0-9+/]{32,64}={0,2}`},
	{"tailscale-key", "tskey-", `(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{16,50}`},
	{"atlassian-api-token", "ATATT3", `[A-Za-z0-9_=-]{100,250}`},
	{"bitbucket-app-password", "ATBB", `[A-Za-z0-9]{24,40}`},
	{"circleci-pat", "CCIPAT_", `[A-Za-z0-9]{20,30}_[0-9a-f]{40}`},
	{"buildkite-api-token", "bkua_", `[0-9a-f]{40}`},
	{"netlify-access-token", "nfp_", `[A-Za-z0-9]{36,44}`},
	{"slack-cookie", "xoxd-", `[A-Za-z0-9%/+_=-]{40,400}`},
	{"slack-client-token", "xoxc-", `\d+-\d+-\d+-[0-9a-f]{64}`},
	{"posthog-personal-api-key", "phx_", `[A-Za-z0-9]{40,60}`},
	{"resend-api-key", "re_", `[A-Za-z0-9]{8}_[A-Za-z0-9]{24}`},
	{"new-relic-user-api-key", "NRAK-", `[A-Z0-9]{27}`},
	{"neon-api-key", "napi_", `[a-z0-9]{64}`},
	{"linear-api-key", "lin_", `(?:api|oauth)_[A-Za-z0-9]{32,64}`},
	{"stripe-access-token", "sk_", `(?:live|test)_[A-Za-z0-9]{20,128}`},
	{"stripe-access-token", "rk_", `(?:live|test)_[A-Za-z0-9]{20,128}`},
}

// refineWord rejects the end of a longer name.
func refineWord(text string, s span) span {
	if s.start > 0 && text[s.start-1] != '.' && isNameByte(text[s.start-1]) {
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
		if err != nil || !strings.Contains(string(decoded), ":") {
			return span{}
		}
		return s
	}
	return refineRandom(text, trimEnd(text, s))
}

// refineRandom accepts values that look random.
func refineRandom(text string, s span) span {
	if isKnownID(text[s.start:s.end]) || !isRandom(text[s.start:s.end]) {
		return span{}
	}
	return s
}

// refineMixed accepts values with digits and letters of both cases.
func refineMixed(text string, s span) span {
	if c := countChars(text[s.start:s.end]); c.upper < 2 || c.lower < 2 || c.digits == 0 {
		return span{}
	}
	return s
}

// genericName matches names whose value is a secret even if it looks like a hash, an ID
// or a UUID.
var genericName = lazily(`(?i)(?:api|secret|access|auth|client|signing|encryption|private)[ _.-]?(?:key|token|secret)|secret|passw|credential`)

// refineNamedHash accepts values that look like a hash only after the name of a secret.
func refineNamedHash(text string, s span) span {
	if isHash(text[s.start:s.end]) && !genericName().MatchString(before(text, s.start, 40)) {
		return span{}
	}
	return s
}

// publicName matches names whose value is public.
var publicName = lazily(`(?i)public|fingerprint|sha-?\d|md5|hash|digest|checksum|integrity|etag`)

// refineGeneric accepts what gitleaks finds after names such as "key", except values
// that are known to be public.
func refineGeneric(text string, s span) span {
	found := text[s.start:s.end]
	switch {
	case isKnownID(found) || !isRandom(found):
		return span{}
	case publicName().MatchString(before(text, s.start, 50)):
		return span{}
	}
	return refineNamedHash(text, s)
}

// before returns up to n bytes before i, on the same line.
func before(text string, i, n int) string {
	part := text[max(0, i-n):i]
	return part[strings.LastIndexByte(part, '\n')+1:]
}

// afterColon returns the password of user:password, without quotation marks.
func afterColon(text string, s span) span {
	i := strings.IndexByte(text[s.start:s.end], ':')
	s.start += i + 1
	for s.start < s.end && strings.IndexByte(`"'`, text[s.start]) >= 0 {
		s.start++
	}
	for s.start < s.end && strings.IndexByte(`"'`, text[s.end-1]) >= 0 {
		s.end--
	}
	if isPlaceholder(text[s.start:s.end]) {
		return span{}
	}
	return s
}
