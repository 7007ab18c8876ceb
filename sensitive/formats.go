package sensitive

import (
	"regexp"
	"strings"

	"memento/backend/apikey"
)

// A format is how an issuer writes its tokens: a prefix and what follows it, as a regular
// expression. Where a token begins and ends is decided by the engine, in the same way for
// all formats (token.go).
type format struct {
	kind, prefix, rest string
}

// Parts of formats.
const (
	hex16 = `[0-9a-f]{16}`
	hex32 = `[0-9a-f]{32}`
	hex40 = `[0-9a-f]{40}`
	hex64 = `[0-9a-f]{64}`
	uuid  = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
	url64 = `[A-Za-z0-9_-]` // a character of base64, as in URLs
	std64 = `[A-Za-z0-9+/]` // a character of base64
	alnum = `[A-Za-z0-9]`

	base58Class = `[1-9A-HJ-NP-Za-km-z]`
)

// formats are the tokens that are recognized by their prefix, as their issuers document
// them or generate them.
var formats = []format{
	{"memento-key", apikey.SecretPrefix, url64 + `{43}`},

	// Language models and what is used with them.
	{"anthropic-api-key", "sk-ant-", `(?:api|sid|oat|ort)\d{2}-` + url64 + `{24,200}`},
	{"anthropic-admin-api-key", "sk-ant-admin", `\d{2}-` + url64 + `{24,200}`},
	{"openai-api-key", "sk-proj-", url64 + `{40,200}`},
	{"openai-api-key", "sk-svcacct-", url64 + `{40,200}`},
	{"openai-api-key", "sk-admin-", url64 + `{40,200}`},
	{"openai-api-key", "sk-None-", url64 + `{40,200}`},
	{"openai-api-key", "sk-", alnum + `{48}`},
	{"deepseek-api-key", "sk-", hex32},
	{"openrouter-api-key", "sk-or-v1-", hex64},
	{"langfuse-secret-key", "sk-lf-", uuid},
	{"helicone-api-key", "sk-helicone-", `[a-z0-9-]{20,60}`},
	{"groq-api-key", "gsk_", alnum + `{52}`},
	{"xai-api-key", "xai-", alnum + `{80}`},
	{"perplexity-api-key", "pplx-", alnum + `{48,56}`},
	{"replicate-api-token", "r8_", alnum + `{37}`},
	{"huggingface-access-token", "hf_", alnum + `{34,40}`},
	{"huggingface-organization-api-token", "api_org_", alnum + `{34}`},
	{"nvidia-api-key", "nvapi-", url64 + `{56,80}`},
	{"tavily-api-key", "tvly-", `(?:dev-|prod-)?[A-Za-z0-9-]{28,64}`},
	{"fireworks-api-key", "fw_", alnum + `{22,32}`},
	{"cerebras-api-key", "csk-", `[a-z0-9]{48}`},
	{"together-api-key", "tgp_v1_", url64 + `{43}`},
	{"voyage-api-key", "pa-", url64 + `{43}`},
	{"jina-api-key", "jina_", hex32 + url64 + `{28}`},
	{"elevenlabs-api-key", "sk_", `[0-9a-f]{48}`},
	{"firecrawl-api-key", "fc-", hex32},
	{"e2b-api-key", "e2b_", hex40},
	{"runpod-api-key", "rpa_", alnum + `{40,50}`},
	{"apify-api-token", "apify_api_", alnum + `{36,40}`},
	{"llamacloud-api-key", "llx-", alnum + `{48}`},
	{"pinecone-api-key", "pcsk_", `[A-Za-z0-9_]{40,90}`},
	{"langsmith-api-key", "lsv2_", `(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}`},
	{"wandb-api-key", "wandb_v1_", `[A-Za-z0-9_]{40,90}`},

	// Amazon, Google, Microsoft.
	{"aws-access-token", "AKIA", `[A-Z2-7]{16}`},
	{"aws-access-token", "ASIA", `[A-Z2-7]{16}`},
	{"aws-access-token", "ABIA", `[A-Z2-7]{16}`},
	{"aws-access-token", "ACCA", `[A-Z2-7]{16}`},
	{"aws-access-token", "A3T", `[A-Z0-9][A-Z2-7]{16}`},
	{"aws-amazon-bedrock-api-key-long-lived", "ABSK", std64 + `{109,269}={0,2}`},
	{"aws-amazon-bedrock-api-key-short-lived", "bedrock-api-key-", std64 + `{28,}={0,2}`},
	{"gcp-api-key", "AIza", url64 + `{35}`},
	{"gcp-api-key", "AQ.Ab", url64 + `{40,80}`},
	{"google-oauth-access-token", "ya29.", url64 + `{40,400}`},
	{"google-oauth-client-secret", "GOCSPX-", url64 + `{28}`},
	{"google-oauth-refresh-token", "1//0", url64 + `{40,120}`},

	// Other clouds, hosting and networks.
	{"alibaba-access-key-id", "LTAI", alnum + `{12,20}`},
	{"tencent-secret-id", "AKID", alnum + `{32}`},
	{"digitalocean-pat", "dop_v1_", hex64},
	{"digitalocean-access-token", "doo_v1_", hex64},
	{"digitalocean-refresh-token", "dor_v1_", hex64},
	{"digitalocean-spaces-key", "DO00", `[A-Z0-9]{16}`},
	{"cloudflare-api-token", "cfut_", alnum + `{32,60}`},
	{"cloudflare-api-token", "cfat_", alnum + `{32,60}`},
	{"cloudflare-global-api-key", "cfk_", alnum + `{32,60}`},
	{"cloudflare-origin-ca-key", "v1.0-", `[0-9a-f]{24}-[0-9a-f]{146}`},
	{"heroku-api-key-v2", "HRKU-", url64 + `{36,60}`},
	{"flyio-access-token", "fo1_", url64 + `{43}`},
	{"flyio-access-token", "fm1", `[ar]_` + std64 + `{100,}={0,3}`},
	{"confluent-secret-key", "cflt", std64 + `{60}`},
	{"flyio-access-token", "fm2_", std64 + `{100,}={0,3}`},
	{"netlify-access-token", "nfp_", alnum + `{36,44}`},
	{"vercel-token", "vcp_", alnum + `{24,80}`},
	{"render-api-key", "rnd_", alnum + `{28,40}`},
	{"scalingo-api-token", "tk-us-", url64 + `{48}`},
	{"tailscale-key", "tskey-", `(?:auth|api|client|scim|webhook)-` + alnum + `{8,30}-` + alnum + `{16,50}`},
	{"defined-networking-api-token", "dnkey-", `[A-Za-z0-9=_-]{26}-[A-Za-z0-9=_-]{52}`},
	{"openshift-user-token", "sha256~", url64 + `{43}`},

	// Forges, packages, builds.
	{"github-pat", "ghp_", alnum + `{36,}`},
	{"github-oauth", "gho_", alnum + `{36,}`},
	{"github-app-token", "ghu_", alnum + `{36,}`},
	{"github-app-token", "ghs_", alnum + `{36,}`},
	{"github-refresh-token", "ghr_", alnum + `{36,}`},
	{"github-fine-grained-pat", "github_pat_", `[A-Za-z0-9_]{82,}`},
	{"gitlab-pat", "glpat-", url64 + `{20,}`},
	{"gitlab-pat-routable", "glpat-", url64 + `{27,300}\.[0-9a-z]{9}`},
	{"gitlab-pat-routable", "glpat-", url64 + `{27,300}\.[0-9a-z]{2}\.[0-9a-z]{7,9}`},
	{"gitlab-cicd-job-token", "glcbt-", alnum + `{1,5}_` + url64 + `{20,}`},
	{"gitlab-deploy-token", "gldt-", url64 + `{20,}`},
	{"gitlab-feature-flag-client-token", "glffct-", url64 + `{20,}`},
	{"gitlab-feed-token", "glft-", url64 + `{20,}`},
	{"gitlab-incoming-mail-token", "glimt-", url64 + `{25,}`},
	{"gitlab-kubernetes-agent-token", "glagent-", url64 + `{50,}`},
	{"gitlab-oauth-app-secret", "gloas-", url64 + `{64,}`},
	{"gitlab-ptt", "glptt-", hex40},
	{"gitlab-rrt", "GR1348941", url64 + `{20}`},
	{"gitlab-runner-authentication-token", "glrt-", url64 + `{20,}`},
	{"gitlab-runner-authentication-token", "glrtr-", url64 + `{20,}`},
	{"gitlab-runner-authentication-token-routable", "glrt-", `t\d_` + url64 + `{27,300}\.[0-9a-z]{9}`},
	{"gitlab-runner-authentication-token-routable", "glrt-", `t\d_` + url64 + `{27,300}\.[0-9a-z]{2}\.[0-9a-z]{7,9}`},
	{"gitlab-scim-token", "glsoat-", url64 + `{20,}`},
	{"gitlab-session-cookie", "_gitlab_session=", `[0-9a-z]{32}`},
	{"bitbucket-app-password", "ATBB", alnum + `{24,40}`},
	{"atlassian-api-token", "ATATT3", `[A-Za-z0-9_=-]{100,250}`},
	{"atlassian-api-token", "ATSTT3", `[A-Za-z0-9_=-]{100,250}`},
	{"bitbucket-repository-token", "ATCTT3", `[A-Za-z0-9_=-]{100,250}`},
	{"npm-access-token", "npm_", alnum + `{36}`},
	{"pypi-upload-token", "pypi-AgE", url64 + `{60,}`},
	{"rubygems-api-token", "rubygems_", `[0-9a-f]{48}`},
	{"nuget-api-key", "oy2", `[a-z0-9]{43}`},
	{"crates-io-token", "cio", alnum + `{32}`},
	{"clojars-api-token", "CLOJARS_", alnum + `{60}`},
	{"packagist-token", "packagist_", `[a-z]{3}_[0-9a-f]{68}`},
	{"docker-pat", "dckr_pat_", url64 + `{27}`},
	{"docker-org-token", "dckr_oat_", url64 + `{24,40}`},
	{"docker-swarm-key", "SWMKEY-1-", std64 + `{43}`},
	{"docker-swarm-key", "SWMTKN-1-", `[a-z0-9]{50}-[a-z0-9]{25}`},
	{"artifactory-api-key", "AKCp", alnum + `{69}`},
	{"artifactory-reference-token", "cmVmd", alnum + `{59}`},
	{"circleci-pat", "CCIPAT_", alnum + `{20,30}_` + hex40},
	{"circleci-project-token", "CCIPRJ_", alnum + `{20,30}_` + hex40},
	{"buildkite-api-token", "bkua_", hex40},
	{"harness-api-key", "pat.", url64 + `{22}\.` + alnum + `{24}\.` + alnum + `{20}`},
	{"harness-api-key", "sat.", url64 + `{22}\.` + alnum + `{24}\.` + alnum + `{20}`},
	{"octopus-deploy-api-key", "API-", `[A-Z0-9]{26,32}`},
	{"infracost-api-token", "ico-", alnum + `{32}`},
	{"prefect-api-token", "pnu_", alnum + `{36}`},
	{"pulumi-api-token", "pul-", hex40},
	{"sonar-api-token", "squ_", hex40},
	{"sonar-api-token", "sqp_", hex40},
	{"sonar-api-token", "sqa_", hex40},
	{"sourcegraph-access-token", "sgp_", `(?:(?:[A-Fa-f0-9]{16}|local)_)?[A-Fa-f0-9]{40}`},
	{"readme-api-token", "rdme_", `[a-z0-9]{70}`},
	{"postman-api-token", "PMAK-", `[A-Fa-f0-9]{24}-[A-Fa-f0-9]{34}`},

	// Secrets and configuration.
	{"vault-service-token", "hvs.", url64 + `{20,}`},
	{"vault-batch-token", "hvb.", url64 + `{20,}`},
	{"vault-recovery-token", "hvr.", url64 + `{20,}`},
	{"doppler-api-token", "dp.pt.", alnum + `{40,44}`},
	{"doppler-api-token", "dp.st.", `(?:[a-z0-9_-]{2,35}\.)?` + alnum + `{40,44}`},
	{"doppler-api-token", "dp.ct.", alnum + `{40,44}`},
	{"doppler-api-token", "dp.sa.", alnum + `{40,44}`},
	{"doppler-api-token", "dp.scim.", alnum + `{40,44}`},
	{"doppler-api-token", "dp.audit.", alnum + `{40,44}`},
	{"1password-secret-key", "A3-", `[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}`},
	{"1password-service-account-token", "ops_eyJ", `[A-Za-z0-9+/_-]{200,}={0,3}`},
	{"age-secret-key", "AGE-SECRET-KEY-1", `[02-9AC-HJ-NP-Z]{58}`},
	{"age-secret-key", "AGE-PLUGIN-", `[A-Z0-9-]{1,30}-1[02-9AC-HJ-NP-Z]{10,}`},
	{"launchdarkly-access-token", "api-", uuid},
	{"launchdarkly-access-token", "sdk-", uuid},

	// Data.
	{"databricks-api-token", "dapi", hex32 + `(?:-\d)?`},
	{"databricks-api-token", "dose", hex32},
	{"clickhouse-cloud-api-secret-key", "4b1d", alnum + `{38}`},
	{"neon-api-key", "napi_", `[a-z0-9]{64}`},
	{"planetscale-api-token", "pscale_tkn_", `[A-Za-z0-9_=.-]{32,64}`},
	{"planetscale-oauth-token", "pscale_oauth_", `[A-Za-z0-9_=.-]{32,64}`},
	{"planetscale-password", "pscale_pw_", `[A-Za-z0-9_=.-]{32,64}`},
	{"supabase-access-token", "sbp_", hex40},
	{"supabase-secret-key", "sb_secret_", url64 + `{22,40}`},
	{"cockroach-api-key", "CCDB1_", alnum + `{22}_` + alnum + `{40}`},
	{"airtable-personnal-access-token", "pat", alnum + `{14}\.` + hex64},
	{"mapbox-api-token", "sk.eyJ", url64 + `{50,}\.` + url64 + `{22}`},
	{"mapbox-api-token", "tk.eyJ", url64 + `{50,}\.` + url64 + `{22}`},
	{"mapbox-api-token", "pk.", `[a-z0-9]{60}\.[a-z0-9]{22}`},

	// Monitoring and analytics.
	{"grafana-api-key", "eyJrIjoi", alnum + `{70,400}={0,3}`},
	{"grafana-cloud-api-token", "glc_", std64 + `{32,400}={0,3}`},
	{"grafana-service-account-token", "glsa_", alnum + `{32}_[A-Fa-f0-9]{8}`},
	{"sentry-org-token", "sntrys_", std64 + `{40,}={0,2}_` + std64 + `{43}`},
	{"sentry-org-token", "sntrys_", std64 + `{40,}={0,2}`},
	{"sentry-user-token", "sntryu_", hex64},
	{"sentry-app-token", "sntrya_", hex64},
	{"new-relic-user-api-key", "NRAK-", `[A-Z0-9]{27}`},
	{"new-relic-browser-api-token", "NRJS-", `[0-9a-f]{19}`},
	{"new-relic-insert-key", "NRII-", `[A-Za-z0-9_-]{32}`},
	{"dynatrace-api-token", "dt0c01.", alnum + `{24}\.` + alnum + `{64}`},
	{"dynatrace-api-token", "dt0s16.", alnum + `{8,24}\.` + alnum + `{64}`},
	{"posthog-personal-api-key", "phx_", alnum + `{40,60}`},
	{"axiom-api-token", "xaat-", uuid},
	{"axiom-api-token", "xapt-", uuid},
	{"datadog-access-token", "ddapp_", alnum + `{34,40}`},

	// Mail, chat and people.
	{"slack-bot-token", "xoxb-", `[0-9]{8,14}-[A-Za-z0-9-]{10,}`},
	{"slack-user-token", "xoxp-", `(?:[0-9]{8,14}-){2}[A-Za-z0-9-]{24,}`},
	{"slack-user-token", "xoxe-", `(?:[0-9]{10,13}-){3}[A-Za-z0-9-]{28,34}`},
	{"slack-app-token", "xapp-", `\d-[A-Za-z0-9]+-\d+-[A-Za-z0-9]+`},
	{"slack-config-access-token", "xoxe.xoxb-", `\d-[A-Za-z0-9]{100,}`},
	{"slack-config-access-token", "xoxe.xoxp-", `\d-[A-Za-z0-9]{100,}`},
	{"slack-config-refresh-token", "xoxe-", `\d-[A-Za-z0-9]{100,}`},
	{"slack-legacy-token", "xoxs-", `\d+-\d+-\d+-[A-Fa-f0-9]+`},
	{"slack-legacy-token", "xoxo-", `\d+-\d+-\d+-[A-Fa-f0-9]+`},
	{"slack-legacy-workspace-token", "xoxa-", `(?:\d-)?[A-Za-z0-9-]{8,100}`},
	{"slack-legacy-workspace-token", "xoxr-", `(?:\d-)?[A-Za-z0-9-]{8,100}`},
	{"slack-cookie", "xoxd-", `[A-Za-z0-9%/+_=-]{40,400}`},
	{"slack-client-token", "xoxc-", `\d+-\d+-\d+-` + hex64},
	{"slack-workflow-token", "xwfp-", `[0-9A-Za-z-]{40,}`},
	{"sendgrid-api-token", "SG.", url64 + `{16,32}\.` + url64 + `{32,64}`},
	{"sendgrid-api-token", "SG.", `[A-Za-z0-9=_.-]{66}`},
	{"sendinblue-api-token", "xkeysib-", hex64 + `-` + alnum + `{16}`},
	{"sendinblue-api-token", "xsmtpsib-", hex64 + `-` + alnum + `{16}`},
	{"mailgun-private-api-token", "key-", hex32},
	{"mailgun-pub-key", "pubkey-", hex32},
	{"mailersend-api-token", "mlsn.", hex64},
	{"resend-api-key", "re_", alnum + `{8}_` + alnum + `{24}`},
	{"twilio-api-key", "SK", `[0-9a-fA-F]{32}`},

	// Work.
	{"notion-api-token", "ntn_", alnum + `{43,50}`},
	{"notion-api-token", "secret_", alnum + `{43}`},
	{"linear-api-key", "lin_", `(?:api|oauth|wh)_` + alnum + `{32,64}`},
	{"figma-pat", "figd_", url64 + `{40,}`},
	{"hubspot-api-key", "pat-", `(?:na|eu|ap)\d-` + uuid},
	{"typeform-api-token", "tfp_", `[A-Za-z0-9_.=-]{40,70}`},
	{"contentful-personal-access-token", "CFPAT-", url64 + `{43}`},
	{"adafruit-api-key", "aio_", alnum + `{28}`},
	{"segment-api-token", "sgp_", alnum + `{64}`},
	{"wakatime-api-key", "waka_", uuid},
	{"trello-api-token", "ATTA", `[0-9a-f]{64}[0-9A-F]{8}`},
	{"frameio-api-token", "fio-u-", `[A-Za-z0-9_=-]{64}`},
	{"adobe-client-secret", "p8e-", alnum + `{32}`},
	{"dropbox-short-lived-api-token", "sl.", `(?:u\.)?[A-Za-z0-9_=-]{130,}`},

	// Payment and trade.
	{"stripe-access-token", "sk_", `(?:live|test|prod)_` + alnum + `{10,128}`},
	{"stripe-access-token", "rk_", `(?:live|test|prod)_` + alnum + `{10,128}`},
	{"stripe-webhook-secret", "whsec_", std64 + `{32,64}={0,2}`},
	{"square-access-token", "sq0atp-", url64 + `{22,60}`},
	{"square-access-token", "EAAA", url64 + `{22,64}`},
	{"square-client-secret", "sq0csp-", url64 + `{40,50}`},
	{"braintree-access-token", "access_token$", `(?:production|sandbox)\$[0-9a-z]{16}\$` + hex32},
	{"shopify-access-token", "shpat_", `[A-Fa-f0-9]{32}`},
	{"shopify-custom-access-token", "shpca_", `[A-Fa-f0-9]{32}`},
	{"shopify-private-app-access-token", "shppa_", `[A-Fa-f0-9]{32}`},
	{"shopify-shared-secret", "shpss_", `[A-Fa-f0-9]{32}`},
	{"shippo-api-token", "shippo_", `(?:live|test)_[A-Fa-f0-9]{40}`},
	{"easypost-api-token", "EZAK", alnum + `{54}`},
	{"easypost-test-api-token", "EZTK", alnum + `{54}`},
	{"duffel-api-token", "duffel_", `(?:test|live)_[A-Za-z0-9_=-]{43}`},
	{"flutterwave-encryption-key", "FLWSECK_TEST", `-?[A-Za-z0-9]{12}`},
	{"flutterwave-public-key", "FLWPUBK_TEST-", `[A-Za-z0-9]{32}-X`},
	{"flutterwave-secret-key", "FLWSECK_TEST-", `[A-Za-z0-9]{32}-X`},
	{"flutterwave-secret-key", "FLWSECK-", `[A-Za-z0-9]{32,50}-X`},
	{"plaid-api-token", "access-", `(?:sandbox|development|production)-` + uuid},
	{"facebook-page-access-token", "EAA", alnum + `{100,}`},
	{"paddle-api-key", "pdl_", `(?:live|sdbx)_apikey_[a-z0-9]{26}_` + alnum + `{22}_` + alnum + `{3}`},
	{"mollie-api-key", "live_", alnum + `{30}`},
	{"lob-api-key", "live_", `[0-9a-f]{35}`},

	// Programs that run elsewhere.
	{"authress-service-client-access-key", "sc_", authress},
	{"authress-service-client-access-key", "ext_", authress},
	{"authress-service-client-access-key", "scauth_", authress},
	{"authress-service-client-access-key", "authress_", authress},
	{"intra42-client-secret", "s-s4t2ud-", hex64},
	{"intra42-client-secret", "s-s4t2af-", hex64},
	{"settlemint-application-access-token", "sm_aat_", alnum + `{16}`},
	{"settlemint-personal-access-token", "sm_pat_", alnum + `{16}`},
	{"settlemint-service-access-token", "sm_sat_", alnum + `{16}`},
	{"ory-access-token", "ory_", `(?:at|st|pat|rt|ac)_` + url64 + `{32,}`},
	{"django-secret-key", "django-insecure-", `[a-z0-9!@#$%^&*(\-_=+)]{50}`},
	{"bip32-private-key", "xprv", base58Class + `{107}`},
	{"bip32-private-key", "yprv", base58Class + `{107}`},
	{"bip32-private-key", "zprv", base58Class + `{107}`},
	{"bip32-private-key", "tprv", base58Class + `{107}`},
	{"nostr-private-key", "nsec1", `[02-9ac-hj-np-z]{58}`},
	{"yandex-api-key", "AQVN", url64 + `{35,38}`},
}

const authress = `[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,120}`

// formerKinds are kinds that earlier versions found under names that no rule has any more:
// texts have placeholders with them.
var formerKinds = []string{"bittrex-secret-key", "slack-legacy-bot-token"}

// checksums are those of the formats that have one, by prefix.
var checksums = map[string]func(token string) bool{
	"ghp_": hasCRC32, "gho_": hasCRC32, "ghu_": hasCRC32, "ghs_": hasCRC32, "ghr_": hasCRC32, "npm_": hasCRC32,
}

// formatRules returns a rule for each format.
func formatRules() []*rule {
	var rules []*rule
	for _, f := range formats {
		rules = append(rules, &rule{
			kind: f.kind, keywords: []string{strings.ToLower(f.prefix)}, anchored: true, token: true, group: wholeMatch,
			pattern: regexp.QuoteMeta(f.prefix) + f.rest, entropy: 2.5, proof: checksums[f.prefix],
		})
	}
	return rules
}
