package sensitive_test

import (
	"strings"
	"testing"

	"memento/sensitive"
	"memento/sensitive/internal/gencorpus"
)

// A namedSecret is an example of a kind of secret as notes have it. In text, {} is the
// secret, which is made from a pattern.
type namedSecret struct{ kind, text, pattern string }

// generic are the kinds of random values whose name says that they are secrets.
const generic = "generic-api-key or generic-secret"

// namedSecrets are kinds that detectors made for code miss, as people and agents note them.
var namedSecrets = []namedSecret{
	{"azure-devops-pat", "{}", "{b62:52}JQQJ99{b62:14}AAAAAZDO{b62:4}"},
	{"azure-devops-pat", "Azure DevOps PAT: {}", "{lower32:52}"},
	{"azure-devops-pat", "AZURE_DEVOPS_EXT_PAT={}", "{lower32:52}"},
	{"braintree-access-token", "{}", "access_token$production${l:16}${hex:32}"},
	{"braintree-access-token", "the gateway uses {} since May", "access_token$sandbox${l:16}${hex:32}"},
	{"twilio-auth-token", "client = Client('AC7b0c5b1f0a4d4d0c9a3e1f2b3c4d5e6f', '{}')", "{hex:32}"},
	{"twilio-auth-token", `Client("AC7b0c5b1f0a4d4d0c9a3e1f2b3c4d5e6f", "{}")`, "{hex:32}"},
	{"mailgun-private-api-token", "{}", "key-{hex:32}"},
	{"mailgun-private-api-token", "curl -s --user 'api:{}' https://api.mailgun.net/v3/acme.io/messages", "key-{hex:32}"},
	{"mailchimp-api-key", "{}", "{hex:32}-us21"},
	{"mailchimp-api-key", "MAILCHIMP_API_KEY={}", "{hex:32}-us6"},
	{"nvidia-api-key", "{}", "nvapi-{w:64}"},
	{"tavily-api-key", "{}", "tvly-{b62:32}"},
	{"tavily-api-key", "TAVILY_API_KEY={}", "tvly-dev-{b62:32}"},
	{"fireworks-api-key", "{}", "fw_{b62:24}"},
	{"cerebras-api-key", "{}", "csk-{l:48}"},
	{"airtable-personnal-access-token", "{}", "pat{b62:14}.{hex:64}"},
	{"airtable-api-key", "the Airtable key is {}", "key{b62:14}"},
	{"sonar-api-token", "{}", "squ_{hex:40}"},
	{"sonar-api-token", "sonar.login={}", "sqp_{hex:40}"},
	{"sonar-api-token", "sonar.token={}", "{hex:40}"},
	{"planetscale-api-token", "{}", "pscale_tkn_{w:43}"},
	{"planetscale-password", "{}", "pscale_pw_{w:43}"},
	{"mapbox-api-token", "{}", "sk.eyJ1Ijoi{b62:60}.{b62:22}"},
	{"datadog-access-token", "DD_APP_KEY={}", "{hex:40}"},
	{"datadog-access-token", "Datadog application key: {}", "{hex:40}"},
	{"datadog-access-token", `"DD-APPLICATION-KEY: {}"`, "{hex:40}"},
	{"datadog-access-token", "DATADOG_APP_KEY: {}", "{hex:40}"},
	{"sentry-dsn", "https://{}@o4504.ingest.sentry.io/4505", "{hex:32}"},
	{"sentry-dsn", "SENTRY_DSN=https://{}@sentry.acme.io/3", "{hex:32}"},
	{"sentry-user-token", "{}", "sntryu_{hex:64}"},
	{"sentry-access-token", "SENTRY_AUTH_TOKEN={}", "{hex:64}"},
	{"notion-api-token", "{}", "ntn_{d:11}{b62:35}"},
	{"notion-api-token", "NOTION_TOKEN={}", "secret_{b62:43}"},
	{"square-access-token", "{}", "EAAAE{w:59}"},
	{"square-access-token", "{}", "sq0atp-{w:22}"},
	{"square-client-secret", "{}", "sq0csp-{w:43}"},
	{"facebook-page-access-token", "{}", "EAACEdEose0cBA{b62:120}"},
	{"facebook-access-token", "Facebook app token: {}", "{d:15}|{w:27}"},
	{"facebook-secret", "Facebook app secret: {}", "{hex:32}"},
	{"heroku-api-key-v2", "{}", "HRKU-AA{w:58}"},
	{"heroku-api-key", "HEROKU_API_KEY={}", "{uuid}"},
	{"heroku-api-key", "the Heroku API key is {}", "{uuid}"},
	{"cloudflare-origin-ca-key", "{}", "v1.0-{hex:24}-{hex:146}"},
	{"vault-service-token", "{}", "hvs.{b62:24}"},
	{"vault-service-token", "{}", "hvs.CAES{w:87}"},
	{"vault-service-token", "VAULT_TOKEN={}", "hvs.{w:180}"},
	{"password", "db.acme.io:5432:shop:app:{}\n", "{b62:14}"},
	{"password", "localhost:6543:shop:app:{}\n", "{b62:14}"},
	{"password", "*:*:*:postgres:{}\n", "{b62:14}"},
	{"curl-auth-user", "curl -u kim:{} https://api.acme.io/v1", "{b62:12}"},
	{"curl-auth-user", "curl -sSf -u 'kim:{}' https://api.acme.io/v1", "{b62:12}"},
	{"curl-auth-user", "curl -ukim:{} https://api.acme.io/v1", "{b62:12}"},
	{"password", "mysql -u root -p{} shop", "{b62:12}"},
	{"password", "mysql -uroot -p{} -h db", "{b62:8}"},
	{"kubernetes-client-key", "users:\n- user:\n    client-key-data: {}\n", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ{b64:400}=="},
	{"password-hash", "root:{}:19000:0:99999:7:::", "$6${b62:16}${b64:86}"},
	{"password-hash", "kim:{}:19722:0:99999:7:::", "$y$j9T${b62:22}${b64:43}"},
	{"password-hash", "kim:{}:19722:0:99999:7:::", "$1${b62:8}${b64:22}"},
	{"password-hash", "kim:{}:19722:0:99999:7:::", "$5$rounds=5000${b62:16}${b64:43}"},
	{"django-secret-key", "SECRET_KEY = '{}'", "django-insecure-{l:50}"},
	{generic, "RAILS_MASTER_KEY={}", "{hex:32}"},
	{generic, "Rails master key: {}", "{hex:32}"},
	{generic, "config/master.key: {}", "{hex:32}"},
	{generic, "the Rails master key is {}", "{hex:32}"},
	{"session-cookie", "Cookie: sessionid={}; theme=dark", "{l:32}"},
	{"session-cookie", "Set-Cookie: connect.sid={}; Path=/; HttpOnly", "s%3A{w:32}.{b62:43}"},
	{"session-cookie", "cookie: _acme_session={}", "{w:120}"},
	{"totp-seed", "TOTP secret: {}", "{b32:4} {b32:4} {b32:4} {b32:4} {b32:4} {b32:4} {b32:4} {b32:4}"},
	{"totp-seed", "2FA seed: {}", "{lower32:4} {lower32:4} {lower32:4} {lower32:4}"},
	{"totp-seed", "authenticator key: {}", "{b32:4}-{b32:4}-{b32:4}-{b32:4}"},
	{"recovery-codes", "Recovery codes:\n{}\n", "{l:5}-{l:5}\n{l:5}-{l:5}\n{l:5}-{l:5}"},
	{"recovery-codes", "GitHub recovery codes: {}", "{l:5}-{l:5}, {l:5}-{l:5}, {l:5}-{l:5}"},
	{"recovery-codes", "Backup codes:\n\n{}\n", "{d:4} {d:4}\n{d:4} {d:4}\n{d:4} {d:4}"},
	{generic, "TOKEN={}", "{hex:40}"},
	{generic, "TOKEN={}", "{hex:32}"},
	{generic, "export TOKEN={}", "{hex:64}"},
	{generic, "MASTER_KEY={}", "{hex:32}"},
	{generic, "MASTER_KEY: {}", "{hex:64}"},
	{generic, "APP_KEY={}", "{hex:64}"},
	{generic, "APP_KEY={}", "{hex:32}"},
	{generic, "HMAC_KEY={}", "{hex:64}"},
	{generic, "HMAC_KEY={}", "{hex:40}"},
	{"password", "the old password was Winter2024!, it's {} now", "{b62:9}7!"},
	{"password", "The admin password changed from Winter2024! to {}", "{b62:9}7!"},
	{"password", "let password: String = \"{}\"", "{b62:9}!7"},
	{"password", "const PASSWORD: &str = \"{}\";", "{b62:9}!7"},
	{"password", "let pwd = String::from(\"{}\");", "{b62:9}!7"},
	{"password", "var password = @\"{}\";", "{b62:9}!7"},
	{"password", "password = b'{}'", "{b62:9}!7"},
	{"password", "password = \"\"\"{}\"\"\"", "{b62:9}!7"},
	{"password", "password: !unsafe {}", "{b62:9}!7"},
	{"password", "user.setPassword(\"{}\")", "{b62:9}!7"},
	{"password", ".withPassword('{}')", "{b62:9}!7"},
	{"password", "user_pref(\"proxy.password\", \"{}\");", "{b62:9}!7"},
	{"password", "<input type=\"password\" value=\"{}\">", "{b62:9}!7"},
	{"password", "setx DB_PASSWORD {}", "{b62:12}"},
	{"password", "http -a kim:{} GET acme.io", "{b62:12}"},
	{"password", "jdbc:oracle:thin:kim/{}@db:1521:XE", "{b62:12}"},
	{"password", "net use Z: \\\\nas\\share {} /user:kim", "{b62:12}"},
	{"password", "echo '{}' | docker login -u kim --password-stdin", "{b62:12}"},
}

// namedPlaces are the surroundings of the examples.
var namedPlaces = []string{
	"{}", "{}\n", "note:\r\n{}\r\nend\r\n", "- {}\n- next\n", "* `{}`\n", "> {}\n", "```\n{}\n```\n", "    {}\n", "| x | {} |\n", "（{}）", "「{}」", "({}).",
	"先に\n{}\n然后重启", "see {}, as agreed", "# Setup\n\n1. {}\n2. restart\n", "<code>{}</code>", "**{}**",
}

func TestFindsNamedKinds(t *testing.T) {
	d := sensitive.Default()
	for i, n := range namedSecrets {
		for j, place := range namedPlaces {
			secret := gencorpus.Fill(uint64(100*i+j), n.pattern)
			before, after, _ := strings.Cut(strings.Replace(place, "{}", n.text, 1), "{}")
			text := before + secret + after
			found := false
			for _, f := range d.Detect(text, false) {
				const most = 24 // bytes beside the secret
				if f.Start <= len(before) && f.End >= len(before)+len(secret) {
					found = true
					if !strings.Contains(n.kind, f.Kind) {
						t.Errorf("%q: found %s, want %s", text, f.Kind, n.kind)
					}
					if f.End-f.Start-len(secret) > most {
						t.Errorf("%q: found %q, want %q", text, text[f.Start:f.End], secret)
					}
				}
			}
			if !found {
				t.Errorf("%q: %s is missed; found %+v", text, n.kind, d.Detect(text, false))
			}
		}
	}
}

// harmlessCode is what stands in code and documents where a secret could stand. Fields are
// those of gencorpus.Fill.
var harmlessCode = []string{
	"t.password===e.password", "if(t.password===e.password&&n.token!==r.token)return!0", "password=None", "def login(user, password=None, token=None):",
	"password = None", "connect(host, password=None)", "connect(host=host, password=password, database=name)", "connect(dbname, user, password=db_pass)", "self.password = password", "password: Optional[str] = None", "redis://:<password>@cache", "redis://:<password>@cache:6379/0",
	"redis://:${REDIS_PASSWORD}@cache:6379", "postgres://app:<password>@db/shop", `os.Getenv("API_KEY")`, `key := os.Getenv("API_KEY")`, `apiKey: process.env.API_KEY,`,
	`token = os.environ["GITHUB_TOKEN"]`, `std::env::var("API_KEY")?`, "ENV['SECRET_KEY_BASE']",
	"[![CI](https://github.com/acme/token-service/actions/workflows/ci.yml/badge.svg?branch=main)](https://github.com/acme/token-service/actions)",
	"[![codecov](https://codecov.io/gh/acme/api/branch/main/graph/badge.svg?token={U:10})](https://codecov.io/gh/acme/api)",
	"![version](https://img.shields.io/npm/v/@acme/key-store?color=%23{hex:6}&label=key)",
	"github.com/acme/keyring v1.4.2 h1:{b64:43}=\ngithub.com/acme/keyring v1.4.2/go.mod h1:{b64:43}=",
	"\"node_modules/token-types\": {\n  \"resolved\": \"https://registry.npmjs.org/token-types/-/token-types-4.2.1.tgz\",\n  \"integrity\": \"sha512-{b64:86}==\"\n}",
	"[[package]]\nname = \"secrecy\"\nversion = \"0.8.0\"\nchecksum = \"{hex:64}\"", "keyring==24.3.0 \\\n    --hash=sha256:{hex:64}", "  /token-types@4.2.1:\n    resolution: {integrity: sha512-{b64:86}==}",
	"password-hash@^1.2.2:\n  version \"1.2.2\"\n  resolved \"https://registry.yarnpkg.com/password-hash/-/password-hash-1.2.2.tgz#{hex:40}\"",
	"{uuid}", "user {uuid} has the token {uuid} open", "request {uuid}: password reset was sent", "key_id: {uuid}", "secret version {uuid} is current",
	"![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b64:1600}==)", "<img alt=\"key\" src=\"data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ{b64:2400}\">",
	"url(data:font/woff2;base64,d09GMgABAAAAA{b64:1800})", "commit {hex:40}\nAuthor: Kim", "ghcr.io/acme/token-service@sha256:{hex:64}",
}

// Code and documents stay as they are, byte for byte, wherever a note has them.
func TestLeavesNamedCode(t *testing.T) {
	d := sensitive.Default()
	for i, code := range harmlessCode {
		for j, place := range namedPlaces {
			text := strings.Replace(place, "{}", gencorpus.Fill(uint64(100*i+j), code), 1)
			for _, around := range []string{text, "The password is in the safe, the API key in Vault.\n" + text + "\nToken and secret: ask Kim."} {
				if masked := mask(around, d.Detect(around, false)); masked != around {
					t.Errorf("%q: masked to %q", around, masked)
				}
			}
		}
	}
}

// The words for passwords, PINs and keys of networks of each language announce them.
func TestEachLanguageAnnounces(t *testing.T) {
	m := measured(gencorpus.Announced(21, 1), 16)
	for _, language := range []string{"English", "German", "French", "Spanish", "Italian", "Portuguese", "Dutch", "Polish", "Russian", "Chinese", "Japanese", "Korean"} {
		if m.byLanguage[language] == nil || m.byLanguage[language].total < 100 {
			t.Fatalf("%s: too few examples", language)
		}
		if got := m.byLanguage.recall(language); got < 0.97 {
			t.Errorf("%s: recall is %.1f %%, want at least 97 %%", language, 100*got)
		}
	}
	for _, place := range []string{"next line", "list", "table row", "table column", "JSON", "code span"} {
		for language := range m.byLanguage {
			if got := m.places[language+", "+place]; got == nil || got.found < got.total {
				t.Errorf("%s, %s: found %+v", language, place, got)
			}
		}
	}
}
