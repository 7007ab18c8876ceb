package sensitive

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A service is an issuer whose tokens have no prefix: only the name of the service before
// a value distinguishes it.
type service struct {
	kind  string
	names []string // lower case
	value string   // a regular expression
}

// services are the tokens that are recognized by a name before them and by their alphabet
// and length.
var services = []service{
	{"adafruit-api-key", []string{"adafruit"}, `[A-Za-z0-9_-]{32}`},
	{"adobe-client-id", []string{"adobe"}, hexAny + `{32}`},
	{"airtable-api-key", []string{"airtable"}, alnum + `{17}`},
	{"algolia-api-key", []string{"algolia"}, alnum + `{32}`},
	{"alibaba-secret-key", []string{"alibaba", "aliyun"}, alnum + `{30}`},
	{"asana-client-id", []string{"asana"}, `[0-9]{16}`},
	{"asana-client-secret", []string{"asana"}, alnum + `{32}`},
	{"asana-client-secret", []string{"asana"}, `[0-9]/[0-9/]{10,40}:` + hexAny + `{32}`},
	{"assemblyai-api-key", []string{"assemblyai", "assembly ai"}, hexAny + `{32}`},
	{"atlassian-api-token", []string{"atlassian", "confluence", "jira"}, `[A-Za-z0-9]{20}[A-Fa-f0-9]{4}`},
	{"azure-devops-pat", []string{"azure devops", "azure_devops", "azuredevops", "azdo", "ado_", "ado ", "vsts", "devops"}, `[a-z2-7]{52}`},
	{"beamer-api-token", []string{"beamer"}, `b_[A-Za-z0-9=_-]{44}`},
	{"bitbucket-client-id", []string{"bitbucket"}, alnum + `{32}`},
	{"bitbucket-client-secret", []string{"bitbucket"}, `[A-Za-z0-9=_-]{64}`},
	{"bittrex-access-key", []string{"bittrex"}, alnum + `{32}`},
	{"cisco-meraki-api-key", []string{"meraki"}, `[0-9a-f]{40}`},
	{"cloudflare-api-key", []string{"cloudflare"}, `[A-Za-z0-9_-]{40}`},
	{"cloudflare-global-api-key", []string{"cloudflare"}, hexAny + `{37}`},
	{"codecov-access-token", []string{"codecov"}, alnum + `{32}`},
	{"codecov-access-token", []string{"codecov"}, uuid},
	{"cohere-api-token", []string{"cohere", "co_api_key"}, alnum + `{40}`},
	{"coinbase-access-token", []string{"coinbase"}, `[A-Za-z0-9_-]{64}`},
	{"confluent-access-token", []string{"confluent"}, alnum + `{16}`},
	{"confluent-secret-key", []string{"confluent"}, alnum + `{64}`},
	{"contentful-delivery-api-token", []string{"contentful"}, `[A-Za-z0-9=_-]{43}`},
	{"datadog-access-token", []string{"datadog", "dd_api", "dd_app", "dd-api", "dd-app"}, alnum + `{40}`},
	{"datadog-access-token", []string{"datadog", "dd_api", "dd_app", "dd-api", "dd-app"}, `[0-9a-f]{32}`},
	{"deepgram-api-key", []string{"deepgram"}, hexAny + `{40}`},
	{"discord-api-token", []string{"discord"}, hexAny + `{64}`},
	{"discord-client-id", []string{"discord"}, `[0-9]{18}`},
	{"discord-client-secret", []string{"discord"}, `[A-Za-z0-9=_-]{32}`},
	{"droneci-access-token", []string{"droneci", "drone_"}, alnum + `{32}`},
	{"dropbox-api-token", []string{"dropbox"}, alnum + `{15}`},
	{"dropbox-long-lived-api-token", []string{"dropbox"}, `[A-Za-z0-9]{11}A{10}[A-Za-z0-9=_-]{43}`},
	{"dropbox-long-lived-api-token", []string{"dropbox"}, `[A-Za-z0-9_-]{64}`},
	{"etsy-access-token", []string{"etsy"}, alnum + `{24}`},
	{"facebook-secret", []string{"facebook", "fb_", "meta app"}, hexAny + `{32}`},
	{"fastly-api-token", []string{"fastly"}, `[A-Za-z0-9=_-]{32}`},
	{"finicity-api-token", []string{"finicity"}, hexAny + `{32}`},
	{"finicity-client-secret", []string{"finicity"}, alnum + `{20}`},
	{"finnhub-access-token", []string{"finnhub"}, alnum + `{20}`},
	{"flickr-access-token", []string{"flickr"}, alnum + `{32}`},
	{"freshbooks-access-token", []string{"freshbooks"}, alnum + `{64}`},
	{"gitter-access-token", []string{"gitter"}, `[A-Za-z0-9_-]{40}`},
	{"gocardless-api-token", []string{"gocardless"}, `(?:live|sandbox)_[A-Za-z0-9=_-]{40}`},
	{"heroku-api-key", []string{"heroku"}, uuid},
	{"hetzner-api-token", []string{"hetzner", "hcloud"}, alnum + `{64}`},
	{"hubspot-api-key", []string{"hubspot", "hapikey"}, uuid},
	{"intercom-api-key", []string{"intercom"}, `[A-Za-z0-9=_-]{60}`},
	{"jfrog-api-key", []string{"jfrog", "artifactory", "bintray", "xray"}, alnum + `{73}`},
	{"jfrog-identity-token", []string{"jfrog", "artifactory", "bintray", "xray"}, alnum + `{64}`},
	{"kraken-access-token", []string{"kraken"}, `[A-Za-z0-9/=_+-]{80,90}`},
	{"kucoin-access-token", []string{"kucoin"}, hexAny + `{24}`},
	{"kucoin-secret-key", []string{"kucoin"}, uuid},
	{"launchdarkly-access-token", []string{"launchdarkly"}, `[A-Za-z0-9=_-]{40}`},
	{"linear-client-secret", []string{"linear"}, hexAny + `{32}`},
	{"linkedin-client-id", []string{"linkedin", "linked_in", "linked-in"}, alnum + `{14}`},
	{"linkedin-client-secret", []string{"linkedin", "linked_in", "linked-in"}, alnum + `{16}`},
	{"linode-access-token", []string{"linode"}, `[0-9a-f]{64}`},
	{"lob-api-key", []string{"lob"}, `(?:live|test)_[0-9a-f]{35}`},
	{"lob-pub-api-key", []string{"lob"}, `(?:live|test)_pub_[0-9a-f]{31}`},
	{"looker-client-id", []string{"looker"}, alnum + `{20}`},
	{"looker-client-secret", []string{"looker"}, alnum + `{24}`},
	{"mailgun-signing-key", []string{"mailgun"}, `[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}`},
	{"mattermost-access-token", []string{"mattermost"}, `[a-z0-9]{26}`},
	{"messagebird-api-token", []string{"messagebird", "message-bird", "message_bird"}, alnum + `{25}`},
	{"messagebird-client-id", []string{"messagebird", "message-bird", "message_bird"}, uuid},
	{"mistral-api-key", []string{"mistral"}, alnum + `{32}`},
	{"netlify-access-token", []string{"netlify"}, `[A-Za-z0-9=_-]{40,46}`},
	{"new-relic-user-api-id", []string{"new-relic", "newrelic", "new_relic", "new relic"}, alnum + `{64}`},
	{"new-relic-license-key", []string{"new-relic", "newrelic", "new_relic", "new relic"}, `[0-9a-f]{36}NRAL`},
	{"nytimes-access-token", []string{"nytimes", "new-york-times", "newyorktimes"}, `[A-Za-z0-9=_-]{32}`},
	{"okta-access-token", []string{"okta"}, `00[A-Za-z0-9_=-]{40}`},
	{"paypal-client-secret", []string{"paypal"}, `E[A-Za-z0-9_-]{79}`},
	{"plaid-client-id", []string{"plaid"}, alnum + `{24}`},
	{"plaid-secret-key", []string{"plaid"}, alnum + `{30}`},
	{"privateai-api-token", []string{"privateai", "private_ai", "private-ai"}, `[a-z0-9]{32}`},
	{"rapidapi-access-token", []string{"rapidapi"}, `[A-Za-z0-9_-]{50}`},
	{"sendbird-access-id", []string{"sendbird"}, uuid},
	{"sendbird-access-token", []string{"sendbird"}, hexAny + `{40}`},
	{"sentry-access-token", []string{"sentry"}, hexAny + `{64}`},
	{"snyk-api-token", []string{"snyk"}, uuid},
	{"sonar-api-token", []string{"sonar"}, `[A-Za-z0-9=_-]{40}`},
	{"sourcegraph-access-token", []string{"sourcegraph"}, hexAny + `{40}`},
	{"squarespace-access-token", []string{"squarespace"}, uuid},
	{"sumologic-access-id", []string{"sumo"}, `su[A-Za-z0-9]{12}`},
	{"sumologic-access-token", []string{"sumo"}, alnum + `{64}`},
	{"travisci-access-token", []string{"travis"}, alnum + `{22}`},
	{"twilio-auth-token", []string{"twilio"}, `[0-9a-f]{32}`},
	{"twitch-api-token", []string{"twitch"}, alnum + `{30}`},
	{"twitter-access-secret", []string{"twitter"}, alnum + `{45}`},
	{"twitter-access-token", []string{"twitter"}, `[0-9]{15,25}-[a-zA-Z0-9]{20,40}`},
	{"twitter-api-key", []string{"twitter"}, alnum + `{25}`},
	{"twitter-api-secret", []string{"twitter"}, alnum + `{50}`},
	{"twitter-bearer-token", []string{"twitter"}, `A{22}[A-Za-z0-9%]{80,100}`},
	{"vercel-token", []string{"vercel"}, alnum + `{24}`},
	{"wandb-api-key", []string{"wandb", "weights & biases"}, `[0-9a-f]{40}`},
	{"yandex-access-token", []string{"yandex"}, `t1\.[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}`},
	{"yandex-aws-access-token", []string{"yandex"}, `YC[A-Za-z0-9_-]{38}`},
	{"zendesk-secret-key", []string{"zendesk"}, alnum + `{40}`},
}

const hexAny = `[0-9A-Fa-f]`

// assigned matches what stands between the name of something and its value: the rest of
// the name, and a sign or a word for the assignment.
var assigned = `[\w \t.'’()/-]{0,40}?["'` + "`" + `*_\])\s]{0,5}` +
	`(?:(?::{1,3}=|\?=|=>|->|→|==?|:|：|\|{1,2}|>|,)[ \t]*(?:[>|]-?\s+)?|[ \t](?:` + strings.Join(assigningWords, "|") + `)s?[ \t:]+(?:now )?|\s*\n[ \t]*)` +
	`[=\s"'` + "`" + `*_\[({<]{0,6}`

// serviceRules returns a rule for each service.
func serviceRules() []*rule {
	var rules []*rule
	for _, s := range services {
		rules = append(rules, &rule{
			kind: s.kind, keywords: s.names, anchored: true, token: true, reach: 250,
			pattern: `(?i:` + alternatives(s.names) + `)` + assigned + `(` + s.value + `)`,
			entropy: 2, refine: refineServiceToken, plausible: isNamed,
		})
	}
	return rules
}

// isNamed reports whether window may begin with a name that is assigned a value: a sign, a verb or
// a line end is soon after it. It is a cheap check for what assigned matches.
func isNamed(window string) bool {
	const longest, most = 64, 5 // the name and what belongs to it; quotation marks and emphasis
	end := min(len(window), longest)
	closed := false
	for i := 0; i < end; i++ {
		c := window[i]
		if !closed && closingBytes.has(c) {
			closed, end = true, min(len(window), i+most+1)
		}
		switch {
		case c == ' ' || c == '\t':
			if assignedVerb(window[i+1:]) {
				return true
			}
		case closingBytes.has(c) || namedBytes.has(c) && (!closed || c == '\'' || c == '_' || c == ')'):
		default:
			return strings.IndexByte(":=?>|,\n-", c) >= 0 || c >= utf8.RuneSelf
		}
	}
	return false
}

// closingBytes are the bytes that are only at the end of what is between a name and a sign.
var closingBytes = func() (c class) {
	for _, sign := range "\"`*]\r\f" {
		c.add(rangeClass(sign, sign))
	}
	return c
}()

// namedBytes are the bytes between a name and what assigns a value to it, without blanks and those
// that are only at its end. Those of typographic apostrophes are not among them, so that they count
// as a sign.
var namedBytes = func() class {
	c := nameBytes
	for _, sign := range "'()/&" {
		c.add(rangeClass(sign, sign))
	}
	return c
}()

// assignedVerb reports whether s begins with a word that assigned matches.
func assignedVerb(s string) bool {
	if s == "" || !verbStarts.has(s[0]) {
		return false
	}
	for _, w := range assigningWords {
		if rest, ok := strings.CutPrefix(s, w); ok {
			rest = strings.TrimPrefix(rest, "s")
			if rest != "" && strings.IndexByte(" \t:", rest[0]) >= 0 {
				return true
			}
		}
	}
	return false
}

// assigningWords stand between the name of something and its value.
var assigningWords = strings.Fields("is are was to ist lautet es est é è key token secret pat id")

var verbStarts = startsOf(assigningWords)

// alternatives returns the regular expression for one of words.
func alternatives(words []string) string {
	all := ""
	for i, w := range words {
		if i > 0 {
			all += "|"
		}
		all += regexp.QuoteMeta(w)
	}
	return all
}

// secretAssigned matches the end of a name of a secret, and the sign of its assignment.
var secretAssigned = lazily(`(?i)(?:key|token|secret|pat|passw\w*|credential|auth|id)s?["'` + "`" + `*_\])\s]{0,5}(?:[:=>|,?]{1,4}|→|[ \t]is)[=\s"'` + "`" + `*_\[({<]{0,6}$`)

// refineServiceToken accepts values that look random. After the name of a secret, a hash, a
// UUID or letters of both cases are accepted, too.
func refineServiceToken(text string, s span) span {
	found, name := text[s.start:s.end], before(text, s.start, 60)
	c := countChars(found)
	switch {
	case isPublicName(name) || c.lower+c.upper == 0:
		return span{}
	case isHash(found) && !secretWord().MatchString(name):
		return span{}
	case !isRandom(found) && !((c.digits > 0 || c.lower > 0 && c.upper > 0) && entropy(found) > 3 && secretAssigned().MatchString(name)):
		return span{}
	}
	return s
}

// secretWord matches words in names of secrets.
var secretWord = lazily(`(?i)key|token|secret|\bpat\b|passw|credential|auth|api|license|\bpw`)
