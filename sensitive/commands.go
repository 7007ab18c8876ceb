package sensitive

import "strings"

// argument is a value of a command, with or without quotation marks.
const argument = `("[^"\n]{4,}"|'[^'\n]{4,}'|[^\s"'` + "`" + `|;&<>]{4,})`

// Arguments of calls in programs: the string that is the password, and one before it.
const (
	quotedArgument = `("[^"\n]{4,}"|'[^'\n]{4,}')`
	otherArgument  = `(?:"[^"\n]*"|'[^'\n]*'|[\w$.>-]+)[ \t]*,[ \t]*`
)

// commands take a password as an argument. The pattern is what stands between the name of
// the command and the password.
var commands = []struct {
	names   []string
	pattern string
}{
	{[]string{"mysql", "mariadb"}, `(?:mysql|mariadb)[\w-]*(?:[ \t][^\n|;]*?)?[ \t]-p` + argument},
	{[]string{"redis-cli", "valkey-cli"}, `(?:redis|valkey)-cli(?:[ \t][^\n|;]*?)?[ \t](?:-a|--pass)[ \t]+` + argument},
	{[]string{"docker login", "podman login", "registry login", "nerdctl login", "az login", "cf login", "oc login"}, `login(?:[ \t][^\n|;]*?)?[ \t]-p[ \t]+` + argument},
	{[]string{"mongo"}, `mongo(?:sh|dump|restore|export|import)?(?:[ \t][^\n|;]*?)?[ \t]-p[ \t]*` + argument},
	{[]string{"ldap"}, `ldap(?:search|modify|add|delete|whoami|passwd)(?:[ \t][^\n|;]*?)?[ \t]-w[ \t]*` + argument},
	{[]string{"net use"}, `(?i)net use[ \t][^\n|;]*?/user:\S+[ \t]+` + argument},
	{[]string{"net user"}, `(?i)net user[ \t]+[\w.-]+[ \t]+` + argument},
	{[]string{"chpasswd"}, `echo[ \t]+(?:-n[ \t]+)?["']?[\w.-]+:([^\s"']{4,})["']?[ \t]*\|[ \t]*(?:sudo[ \t]+)?chpasswd`},
	{[]string{"htpasswd"}, `htpasswd[ \t]+-\w*b\w*[ \t]+\S+[ \t]+[\w.@-]+[ \t]+` + argument},
	{[]string{"htpasswd"}, `htpasswd[ \t]+-\w*n\w*b\w*[ \t]+[\w.@-]+[ \t]+` + argument},
	{[]string{"pass:"}, `-(?:passin|passout|password|pass|k)[ \t]+["']?pass:` + argument},
	{[]string{"identified by"}, `(?i)identified by (?:password )?` + quotedArgument},
	{[]string{"wifi:"}, `(?i)WIFI:(?:[A-OQ-Z]:[^;\n]*;)*P:((?:\\.|[^;\s\\]){4,});`},
	{[]string{":*:", ":5432:", ":5433:", ":5434:", ":5435:", ":5439:", ":6432:", ":6543:", ":15432:", ":25060:", ":25061:", ":26257:", ":54322:"}, `[\w.*/-]+:(?:\d{2,5}|\*):[\w.*-]+:[\w.*@-]+:([^\s:"'<>` + "`" + `]{4,})`}, // .pgpass
	{[]string{"sqlcmd", "ipmitool"}, `(?:sqlcmd|ipmitool)(?:[ \t][^\n|;]*?)?[ \t]-P[ \t]*` + argument},
	{[]string{"sqlplus"}, `sqlplus[ \t]+(?:-\w+[ \t]+)*[\w.-]+/([^\s"'@/]{4,})@`},
	{[]string{"smbclient", "mount.cifs", "rpcclient"}, `(?:smbclient|mount\.cifs|rpcclient)(?:[ \t][^\n|;]*?)?[ \t]-U[ \t]*["']?[\w.\\/-]+%([^\s"']{4,})`},
	{[]string{"xfreerdp", "cmdkey"}, `(?:xfreerdp|cmdkey)(?:[ \t][^\n|;]*?)?[ \t]/p(?:ass)?:` + argument},
	{[]string{"-storepass", "-keypass"}, `-(?:store|key)pass[ \t]+` + argument},
	{[]string{"requirepass", "masterauth"}, `(?:requirepass|masterauth)[ \t]+` + argument},
	{[]string{"enable secret", "enable password"}, `enable (?:secret|password)[ \t]+(?:\d[ \t]+)?` + argument},
	{[]string{"password 0 ", "password 7 ", "secret 0 ", "secret 5 ", "secret 8 ", "secret 9 "}, `username \S+ (?:privilege \d+ )?(?:password|secret) \d[ \t]+` + argument},
	{[]string{"snmp-server community"}, `snmp-server community[ \t]+` + argument},
	{[]string{"openssl"}, `openssl(?:[ \t][^\n|;]*?)?[ \t]-k[ \t]+` + argument},
	{[]string{"convertto-securestring"}, `(?i)convertto-securestring[ \t]+(?:-\w+[ \t]+)*` + quotedArgument},
	{[]string{"new pdo("}, `(?i)new pdo\([ \t]*` + otherArgument + otherArgument + quotedArgument},
	{[]string{"mysqli_connect(", "mysqli(", "mysql_connect("}, `(?i)(?:mysqli?_connect|mysqli)\([ \t]*` + otherArgument + otherArgument + quotedArgument},
	{[]string{"wpa_passphrase"}, `wpa_passphrase[ \t]+("[^"\n]+"|\S+)[ \t]+` + argument},
	{[]string{"setx"}, `(?i)setx[ \t]+\w*(?:passw|pwd|secret|token|key)\w*[ \t]+` + argument},
	{[]string{"http -a", "https -a", "http --auth", "https --auth"}, `https?[ \t]+(?:-a|--auth)[= \t]+["']?[\w.@-]+:([^\s"']{4,})`}, // HTTPie
	{[]string{"jdbc:oracle:"}, `jdbc:oracle:\w+:[\w.-]+/([^\s"'@/]{4,})@`},
	{[]string{"/user:"}, `(?i)net use[ \t]+(?:\w:[ \t]+)?\\\\\S+[ \t]+` + argument + `[ \t]+/user:`},
	{[]string{"--password-stdin"}, `(?:echo|printf)[ \t]+(?:-n[ \t]+)?` + argument + `[ \t]*\|[^\n|]*--password-stdin`},
	{[]string{"lftp"}, `lftp(?:[ \t][^\n|;]*?)?[ \t]-u[ \t]+["']?[\w.@-]+,([^\s"']{4,})`},
}

// commandRules returns the rules for passwords that are arguments of commands, or that
// the form of a file or a statement makes known.
func commandRules() []*rule {
	var rules []*rule
	for _, c := range commands {
		r := &rule{kind: "password", keywords: c.names, pattern: c.pattern, reach: 250, refine: refineArgument, generic: true}
		if strings.HasPrefix(c.pattern, "wpa_passphrase") {
			r.group = 2
		}
		rules = append(rules, r)
	}
	return rules
}

// refineArgument accepts an argument that can be a password, without quotation marks.
func refineArgument(text string, s span) span {
	if q := text[s.start]; (q == '"' || q == '\'') && s.end-s.start > 2 && text[s.end-1] == q {
		s.start, s.end = s.start+1, s.end-1
	} else {
		s = cutAtMark(text, trimPassword(text, s))
	}
	found := text[s.start:s.end]
	if len(found) < 4 || isTrivial(found) || isCode(found) || strings.IndexByte("$-<%{:", found[0]) >= 0 || strings.Trim(found, "0123456789.:") == "" {
		return span{}
	}
	return s
}
