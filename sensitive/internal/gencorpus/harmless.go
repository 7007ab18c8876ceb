package gencorpus

import "strings"

// A harmless text has nothing to find in it, although it looks as if it had. Fields are
// filled as in a format.
type harmless struct{ kind, pattern string }

var harmlessTexts = []harmless{
	// Prose about passwords and keys
	{"prose", "The password policy requires {d:2} characters with digits and symbols."},
	{"prose", "Reset your password at https://acme.io/account/password/reset?step={d:1}."},
	{"prose", "The API key is stored in Vault under secret/data/prod/{a:8}, rotated every {d:2} days."},
	{"prose", "Password reset tokens expire after {d:2} minutes; the token is sent by mail."},
	{"prose", "The user forgot the password again, so we set up a password manager (1Password)."},
	{"prose", "password: must be changed on first login"},
	{"prose", "Password: ask Kim"},
	{"prose", "password: see 1Password"},
	{"prose", "- password: required, string, at least 12 characters"},
	{"prose", "The token is valid for {d:3}0 seconds, the refresh token for 30 days."},
	{"prose", "Passwords are hashed with Argon2id, m=65536, t=3, p=4."},
	{"prose", "The password field is called password_hash in v{d:1}.{d:1} and later."},
	{"prose", "Do not share the password with anyone; the passphrase is in the safe."},
	{"prose", "We chose bcrypt over SHA256 for password storage."},
	{"prose", "Keys: the API key and secret key are in the team vault, item {d:3}."},
	{"prose", "The PIN has four digits. The PIN is asked for twice."},
	{"prose", "PIN: optional"},
	{"prose", "Error code: 500{d:1}, status code: 404, exit code is 1"},
	{"prose", "zip code: 10115, area code: 0301, country code = 0049"},
	{"prose", "The access code path is covered by tests since 2023."},
	{"prose", "commit code: see line {d:4} of main.go"},
	{"prose", "The new password is required to be different from the old password."},
	{"prose", "password is incorrect, or the account does not exist"},
	{"prose", "Kim's password is too short; the password was leaked in 2019."},
	{"prose", "the password is stored encrypted, the key is derived with PBKDF2"},
	{"prose", "Use password-less login (WebAuthn) if the password is unknown."},
	{"prose", "Try the password \"correct\" way: hash it first."},
	{"prose", "With password authentication disabled, use keys."},
	{"prose", "The word `password` is a reserved name in the schema."},
	{"prose", "Set `password` and `password_confirmation` in the form."},
	{"prose", "login with password or passkey; password changed yesterday"},
	{"prose", "| Option | Password | Key |\n|---|---|---|\n| speed | slow | fast |\n| storage | database | vault |\n"},
	{"prose", "| Field | Type | Required |\n|---|---|---|\n| username | string | yes |\n| password | string | yes |\n| token | uuid | no |\n"},
	{"prose", "## Password\n\nThe user wants a password manager.\n"},
	{"prose", "## Passwords\n\n- stored in 1Password\n- never in notes\n"},
	{"prose", "Password:\n- at least twelve characters\n- one digit\n"},
	{"prose", "Das Passwort ist abgelaufen. Das Passwort lautet anders als gedacht."},
	{"prose", "Passwort: siehe Tresor. Kennwort vergessen? Frag Kim."},
	{"prose", "Die PIN ist falsch eingegeben worden, Passwort für den Router fehlt noch."},
	{"prose", "Le mot de passe est obligatoire. Mot de passe : voir le coffre."},
	{"prose", "le mot de passe doit contenir 12 caractères et le code PIN 4 chiffres"},
	{"prose", "La contraseña es obligatoria. La clave está en la caja fuerte. La clave es la constancia."},
	{"prose", "la contraseña debe tener al menos 12 caracteres"},
	{"prose", "La password è obbligatoria, la password deve avere 12 caratteri."},
	{"prose", "A senha é obrigatória. A senha expirou ontem; a senha foi alterada."},
	{"prose", "Het wachtwoord is verplicht; het wachtwoord is verlopen."},
	{"prose", "Hasło jest wymagane. Hasło to podstawa, hasło musi mieć 12 znaków."},
	{"prose", "Пароль обязателен. Пароль должен содержать 12 символов, пароль изменён вчера."},
	{"prose", "密码必须至少包含12个字符。密码是必填项，密码已过期，密码长度为 8-16 位。"},
	{"prose", "密碼必須至少8個字元。口令不能为空。"},
	{"prose", "パスワードは12文字以上です。パスワードは必須です。パスワードを忘れた場合は管理者に連絡。"},
	{"prose", "비밀번호는 12자 이상이어야 합니다. 비밀번호는 필수입니다. 암호는 변경되었습니다."},
	{"prose", "The secret of a good soup is patience, the key is salt: {d:2} g per litre."},
	{"prose", "keyboard shortcut: ctrl+shift+{a:1}; key: value pairs; primary key: user_id"},
	{"prose", "The recovery phrase has 24 words and is kept on paper."},
	{"prose", "Ask for the seed phrase? Never. abandon all hope, they wrote about about it."},
	{"prose", "Bearer tokens are sent in the Authorization header. Basic authentication is off."},
	{"prose", "Authorization: Bearer <token>"},
	{"prose", "Session cookies are HttpOnly; Cookie: sessionid=..."},
	{"prose", "meeting at 10:30 in room {d:3}, dial-in code via calendar"},
	{"prose", "order number {d:10}, tracking code 1Z{U:6}, invoice INV-2026-{d:5}"},
	{"prose", "The model is claude-sonnet-4-5-20250929, the request req_011CS{b62:19}."},

	// Code
	{"code", "if (t.password===e.password) return!0"},
	{"code", "def login(user, password=None, token=None):"},
	{"code", "r = redis.from_url('redis://:<password>@cache:6379/0')"},
	{"code", "redis://:<password>@cache"},
	{"code", `key := os.Getenv("API_KEY")`},
	{"code", `password = os.environ["DB_PASSWORD"]`},
	{"code", `const token = process.env.GITHUB_TOKEN;`},
	{"code", "password: process.env.DB_PASSWORD,"},
	{"code", "password := cfg.Database.Password"},
	{"code", "password: str = Field(min_length=8, max_length=64)"},
	{"code", "password: z.string().min(8).max(64),"},
	{"code", "this.password = password; this.token = opts.token || defaultToken;"},
	{"code", "user.setPassword(passwordEncoder.encode(rawPassword));"},
	{"code", "if len(password) < 8 || !hasDigit(password) {\n\treturn errTooShort\n}"},
	{"code", "password = Column(String(128), nullable=False)"},
	{"code", "<input type=\"password\" name=\"password\" id=\"password-{d:2}\" autocomplete=\"current-password\">"},
	{"code", "type Config struct {\n\tPassword string `json:\"password\" yaml:\"password\"`\n\tToken    string `json:\"token\"`\n}"},
	{"code", `"password": {"type": "string", "minLength": 12, "format": "password"}`},
	{"code", `expect(page.getByLabel("Password")).toBeVisible()`},
	{"code", `await page.fill('#password', user.password)`},
	{"code", `throw new Error("Password: must not be empty")`},
	{"code", "const passwordRegex = /^(?=.*[A-Z])(?=.*\\d).{8,}$/;"},
	{"code", "password: \"{{ vault_db_password }}\""},
	{"code", "password = var.db_password\ntoken = data.vault_generic_secret.x.data[\"token\"]"},
	{"code", "password: !vault |"},
	{"code", "password: ${DB_PASSWORD:-}"},
	{"code", "env:\n  NPM_TOKEN: ${{ secrets.NPM_TOKEN }}\n"},
	{"code", "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db-{a:5}\n      key: password\n"},
	{"code", "curl -H \"Authorization: Bearer $TOKEN\" https://api.acme.io/v{d:1}"},
	{"code", "curl -u \"$USER:$PASS\" https://api.acme.io"},
	{"code", "curl -u user:password https://api.example.com"},
	{"code", "mysql -u root -p shop < dump.sql"},
	{"code", "mysql -u root -p$MYSQL_ROOT_PASSWORD shop"},
	{"code", "docker run -p8080:80 -p 5432:5432 acme/api:1.{d:2}"},
	{"code", "mkdir -p/var/lib/acme && cp -pr a b"},
	{"code", "ssh -p 2222 kim@nas"},
	{"code", "KeyAlgoED25519: CertAlgoSKED25519v0{d:1},\nKeyAlgoECDSA256: CertAlgoECDSA256v0{d:1},"},
	{"code", `"signingKey": "did:key:zDnaeRSYs7c2NpcNA5NRAUqS8DCkLWDyNLnATi28D6w{d:1}"`},
	{"code", "const password = req.body.password{d:1};"},
	{"code", "variable \"token_ttl\" {\n  default = \"{d:4}s\"\n}"},
	{"code", "new PDO($dsn, $user, $password);"},
	{"code", "mysqli_connect($host, $user, $pass{d:1})"},
	{"code", "ConvertTo-SecureString $password -AsPlainText -Force"},
	{"code", "openssl enc -d -k $KEY{d:1} -in x"},
	{"code", "- name: cache-key\n  value: node-v{d:2}-linux-x64-{a:6}"},
	{"code", `{"name": "integrity_key", "value": "sha512-AbC{d:4}dEf=="}`},
	{"code", "<td>Token</td><td>string, {d:2} characters</td>"},
	{"code", "-H 'Authorization: AWS4-HMAC-SHA256 Credential=$ID'"},
	{"prose", "The password is\nhashed with bcrypt {d:2} before it is stored."},
	{"prose", "SHA256 is the password hashing function, user{d:1} is the password owner."},
	{"prose", "password\naddress{d:1}\naddress{d:1}\n"},
	{"prose", "API key\nCreate one at https://console.acme.io/keys/{d:5}\n"},
	{"prose", "密钥：见 1Password 第{d:1}页。令牌：有效期{d:2}天。"},
	{"prose", "jeton : valable {d:2}h, clé API : voir le coffre {d:1}"},
	{"code", "docker login -u kim --password-stdin registry.acme.io"},
	{"code", "read -s -p 'Password: ' password"},
	{"code", `fmt.Print("Password: ")`},
	{"code", "raise ValueError(\"password too short: \" + str(len(password)))"},
	{"code", "psql postgres://localhost:5432/shop?sslmode=disable"},
	{"code", "DATABASE_URL=postgres://user:password@localhost:5432/db"},
	{"code", "postgres://${DB_USER}:${DB_PASS}@${DB_HOST}/shop"},
	{"code", "mongodb://<username>:<password>@host:27017/"},
	{"code", "https://github.com/acme/x.git@v1.{d:1}.0"},
	{"code", "token = lexer.next_token()\nif token.type == Token.IDENT:"},
	{"code", "secret := base64.StdEncoding.EncodeToString(key[:])"},
	{"code", "api_key = settings.api_key.get_secret_value()"},
	{"code", "key = f\"user:{user_id}:{session}\""},
	{"code", "cache_key = \"v2:users:{a:6}:list\""},
	{"code", "for key, value in sorted(items.items()):"},
	{"code", "SELECT password_hash, token_id FROM users WHERE id = $1;"},
	{"code", "CREATE USER app IDENTIFIED BY :password;"},
	{"code", "ALTER ROLE app WITH PASSWORD :'app_password';"},
	{"code", "GRANT SELECT (password) ON users TO app;"},
	{"code", "--- PASS: TestPassword{d:2} (0.03s)"},
	{"code", "pass: 12, fail: 3, skip: 1 (4m32s)"},
	{"code", "passwordPlaceholder=\"Enter your password\" passwordMinLength=12"},
	{"code", "@pytest.mark.parametrize(\"password\", [\"\", \"a\", None])"},
	{"code", "export default { token: 'colors.primary.500', key: 'theme-dark' }"},
	{"code", "!function(e,t){t.token=e.token;var n=t.key||e.secretKey;n&&r(n)}(this,a)"},
	{"code", "var a=e.password,b=e.passwordConfirm;a!==b&&(t.error=\"password-mismatch-{d:2}\")"},
	{"code", "i18n: { password_reset_title: 'Reset password', login_password_hint_v2: 'Hint' }"},
	{"code", "PASSWORD_HASHERS = ['django.contrib.auth.hashers.Argon2PasswordHasher']"},
	{"code", "SECRET_KEY = env('DJANGO_SECRET_KEY')"},
	{"code", "passwd: files systemd\nshadow: files\nhosts: files dns"},
	{"code", "root:x:0:0:root:/root:/bin/bash\nkim:x:1000:1000::/home/kim:/bin/zsh"},
	{"code", "PasswordAuthentication no\nPermitRootLogin prohibit-password"},

	// Lock files, hashes, IDs
	{"lock file", "      \"resolved\": \"https://registry.npmjs.org/{a:6}/-/{a:6}-4.1.2.tgz\",\n      \"integrity\": \"sha512-{b64:86}==\""},
	{"lock file", "github.com/{a:6}/{a:5} v1.4.2 h1:{b64:43}=\ngithub.com/{a:6}/{a:5} v1.4.2/go.mod h1:{b64:43}="},
	{"lock file", "[[package]]\nname = \"{a:7}\"\nversion = \"0.4.1\"\nchecksum = \"{hex:64}\""},
	{"lock file", "    {file = \"{a:6}-1.0-py3-none-any.whl\", hash = \"sha256:{hex:64}\"},"},
	{"lock file", "  resolved \"https://registry.yarnpkg.com/{a:5}/-/{a:5}-1.1.0.tgz#{hex:40}\""},
	{"lock file", "  /token-types@4.2.1:\n    resolution: {integrity: sha512-{b64:86}==}"},
	{"lock file", "keyring==24.3.0 \\\n    --hash=sha256:{hex:64} \\\n    --hash=sha256:{hex:64}"},
	{"lock file", "            \"reference\": \"{hex:40}\",\n            \"shasum\": \"{hex:40}\""},
	{"lock file", "  secrets-manager (1.2.{d:1})\n  jwt (2.7.{d:1})\n"},
	{"hash", "commit {hex:40}\nAuthor: Kim <kim@acme.io>"},
	{"hash", "fixed in {hex:7}, reverted in {hex:12}"},
	{"hash", "{hex:64}  password-manager_1.2.3_amd64.deb"},
	{"hash", "image: ghcr.io/acme/api@sha256:{hex:64}"},
	{"hash", "ETag: \"{hex:32}\"\nContent-MD5: {b64:22}=="},
	{"hash", "sha1: {hex:40}\nmd5: {hex:32}\nsha256 = {hex:64}"},
	{"hash", "key fingerprint: SHA256:{b64:43}"},
	{"hash", "gpg key fingerprint {HEX:4} {HEX:4} {HEX:4} {HEX:4} {HEX:4}  {HEX:4} {HEX:4} {HEX:4} {HEX:4} {HEX:4}"},
	{"hash", "cache key: linux-go-{hex:64}"},
	{"hash", "actions/cache: restored from key Linux-node-{hex:64}"},
	{"hash", "  key: deps-{{ checksum \"go.sum\" }}-{hex:40}"},
	{"ID", "user {uuid} has the role admin"},
	{"ID", "session {uuid}, trace {hex:32}, span {hex:16}"},
	{"ID", "request-id: {uuid}; trace_id={hex:32} span_id={hex:16}"},
	{"ID", "key_id: {uuid}\ntoken_id: {d:8}"},
	{"ID", "arn:aws:kms:eu-central-1:{d:12}:key/{uuid}"},
	{"ID", "arn:aws:iam::{d:12}:role/deploy-{a:6}"},
	{"ID", "cus_{b62:14} paid with pm_1{b62:23}, see pi_3{b62:23}"},
	{"ID", "https://docs.google.com/document/d/1{w:43}/edit"},
	{"ID", "https://www.figma.com/file/{b62:22}/Design?node-id=12-{d:3}"},
	{"ID", "https://www.youtube.com/watch?v={w:11}"},
	{"ID", "https://linear.app/acme/issue/KEY-{d:3}/rotate-tokens"},
	{"ID", "channel C0{U:9}, user U0{U:9}, team T0{U:9}"},
	{"ID", "01J{U:23}"},
	{"ID", "pod token-refresher-{l:9}-{l:5} restarted"},
	{"ID", "Message-ID: <{b62:20}.{b62:16}@mail.acme.io>"},
	{"ID", "G-{U:10} UA-{d:8}-1 GTM-{U:7}"},
	{"ID", "AWS account {d:12}, VPC vpc-0{hex:16}, AMI ami-0{hex:16}"},
	{"ID", "ISBN 978-3-16-148410-0, DOI 10.1000/xyz{d:3}"},
	{"ID", "pk_live_{b62:24} is the publishable key"},
	{"ID", "ethereum address 0x{hex:40}"},
	{"ID", "nonce=\"{b64:22}==\" in the Content-Security-Policy"},
	{"ID", "tenant {uuid}, client id {uuid}"},

	// Public keys and certificates
	{"public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43} kim@laptop"},
	{"public key", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b64:330}= kim@laptop"},
	{"public key", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE{b64:28}\n{b64:57}==\n-----END PUBLIC KEY-----"},
	{"public key", "-----BEGIN CERTIFICATE-----\nMIIC{b64:60}\n{b64:64}\n{b64:64}\n{b64:20}==\n-----END CERTIFICATE-----"},
	{"public key", "age1{l:58} is the recipient"},
	{"public key", "PublicKey = {b64:43}=\nAllowedIPs = 10.0.0.2/32"},
	{"public key", "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{b64:200}"},
	{"public key", "nas ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b64:43}"},
	{"public key", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINB{b64:59}\n{b64:64}\n-----END PGP PUBLIC KEY BLOCK-----"},

	// Images, badges, minified code
	{"badge", "[![CI](https://github.com/acme/token-service/actions/workflows/ci.yml/badge.svg?branch=main)](https://github.com/acme/token-service/actions)"},
	{"badge", "[![codecov](https://codecov.io/gh/acme/api/branch/main/graph/badge.svg?token={U:10})](https://codecov.io/gh/acme/api)"},
	{"badge", "![version](https://img.shields.io/npm/v/@acme/key-store?color=%23{hex:6}&label=key)"},
	{"badge", "[![Quality](https://sonarcloud.io/api/project_badges/measure?project=acme_auth-token&metric=alert_status)](https://sonarcloud.io)"},
	{"base64 image", "![logo](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b64:1600}==)"},
	{"base64 image", "<img src=\"data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ{b64:2400}\">"},
	{"base64 image", "url(data:font/woff2;base64,d09GMgABAAAAA{b64:1800}) format('woff2')"},
	{"base64 image", "data:image/svg+xml;base64,PHN2ZyB4bWxucz0i{b64:600}="},
	{"base64 image", "\"sourcesContent\":null,\"mappings\":\"AAAA,SAASA,{b62:3},{b62:4};AACA,{b62:300}\""},
	{"hex dump", "00000010  {hex:2} {hex:2} {hex:2} {hex:2} {hex:2} {hex:2} {hex:2} {hex:2}  |.%.8.k..|"},
	{"hex dump", "color: #{hex:6}; background: #{hex:6}; key-color: #{hex:8}"},

	// Configuration with placeholders
	{"placeholder", "API_KEY=your-api-key-here\nTOKEN=<your token>\nSECRET=changeme"},
	{"placeholder", "password: ********\ntoken: xxxxxxxxxxxxxxxxxxxx"},
	{"placeholder", "ANTHROPIC_API_KEY=sk-ant-api03-...\nOPENAI_API_KEY=sk-..."},
	{"placeholder", "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
	{"placeholder", "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE"},
	{"placeholder", "aws_secret_access_key = <YOUR_SECRET>"},
	{"placeholder", "DB_PASSWORD=\nDB_USER=app\nREDIS_PASSWORD=null"},
	{"placeholder", "password = \"[REDACTED]\"\npassword: (hidden)\npassword: n/a"},
	{"placeholder", "password: <password>\npassword: {password}\npassword: %s\npassword: $1"},
	{"placeholder", "token: \"${GITHUB_TOKEN}\"\nsecret: $SECRET_KEY\nkey: !Ref ApiKey"},
	{"placeholder", "SLACK_BOT_TOKEN=xoxb-your-token\nSTRIPE_KEY=sk_test_..."},
	{"placeholder", "url: https://user:pass@host/path"},
	{"placeholder", "Password: ask the admin\nPassphrase: none\nPIN: 0000"},
	{"placeholder", "password: \"\"\npassword: ''\npassword: null\npassword: true\npassword: optional"},
	{"placeholder", "Passwort: DeinPasswort\nmot de passe : VOTRE_MOT_DE_PASSE\ncontraseña: TU_CONTRASEÑA"},
	{"placeholder", "密码：<你的密码>\nパスワード：（あなたのパスワード）\n비밀번호: <비밀번호>"},
	{"placeholder", "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----"},
	{"placeholder", "max_tokens: 4096\ntoken_limit=200000\ntokens: 1284{d:2}"},
	{"placeholder", "secretName: api-tls\nsecret: file:///run/secrets/db_password"},
	{"placeholder", "token_url: https://auth.acme.io/oauth2/v2.0/token\nkey_file: /etc/ssl/private/key.pem"},
	{"placeholder", "auth_type: password\nkeyFrom: vault:kv/data/prod#db-password"},
	{"placeholder", "password: op://Private/nas/password\nsecret: arn:aws:secretsmanager:eu-west-1:{d:12}:secret:db-{b62:6}"},
}

// Harmless returns texts without secrets: n of each of many forms.
func Harmless(seed uint64, n int) []Note {
	m := newMaker(seed)
	var notes []Note
	for _, h := range harmlessTexts {
		for i := range n {
			text := m.fillKnown(h.pattern)
			switch i % 4 {
			case 1:
				text = m.lead() + "- " + text + "\n"
			case 2:
				text = "```\n" + text + "\n```\n"
			case 3:
				text = m.lead() + text + "\n" + m.fillKnown(pick(m, harmlessTexts).pattern) + "\n"
			}
			notes = append(notes, Note{Kind: h.kind, Text: text})
		}
	}
	return notes
}

// fillKnown is fill for patterns with braces that are no fields.
func (m maker) fillKnown(pattern string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(pattern, '{')
		if i < 0 {
			return b.String() + pattern
		}
		b.WriteString(pattern[:i])
		pattern = pattern[i:]
		name, _, _ := strings.Cut(pattern[1:], ":")
		end := strings.IndexByte(pattern, '}')
		if end > 0 && (strings.HasPrefix(pattern, "{uuid}") || alphabets[name] != "" && len(name) < end) {
			b.WriteString(m.fill(pattern[:end+1]))
			pattern = pattern[end+1:]
			continue
		}
		b.WriteByte('{')
		pattern = pattern[1:]
	}
}
