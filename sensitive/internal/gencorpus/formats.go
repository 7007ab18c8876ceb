package gencorpus

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"

	"memento/backend/apikey"
)

// A format is a kind of secret that is recognized wherever it stands, since its issuer
// documents what it looks like.
type format struct {
	kind    string
	pattern string             // as for fill; "" if make is set
	make    func(maker) string // of formats with a checksum or a structure
}

// formats lists the secrets with a documented format. Kinds name the issuer and what it
// issues; one issuer may have several formats.
var formats = []format{
	{"memento key", apikey.SecretPrefix + "{w:42}A", nil},

	// Models
	{"Anthropic API key", "sk-ant-api03-{w:93}AA", nil},
	{"Anthropic admin key", "sk-ant-admin01-{w:93}AA", nil},
	{"Anthropic OAuth token", "sk-ant-oat01-{w:93}AA", nil},
	{"OpenAI project key", "sk-proj-{w:74}T3BlbkFJ{w:74}", nil},
	{"OpenAI service account key", "sk-svcacct-{w:74}T3BlbkFJ{w:74}", nil},
	{"OpenAI admin key", "sk-admin-{w:74}T3BlbkFJ{w:74}", nil},
	{"OpenAI legacy key", "sk-{b62:20}T3BlbkFJ{b62:20}", nil},
	{"OpenRouter key", "sk-or-v1-{hex:64}", nil},
	{"DeepSeek key", "sk-{hex:32}", nil},
	{"Groq key", "gsk_{b62:20}WGdyb3FY{b62:24}", nil},
	{"xAI key", "xai-{b62:80}", nil},
	{"Hugging Face token", "hf_{a:34}", nil},
	{"Hugging Face token, mixed case", "hf_{b62:34}", nil},
	{"Replicate token", "r8_{b62:37}", nil},
	{"Perplexity key", "pplx-{b62:48}", nil},
	{"NVIDIA key", "nvapi-{w:64}", nil},
	{"Tavily key", "tvly-{b62:32}", nil},
	{"Tavily development key", "tvly-dev-{b62:32}", nil},
	{"Fireworks key", "fw_{b62:24}", nil},
	{"Cerebras key", "csk-{l:48}", nil},
	{"Pinecone key", "pcsk_{b62:6}_{b62:64}", nil},
	{"LangSmith key", "lsv2_pt_{hex:32}_{hex:10}", nil},
	{"Langfuse key", "sk-lf-{uuid}", nil},
	{"ElevenLabs key", "sk_{hex:48}", nil},
	{"Jina key", "jina_{hex:32}{b62:28}", nil},
	{"Firecrawl key", "fc-{hex:32}", nil},
	{"E2B key", "e2b_{hex:40}", nil},
	{"Apify token", "apify_api_{b62:36}", nil},
	{"RunPod key", "rpa_{U:40}{l:6}", nil},

	// Clouds
	{"AWS access key ID", "AKIA{b32:16}", nil},
	{"AWS temporary key ID", "ASIA{b32:16}", nil},
	{"Google API key", "AIzaSy{w:33}", nil},
	{"Google OAuth client secret", "GOCSPX-{w:28}", nil},
	{"Google OAuth access token", "ya29.a0{w:150}", nil},
	{"Google OAuth refresh token", "1//0{w:98}", nil},
	{"Azure client secret", "{b62:3}8Q~{w:31}{b62:3}", nil},
	{"Azure DevOps PAT", "{b62:52}JQQJ99{b62:14}AAAAAZDO{b62:4}", nil},
	{"Alibaba access key ID", "LTAI5t{b62:18}", nil},
	{"DigitalOcean PAT", "dop_v1_{hex:64}", nil},
	{"DigitalOcean OAuth token", "doo_v1_{hex:64}", nil},
	{"Cloudflare origin CA key", "v1.0-{hex:24}-{hex:146}", nil},
	{"Fly.io token", "fm2_{b64:180}", nil},
	{"Fly.io personal token", "fo1_{w:43}", nil},
	{"Heroku key", "HRKU-AA{w:58}", nil},
	{"Netlify token", "nfp_{b62:36}", nil},
	{"Supabase token", "sbp_{hex:40}", nil},
	{"Supabase secret key", "sb_secret_{w:22}_{w:8}", nil},
	{"Neon key", "napi_{l:64}", nil},
	{"PlanetScale token", "pscale_tkn_{w:43}", nil},
	{"PlanetScale password", "pscale_pw_{w:43}", nil},
	{"Scalingo token", "tk-us-{w:48}", nil},
	{"Yandex API key", "AQVN{w:36}", nil},
	{"Databricks token", "dapi{hex:32}", nil},
	{"Databricks token, numbered", "dapi{hex:32}-2", nil},

	// Forges and packages
	{"GitHub PAT", "", func(m maker) string { return m.withCRC32("ghp_", 30) }},
	{"GitHub OAuth token", "", func(m maker) string { return m.withCRC32("gho_", 30) }},
	{"GitHub app user token", "", func(m maker) string { return m.withCRC32("ghu_", 30) }},
	{"GitHub app token", "", func(m maker) string { return m.withCRC32("ghs_", 30) }},
	{"GitHub refresh token", "", func(m maker) string { return m.withCRC32("ghr_", 70) }},
	{"GitHub fine-grained PAT", "github_pat_{b62:22}_{b62:59}", nil},
	{"GitLab PAT", "glpat-{w:20}", nil},
	{"GitLab PAT, routable", "glpat-{w:27}.01.{l:9}", nil},
	{"GitLab pipeline trigger", "glptt-{hex:40}", nil},
	{"GitLab runner token", "glrt-{w:20}", nil},
	{"GitLab deploy token", "gldt-{w:20}", nil},
	{"GitLab feed token", "glft-{w:20}", nil},
	{"GitLab incoming mail token", "glimt-{w:25}", nil},
	{"GitLab agent token", "glagent-{w:50}", nil},
	{"GitLab OAuth secret", "gloas-{hex:64}", nil},
	{"Bitbucket app password", "ATBB{b62:24}{HEX:8}", nil},
	{"Atlassian API token", "ATATT3xFfGF0{w:171}={HEX:8}", nil},
	{"Docker swarm unlock key", "SWMKEY-1-{b64:43}", nil},
	{"Docker swarm join token", "SWMTKN-1-{l:50}-{l:25}", nil},
	{"npm token", "", func(m maker) string { return m.withCRC32("npm_", 30) }},
	{"PyPI token", "pypi-AgEIcHlwaS5vcmc{w:130-160}", nil},
	{"RubyGems key", "rubygems_{hex:48}", nil},
	{"crates.io token", "cio{b62:32}", nil},
	{"NuGet key", "oy2{l:43}", nil},
	{"Docker PAT", "dckr_pat_{w:27}", nil},
	{"Artifactory key", "AKCp{b62:69}", nil},
	{"CircleCI token", "CCIPAT_{b62:22}_{hex:40}", nil},
	{"Buildkite token", "bkua_{hex:40}", nil},
	{"SonarQube token", "squ_{hex:40}", nil},
	{"SonarQube project token", "sqp_{hex:40}", nil},

	// Infrastructure
	{"Vault service token", "hvs.{w:90-120}", nil},
	{"Vault service token, short", "hvs.{b62:24}", nil},
	{"Vault batch token", "hvb.{w:138-200}", nil},
	{"Terraform Cloud token", "{b62:14}.atlasv1.{b62:67}", nil},
	{"Pulumi token", "pul-{hex:40}", nil},
	{"Doppler token", "dp.pt.{b62:43}", nil},
	{"Tailscale key", "tskey-auth-k{b62:16}-{b62:32}", nil},
	{"Grafana service account token", "glsa_{b62:32}_{hex:8}", nil},
	{"Grafana Cloud token", "", func(m maker) string {
		claims := fmt.Sprintf(`{"o":"%s","n":"stack-%s","k":"%s","m":{"r":"eu"}}`, m.fill("{d:6}"), m.fill("{a:8}"), m.fill("{b62:24}"))
		return "glc_" + base64.StdEncoding.EncodeToString([]byte(claims))
	}},
	{"New Relic key", "NRAK-{U:27}", nil},
	{"Dynatrace token", "dt0c01.{U:24}.{U:64}", nil},
	{"Sentry user token", "sntryu_{hex:64}", nil},
	{"Sentry organization token", "", func(m maker) string {
		claims := fmt.Sprintf(`{"iat":17%s.%s,"url":"https://sentry.io","region_url":"https://de.sentry.io","org":"%s"}`, m.fill("{d:8}"), m.fill("{d:6}"), m.fill("{a:9}"))
		return "sntrys_" + base64.StdEncoding.EncodeToString([]byte(claims)) + "_" + m.fill("{b64:43}")
	}},
	{"OpenShift token", "sha256~{w:43}", nil},
	{"1Password secret key", "A3-{U:6}-{U:6}-{U:5}-{U:5}-{U:5}-{U:5}", nil},
	{"1Password service account token", "ops_eyJ{w:250-300}", nil},
	{"age secret key", "AGE-SECRET-KEY-1{bech32:58}", nil},
	{"Harness token", "pat.{w:22}.{hex:24}.{b62:20}", nil},
	{"Infracost key", "ico-{b62:32}", nil},
	{"Prefect key", "pnu_{l:36}", nil},
	{"LaunchDarkly key", "api-{uuid}", nil},

	// Messages
	{"Slack bot token", "xoxb-{d:12}-{d:13}-{b62:24}", nil},
	{"Slack user token", "xoxp-{d:12}-{d:12}-{d:13}-{hex:32}", nil},
	{"Slack app token", "xapp-1-A{U:10}-{d:13}-{hex:64}", nil},
	{"Slack webhook", "https://hooks.slack.com/services/T{U:10}/B{U:10}/{b62:24}", nil},
	{"Discord bot token", "", func(m maker) string {
		return base64.RawURLEncoding.EncodeToString([]byte("1"+m.fill("{d:18}"))) + m.fill(".G{w:5}.{w:38}")
	}},
	{"Telegram bot token", "7{d:9}:AAE{w:32}", nil},
	{"SendGrid key", "SG.{w:22}.{w:43}", nil},
	{"Mailgun key", "key-{hex:32}", nil},
	{"Mailgun key, new", "{hex:32}-{hex:8}-{hex:8}", nil},
	{"Mailchimp key", "{hex:32}-us21", nil},
	{"Brevo key", "xkeysib-{hex:64}-{b62:16}", nil},
	{"Twilio API key", "SK{hex:32}", nil},
	{"Resend key", "re_{b62:8}_{b62:24}", nil},

	// Payment and shops
	{"Stripe secret key", "sk_live_{b62:24}", nil},
	{"Stripe secret key, long", "sk_live_51{b62:97}", nil},
	{"Stripe restricted key", "rk_live_{b62:99}", nil},
	{"Stripe webhook secret", "whsec_{b62:32}", nil},
	{"Shopify access token", "shpat_{hex:32}", nil},
	{"Shopify shared secret", "shpss_{hex:32}", nil},
	{"Square access token", "EAAAE{w:59}", nil},
	{"Square OAuth secret", "sq0csp-{w:43}", nil},
	{"Braintree access token", "access_token$production${l:16}${hex:32}", nil},
	{"Plaid access token", "access-production-{uuid}", nil},
	{"Flutterwave secret key", "FLWSECK-{hex:32}-X", nil},
	{"Shippo token", "shippo_live_{hex:40}", nil},
	{"EasyPost key", "EZAK{b62:54}", nil},
	{"Duffel token", "duffel_live_{w:43}", nil},
	{"Facebook access token", "EAACEdEose0cBA{b62:120}", nil},

	// Tools
	{"Notion token", "ntn_{d:11}{b62:35}", nil},
	{"Notion token, old", "secret_{b62:43}", nil},
	{"Airtable PAT", "pat{b62:14}.{hex:64}", nil},
	{"Linear key", "lin_api_{b62:40}", nil},
	{"Figma PAT", "figd_{w:40}", nil},
	{"Mapbox secret token", "", func(m maker) string {
		claims := fmt.Sprintf(`{"u":"%s","a":"cm%s"}`, m.fill("{a:8}"), m.fill("{l:23}"))
		return "sk." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + "." + m.fill("{w:22}")
	}},
	{"Postman key", "PMAK-{hex:24}-{hex:34}", nil},
	{"PostHog personal key", "phx_{b62:43}", nil},
	{"HubSpot token", "pat-na1-{uuid}", nil},
	{"Contentful PAT", "CFPAT-{w:43}", nil},
	{"Typeform token", "tfp_{w:59}", nil},
	{"ReadMe key", "rdme_{l:70}", nil},
	{"Frame.io token", "fio-u-{w:64}", nil},
	{"Adafruit IO key", "aio_{b62:28}", nil},
	{"Segment token", "sgp_{b62:64}", nil},

	// Formats of no single issuer
	{"JSON Web Token", "", maker.jwt},
	{"private key", "", maker.privateKey},
	{"private key on one line", "", func(m maker) string {
		return strings.ReplaceAll(m.privateKey(), "\n", `\n`)
	}},
	{"Bitcoin private key", "", func(m maker) string {
		return base58Check(append(append([]byte{0x80}, m.bytes(32)...), 1))
	}},
	{"BIP-32 private key", "", func(m maker) string {
		key := append([]byte{0x04, 0x88, 0xad, 0xe4, byte(m.IntN(5))}, m.bytes(4+4+32)...)
		return base58Check(append(append(key, 0), m.bytes(32)...))
	}},
	{"SHA-512 crypt hash", "$6${b62:16}${b64:86}", nil},
	{"bcrypt hash", "$2b$12${b64:53}", nil},
	{"yescrypt hash", "$y$j9T${b62:22}${b64:43}", nil},
	{"Django key", "django-insecure-{l:50}", nil},
}

// withCRC32 returns prefix, n random characters, and the CRC-32 of these in base 62, as
// GitHub and npm make tokens.
func (m maker) withCRC32(prefix string, n int) string {
	random := m.chars(base62, n)
	sum := crc32.ChecksumIEEE([]byte(random))
	check := make([]byte, 6)
	for i := range check {
		check[len(check)-1-i] = base62[sum%62]
		sum /= 62
	}
	return prefix + random + string(check)
}

func (m maker) jwt() string {
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	claims := fmt.Sprintf(`{"sub":"%s","name":"%s","iat":17%s}`, m.fill("{d:10}"), m.fill("{a:7}"), m.fill("{d:8}"))
	return encode(`{"alg":"HS256","typ":"JWT"}`) + "." + encode(claims) + "." + m.fill("{w:43}")
}

// privateKey returns a PEM block in the form of a key of an elliptic curve (SEC 1), of
// random bytes.
func (m maker) privateKey() string {
	der := slices.Concat([]byte{0x30, 0x77, 2, 1, 1, 4, 0x20}, m.bytes(32),
		[]byte{0xa0, 0x0a, 6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, 0xa1, 0x44, 3, 0x42, 0, 4}, m.bytes(64))
	return strings.TrimSuffix(string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})), "\n")
}

// base58Check returns b with its checksum in base 58, as Bitcoin writes keys.
func base58Check(b []byte) string {
	first := sha256.Sum256(b)
	second := sha256.Sum256(first[:])
	n := new(big.Int).SetBytes(append(b, second[:4]...))
	alphabet, base, rest := alphabets["b58"], big.NewInt(58), new(big.Int)
	var out []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, rest)
		out = append(out, alphabet[rest.Int64()])
	}
	slices.Reverse(out)
	return string(out)
}
