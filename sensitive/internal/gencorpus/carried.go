package gencorpus

import "strings"

// A carried secret has no format of its own: the command, the file or the name around it
// says what it is. In its place is {}.
type carried struct{ kind, text, pattern string }

var carriedSecrets = []carried{
	// Commands
	{"curl -u", "curl -u kim:{} https://api.acme.io/v1", "{b62:12}"},
	{"curl --user, quoted", "curl --user 'kim:{}' https://api.acme.io", "{b62:6}!{b62:5}"},
	{"mysql -p", "mysql -u root -p{} shop", "{b62:12}"},
	{"mysql --password", "mysqldump --password={} shop > x.sql", "{b62:10}"},
	{"redis-cli -a", "redis-cli -h cache -a {} ping", "{b62:16}"},
	{"sshpass -p", "sshpass -p '{}' ssh kim@nas", "{b62:12}"},
	{"docker login -p", "docker login -u kim -p {} registry.acme.io", "{b62:14}"},
	{"PGPASSWORD", "PGPASSWORD={} psql -h db -U app", "{b62:14}"},
	{"MYSQL_PWD", "export MYSQL_PWD={}", "{b62:14}"},
	{"openssl pass:", "openssl rsa -in k.pem -passin pass:{} -out o.pem", "{b62:12}"},
	{"echo to sudo", "echo '{}' | sudo -S reboot", "{b62:12}"},
	{"ldapsearch -w", "ldapsearch -D cn=admin,dc=acme -w {} -b dc=acme", "{b62:12}"},
	{"net use", `net use Z: \\nas\share /user:kim {}`, "{b62:6}!{b62:5}"},
	{"mongosh -p", "mongosh -u root -p {} --host db", "{b62:12}"},
	{"htpasswd -b", "htpasswd -b .htpasswd kim {}", "{b62:12}"},
	{"chpasswd", "echo 'kim:{}' | chpasswd", "{b62:12}"},
	{"--password option", "backup --user kim --password {} --to s3", "{b62:12}"},

	// Files
	{".pgpass", "db.acme.io:5432:shop:app:{}\n", "{b62:14}"},
	{".pgpass, wildcards", "*:*:*:postgres:{}\n", "{b62:14}"},
	{"name and value, YAML", "env:\n- name: DB_PASSWORD\n  value: {}\n", "{b62:14}"},
	{"name and value, JSON", `{"name": "DB_PASSWORD", "value": "{}"}`, "{b62:14}"},
	{"name and value, XML", `<property name="password" value="{}"/>`, "{b62:14}"},
	{"name and value, token", "env:\n- name: ACME_TOKEN\n  value: \"{}\"\n", "{b62:24}"},
	{"name and value, key", `{"name": "ACME_API_KEY", "value": "{}"}`, "{hex:40}"},
	{"XML resource", `<string name="password">{}</string>`, "{b62:14}"},
	{"JSON in a string, password", `{"body": "{\"user\":\"kim\",\"password\":\"{}\"}"}`, "{b62:14}"},
	{"JSON in a string, key", `{"body": "{\"api_key\": \"{}\"}"}`, "{b62:24}"},
	{"HTML table", "<tr><th>Password</th><td>{}</td></tr>", "{b62:14}"},
	{"HTML table, key", "<tr>\n<td>API key</td>\n<td>{}</td>\n</tr>", "{b62:24}"},
	{"HTML emphasis", "<p><b>Password:</b> <code>{}</code></p>", "{b62:14}"},
	{"wrapped line", "> The password for the staging server is\n> {}\n", "{b62:14}"},
	{"key below its name", "API key\n{}\n", "{b62:24}"},
	{"value before the name", "`{}` is the admin password of the NAS.", "{b62:12}!"},
	{"value as the password", "Log in as kim, with {} as the password.", "{b62:12}!"},
	{"Terraform variable", "variable \"db_password\" {\n  type    = string\n  default = \"{}\"\n}\n", "{b62:14}"},
	{"PowerShell", "$p = ConvertTo-SecureString '{}' -AsPlainText -Force", "{b62:14}"},
	{"PDO", "$db = new PDO('mysql:host=db;dbname=shop', 'app', '{}');", "{b62:14}"},
	{"mysqli", `$db = mysqli_connect("db", "app", "{}", "shop");`, "{b62:14}"},
	{"openssl -k", "openssl enc -aes-256-cbc -k {} -in a -out b", "{b62:14}"},
	{"requirepass", "requirepass {}\n", "{b62:14}"},
	{"enable secret", "enable secret 0 {}\n", "{b62:14}"},
	{"router user", "username admin privilege 15 password 0 {}\n", "{b62:14}"},
	{"SNMP community", "snmp-server community {} RO\n", "{b62:14}"},
	{"cookie by its name", "PHPSESSID={}", "{l:26}"},
	{"master.key", "config/master.key holds {}", "{hex:32}"},
	{"WLAN code with a name", "WIFI:S:Acme Guest;T:WPA;P:{};;", "{b62:12}"},
	{"key, German", "API-Schlüssel: {}", "{b62:24}"},
	{"key, French", "clé API : {}", "{b62:24}"},
	{"key, Chinese", "API密钥：{}。", "{b62:24}"},
	{"token, Chinese", "令牌是{}，请勿外传", "{b62:24}"},
	{"key, Japanese", "APIキーは{}です。", "{b62:24}"},
	{"token, Korean", "토큰: {}", "{b62:24}"},
	{"token, Russian", "Токен: {}", "{b62:24}"},
	{".netrc", "machine api.acme.io login kim password {}\n", "{b62:16}"},
	{".npmrc", "//registry.acme.io/:_authToken={}\n", "{uuid}"},
	{"Maven settings", "<server><id>x</id><username>kim</username><password>{}</password></server>", "{b62:12}"},
	{"wpa_supplicant", "network={\n  ssid=\"Fjord\"\n  psk=\"{}\"\n}\n", "{b62:12}"},
	{"Wi-Fi QR code", "WIFI:T:WPA;S:Fjord;P:{};;", "{b62:12}"},
	{"docker config", `{"auths":{"r.acme.io":{"auth":"{}"}}}`, "a2ltOn{b62:21}="},
	{"kubeconfig", "users:\n- user:\n    client-key-data: {}\n", "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tCk{b64:200}=="},
	{"PHP define", "define('DB_PASSWORD', '{}');", "{b62:14}"},
	{"Java property", "spring.datasource.password={}\n", "{b62:14}"},
	{"Ruby hash", "{ user: 'kim', :password => '{}' }", "{b62:14}"},
	{"SQL, identified by", "CREATE USER app IDENTIFIED BY '{}';", "{b62:14}"},
	{"SQL, with password", "ALTER ROLE app WITH PASSWORD '{}';", "{b62:14}"},
	{"JSON password", `{"user": "kim", "password": "{}"}`, "{b62:14}"},
	{"YAML password", "db:\n  user: app\n  password: {}\n", "{b62:14}"},
	{"Go struct", `cfg := Config{User: "app", Password: "{}"}`, "{b62:14}"},
	{"Python keyword", `connect(user="app", password="{}")`, "{b62:14}"},
	{"Terraform", `  master_password = "{}"`, "{b62:14}"},

	// Lists, and networks with a name
	{"list of passwords, first", "Passwords: alice: {}, bob: see the vault", "{a:3}{d:2}{b62:7}"},
	{"list of passwords, second", "Passwords: alice: changed, bob: {}", "{a:3}{d:2}{b62:7}"},
	{"list of PINs", "PINs: front: {}, back: open", "{d:5}"},
	{"network and key", "SSID Fjord, key: {}", "{a:3}{d:2}{b62:7}"},
	{"network and key, quoted", "Wi-Fi Fjord, key \"{}\"", "{a:3}{d:2}{b62:7}"},

	// Addresses
	{"PostgreSQL URL", "postgres://app:{}@db.acme.io:5432/shop", "{b62:14}"},
	{"MongoDB URL", "mongodb+srv://app:{}@c0.abcde.mongodb.net/shop", "{b62:14}"},
	{"Redis URL", "redis://:{}@cache.acme.io:6379/0", "{b62:16}"},
	{"AMQP URL", "amqps://svc:{}@mq.acme.io/vh", "{b62:16}"},
	{"HTTPS URL", "git clone https://kim:{}@git.acme.io/x.git", "{b62:16}"},
	{"JDBC URL", "jdbc:postgresql://db/shop?user=app&password={}&ssl=true", "{b62:14}"},
	{"ADO connection string", "Server=db;Database=shop;User Id=app;Password={};Encrypt=True", "{b62:14}"},
	{"DSN of libpq", "host=db user=app password={} dbname=shop", "{b62:14}"},
	{"MySQL DSN", "app:{}@tcp(db:3306)/shop", "{b62:14}"},
	{"SMTP URL", "smtps://no-reply%40acme.io:{}@smtp.acme.io:465", "{b62:14}"},

	// Random values after a name
	{"AWS secret access key", "aws_secret_access_key = {}\n", "{b64:40}"},
	{"TOKEN", "TOKEN={}\n", "{hex:40}"},
	{"MASTER_KEY", "MASTER_KEY={}\n", "{hex:32}"},
	{"RAILS_MASTER_KEY", "RAILS_MASTER_KEY={}\n", "{hex:32}"},
	{"SECRET_KEY_BASE", "SECRET_KEY_BASE={}\n", "{hex:128}"},
	{"APP_KEY", "APP_KEY=base64:{}\n", "{b64:43}="},
	{"APP_KEY, hex", "APP_KEY={}\n", "{hex:64}"},
	{"HMAC_KEY", "HMAC_KEY={}\n", "{hex:64}"},
	{"ENCRYPTION_KEY", "ENCRYPTION_KEY={}\n", "{hex:64}"},
	{"JWT_SECRET", "JWT_SECRET={}\n", "{b64:43}="},
	{"API_KEY", "API_KEY={}\n", "{hex:32}"},
	{"api key in prose", "the API key is {}, valid until May", "{b62:32}"},
	{"Datadog application key", "DD_APP_KEY={}\n", "{hex:40}"},
	{"Twilio client", "Client('AC7b0c5b1f0a4d4d0c9a3e1f2b3c4d5e6f', '{}')", "{hex:32}"},
	{"TWILIO_AUTH_TOKEN", "TWILIO_AUTH_TOKEN={}\n", "{hex:32}"},
	{"HEROKU_API_KEY", "HEROKU_API_KEY={}\n", "{uuid}"},
	{"session cookie", "Cookie: sessionid={}; theme=dark\n", "{l:32}"},
	{"set-cookie", "Set-Cookie: session={}; HttpOnly\n", "{w:60}"},
	{"Bearer", "Authorization: Bearer {}\n", "{b62:40}"},
	{"Basic", "Authorization: Basic {}\n", "a2ltOn{b62:21}="},
	{"X-Api-Key", `-H "X-Api-Key: {}"`, "{b62:40}"},
	{"query parameter", "https://api.acme.io/v1?api_key={}&page=2", "{b62:32}"},
	{"otpauth URL", "otpauth://totp/Acme:kim?secret={}&issuer=Acme", "{b32:32}"},
	{"TOTP seed in groups", "TOTP secret: {}\n", "{b32:4} {b32:4} {b32:4} {b32:4} {b32:4} {b32:4} {b32:4} {b32:4}"},
	{"2FA seed", "2FA seed: {}\n", "{b32:16}"},
	{"recovery codes", "Recovery codes:\n{}\n", "{l:5}-{l:5}\n{l:5}-{l:5}\n{l:5}-{l:5}"},
	{"Discord webhook", "https://discord.com/api/webhooks/1180000000000000001/{}", "{w:68}"},
	{"Sentry DSN", "https://{}@o4504.ingest.sentry.io/4505", "{hex:32}"},
}

// carriedEnds are put around a text with a carried secret.
var carriedEnds = []surrounding{
	{"alone", "{}"}, {"line", "{}\n"}, {"CRLF", "{}\r\n"}, {"code span", "`{}`"}, {"code block", "```\n{}\n```\n"}, {"list", "- {}\n- next"},
	{"quote", "> {}\n"}, {"parentheses", "({})"}, {"wide parentheses", "（{}）"}, {"CJK brackets", "「{}」"}, {"indented", "    {}\n"}, {"prose", "We ran {} and it worked"},
	{"table", "| x | {} |\n"}, {"HTML", "<code>{}</code>"},
}

// columnSecrets are below the name of a column that is aligned by spaces.
var columnSecrets = []carried{
	{"to the left", "name    password      age\nkim     {}  3d\nlee     none          5d\n", "{a:3}{d:2}{b62:7}"},
	{"to the right", "   user       password   age\n    kim   {}    3d\n  admin           none   12h\n", "{a:3}{d:2}{b62:7}"},
	{"to the right, beside a number", "  count        password\n     12    {}\n", "{a:3}{d:2}{b62:7}"},
	{"PIN to the right", "   PIN   door\n {}   front\n", "{d:5}"},
	{"Chinese", "用户      密码          城市\n金小姐    {}  上海\n", "{a:3}{d:2}{b62:7}"},
	{"Japanese", "名前        パスワード    備考\n鈴木一郎    {}  なし\n", "{a:3}{d:2}{b62:7}"},
	{"Korean", "이름     비밀번호      나이\n김철수   {}  31\n", "{a:3}{d:2}{b62:7}"},
}

// Columns returns n of each secret in a column, alone, in a block of code and below a text.
func Columns(seed uint64, n int) []Note {
	m := newMaker(seed)
	var notes []Note
	for _, c := range columnSecrets {
		for _, s := range []surrounding{{"alone", "{}"}, {"code block", "```\n{}```\n"}, {"below a text", "The accounts:\n\n{}"}, {"in CRLF", "{}"}} {
			for range n {
				text := s.around(c.text)
				if s.name == "in CRLF" {
					text = strings.ReplaceAll(text, "\n", "\r\n")
				}
				notes = append(notes, m.newNote(c.kind, s.name, text, m.fill(c.pattern)))
			}
		}
	}
	return notes
}

// Carried returns n of each secret that is recognized by what is around it, in each of a
// number of surroundings.
func Carried(seed uint64, n int) []Note {
	m := newMaker(seed)
	var notes []Note
	for _, c := range carriedSecrets {
		for _, s := range carriedEnds {
			for range n {
				notes = append(notes, m.newNote(c.kind, s.name, s.around(c.text), m.fill(c.pattern)))
			}
		}
	}
	return notes
}

// around returns text in the place of {}.
func (s surrounding) around(text string) string { return strings.Replace(s.text, "{}", text, 1) }
