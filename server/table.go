package server

import (
	"slices"
	"strings"
	"time"

	"memento"
)

// A Setting is a row of the table of settings: one thing that can be set, by a
// flag, a variable of the environment or a line of the file.
type Setting struct {
	Key     string // in the file; a dot leads into a mapping
	Form    string // what a value looks like, in a word
	Default string // as it would be written; "" if there is none
	Unset   string // what holds without a value, for people; "" if Default says it
	Meaning string

	set  func(*Config, string) error // parses; nil for what only the file can have
	text func(*Config) string        // writes
	list bool                        // whether a value is several, separated by commas

	words []string
	flag  string // "" if it is as the key
}

// Flag returns the name of the setting's flag, without hyphens in front; "" if it
// has none.
func (s Setting) Flag() string {
	if s.set == nil || s.flag != "" {
		return s.flag
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

// Env returns the name of the setting's variable; "" if it has none.
func (s Setting) Env() string {
	if s.set == nil {
		return ""
	}
	return "MEMENTO_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// IsList reports whether a value is several, separated by commas.
func (s Setting) IsList() bool { return s.list }

// Words returns all values that there are; nil if they are too many to tell.
func (s Setting) Words() []string { return slices.Clone(s.words) }

// Check says what is wrong with a value, by itself.
func (s Setting) Check(value string) error {
	var c Config
	return s.set(&c, value)
}

// Settings returns the table. It is the single source of the flags, the
// variables, the file and docs/configuration.md.
func Settings() []Setting {
	return []Setting{
		row("backend", "", anyText, func(c *Config) *string { return &c.Backend },
			"where memories are, as a URL").unset("the user's SQLite file"),
		row("encryption.keys_file", "", anyText, func(c *Config) *string { return &c.Encryption.KeysFile },
			"file with the keys that what is kept is encrypted with; the keys themselves can be in `MEMENTO_ENCRYPTION_KEYS`").unset("no encryption").flagged("encryption-keys"),
		row("encryption.names", "false", boolean, func(c *Config) *bool { return &c.Encryption.Names },
			"encrypt the names of memories, too, in stores that are made").flagged("encrypt-names"),

		row("address", "127.0.0.1:8377", address, func(c *Config) *string { return &c.Address },
			"where to listen; port 0 takes a free one"),
		row("tls.cert_file", "", anyText, func(c *Config) *string { return &c.TLS.CertFile },
			"certificate in PEM, with those that lead to its authority; read again when it changes").unset("plain HTTP"),
		row("tls.key_file", "", anyText, func(c *Config) *string { return &c.TLS.KeyFile },
			"private key of the certificate, in PEM"),
		row("hosts", "", hosts, func(c *Config) *[]string { return &c.Hosts },
			"names, without port, under which the server may be called").unset("those of this machine if `address` is one of them, else any"),
		row("origins", "", origins, func(c *Config) *[]string { return &c.Origins },
			"origins of web pages that may call the server, such as https://app.example").unset("its own"),
		row("strict_betas", "false", boolean, func(c *Config) *bool { return &c.StrictBetas },
			"refuse requests that do not name the API's beta, and paths of more than 20 segments, as Anthropic does"),
		row("redact_role", "admin", word(memento.RoleAdmin, memento.RoleWrite), func(c *Config) *memento.Role { return &c.RedactRole },
			"role that a key needs to erase the contents of versions: `admin`, or `write` as with Anthropic"),

		row("max_body", "4M", size, func(c *Config) *int64 { return &c.MaxBody },
			"the most bytes of a request"),
		row("max_import", "256M", size, func(c *Config) *int64 { return &c.MaxImport },
			"the most bytes of an archive or a history that is imported"),
		row("max_concurrent", "256", whole(1), func(c *Config) *int { return &c.MaxConcurrent },
			"the most requests under way; more are told to try again"),
		row("memory_budget", "auto", autoSize, func(c *Config) *int64 { return &c.MemoryBudget },
			"the most bytes of memory that all requests under way may take; `auto` is by the memory there is, that of a container included"),
		row("timeout", "30s", duration(time.Millisecond), func(c *Config) *time.Duration { return &c.Timeout },
			"for a request to arrive, and for each part of an answer to be taken"),
		row("rate.reads", "0", number, func(c *Config) *float64 { return &c.Rate.Reads },
			"reads a minute that one key may ask for; 0 is without limit"),
		row("rate.writes", "0", number, func(c *Config) *float64 { return &c.Rate.Writes },
			"writes a minute that one key may ask for; 0 is without limit"),
		row("rate.burst", "0", whole(0), func(c *Config) *int { return &c.Rate.Burst },
			"requests that one key may ask for at once; 0 is what comes in ten seconds, at least 10"),

		row("metrics", "127.0.0.1:8378", offAddress, func(c *Config) *string { return &c.Metrics },
			"where Prometheus finds metrics, under /metrics; `off` for nowhere"),
		row("pprof", "off", offAddress, func(c *Config) *string { return &c.Pprof },
			"where Go's profiler listens, on this machine only; `off` for nowhere"),
		row("log.format", "text", word[string]("text", "json"), func(c *Config) *string { return &c.Log.Format },
			"`text` or `json`"),
		row("log.level", "info", word[string]("debug", "info", "warn", "error"), func(c *Config) *string { return &c.Log.Level },
			"the least that is logged: `debug`, `info`, `warn` or `error`"),
		row("traces.endpoint", "", anyText, func(c *Config) *string { return &c.Traces.Endpoint },
			"URL of an OTLP/HTTP receiver of traces").unset("that of `OTEL_EXPORTER_OTLP_ENDPOINT`, else no traces"),

		row("shutdown.delay", "0", duration(0), func(c *Config) *time.Duration { return &c.Shutdown.Delay },
			"how long, once asked to end, to go on accepting while /readyz says no, for load balancers to notice"),
		row("shutdown.grace", "30s", duration(0), func(c *Config) *time.Duration { return &c.Shutdown.Grace },
			"how long requests under way may take to finish"),
		row("maintenance.interval", "1h", duration(0), func(c *Config) *time.Duration { return &c.Maintenance.Interval },
			"how often memories expire and history is collected, in every store; 0 for never"),
		row("maintenance.share", "25", percent, func(c *Config) *int { return &c.Maintenance.Share },
			"the most of a store's memories, and of its versions, in percent, that one run removes without a word; 100 is without limit"),

		row("oidc.issuer", "", anyText, func(c *Config) *string { return &c.OIDC.Issuer },
			"URL of an OpenID Connect issuer whose tokens are let in").unset("only API keys are"),
		row("oidc.audience", "", anyText, func(c *Config) *string { return &c.OIDC.Audience },
			"whom its tokens must be meant for"),
		row("oidc.workspace_claim", "", anyText, func(c *Config) *string { return &c.OIDC.WorkspaceClaim },
			"claim that names the workspace; a token without it is refused").unset("the workspace is `default`"),
		row("oidc.role_claim", "", anyText, func(c *Config) *string { return &c.OIDC.RoleClaim },
			"claim that has the role, or a list with it").unset("the default role"),
		row("oidc.default_role", "read", word(memento.RoleRead, memento.RoleWrite, memento.RoleAdmin), func(c *Config) *memento.Role { return &c.OIDC.DefaultRole },
			"role of a token without the claim: `read`, `write` or `admin`"),

		row("tool.view_chars", "16000", whole(1), func(c *Config) *int { return &c.Tool.ViewChars },
			"the most characters of a file that one view of the memory tool shows"),
		row("tool.view_entries", "1000", whole(1), func(c *Config) *int { return &c.Tool.ViewEntries },
			"the most entries of a directory that one view shows"),
		row("tool.create_overwrites", "false", boolean, func(c *Config) *bool { return &c.Tool.CreateOverwrites },
			"let the tool's create replace a file"),

		{Key: "webhooks", Form: "list", Meaning: "who is told of stores that are made, archived and deleted; see below", Unset: "nobody"},
	}
}

// row makes a row of the table from where its value is kept.
func row[T any](key, preset string, k kind[T], place func(*Config) *T, meaning string) Setting {
	return Setting{
		Key: key, Form: k.form, Default: preset, Meaning: meaning, list: k.list, words: k.words,
		set: func(c *Config, text string) error {
			v, err := k.parse(text)
			if err == nil {
				*place(c) = v
			}
			return err
		},
		text: func(c *Config) string { return k.format(*place(c)) },
	}
}

// flagged names the flag, of a setting whose flag is one of all commands.
func (s Setting) flagged(name string) Setting {
	s.flag = name
	return s
}

func (s Setting) unset(what string) Setting {
	s.Unset = what
	return s
}
