package server

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/embedding"
)

// Setting is a row of the table of settings: one value that can be set by a flag, an
// environment variable or a line of the file.
type Setting struct {
	Key     string // in the file; a dot separates a mapping from a key in it
	Form    string // the type of the value, in one word
	Default string // in the form of the file; "" if there is none
	Unset   string // what applies without a value, for people; "" if Default says it
	Meaning string

	set  func(*Config, string) error // parses a value; nil if only the file can have the setting
	text func(*Config) string        // formats the value
	list bool                        // the value is a list, separated by commas

	words []string
	flag  string // "" if the name is derived from the key
}

// Flag returns the name of the setting's flag, without leading hyphens; "" if it has
// none.
func (s Setting) Flag() string {
	if s.set == nil || s.flag != "" {
		return s.flag
	}
	return strings.NewReplacer(".", "-", "_", "-").Replace(s.Key)
}

// Env returns the name of the setting's environment variable; "" if it has none.
func (s Setting) Env() string {
	if s.set == nil {
		return ""
	}
	return "MEMENTO_" + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// IsList reports whether the value is a list, separated by commas.
func (s Setting) IsList() bool { return s.list }

// Words returns the possible values; nil if they are not a short list.
func (s Setting) Words() []string { return slices.Clone(s.words) }

// Check returns an error if a value alone is not valid. [Config.Check] checks settings
// together.
func (s Setting) Check(value string) error {
	var c Config
	return s.set(&c, value)
}

// Settings returns the table. It is the single source of the flags, the environment
// variables, the keys of the file, and docs/configuration.md.
func Settings() []Setting {
	return []Setting{
		row("backend", "", anyText, func(c *Config) *string { return &c.Backend },
			"URL of the backend").unset("the SQLite file of the user"),
		row("encryption.keys_file", "", anyText, func(c *Config) *string { return &c.Encryption.KeysFile },
			"file with the encryption keys; alternatively, `MEMENTO_ENCRYPTION_KEYS` contains the keys themselves").unset("no encryption").flagged("encryption-keys"),
		row("encryption.names", "false", boolean, func(c *Config) *bool { return &c.Encryption.Names },
			"also encrypt the paths of memories, in new stores").flagged("encrypt-names"),

		row("first_key_file", "", anyText, func(c *Config) *string { return &c.FirstKeyFile },
			"file with the admin key of a backend that has no keys: read if it exists, else written; `none` creates no key").unset("a file for the address, in the data directory of the user"),

		row("address", "127.0.0.1:8377", address, func(c *Config) *string { return &c.Address },
			"address to listen on; port 0 selects a free port"),
		row("tls.cert_file", "", anyText, func(c *Config) *string { return &c.TLS.CertFile },
			"certificate chain in PEM; reloaded when it changes").unset("plain HTTP"),
		row("tls.key_file", "", anyText, func(c *Config) *string { return &c.TLS.KeyFile },
			"private key of the certificate, in PEM"),
		row("hosts", "", hosts, func(c *Config) *[]string { return &c.Hosts },
			"accepted names in the Host header, without port").unset("the names of this machine if `address` is a loopback address, else any"),
		row("origins", "", origins, func(c *Config) *[]string { return &c.Origins },
			"origins of web pages that may use the server, such as https://app.example").unset("its own origin"),
		row("proxy.header", "", headerName, func(c *Config) *string { return &c.Proxy.Header },
			"header in which proxies name the address of the client, such as `X-Forwarded-For`, for the log and the count of wrong keys").unset("the address of the connection"),
		row("proxy.trusted", "", networks, func(c *Config) *[]netip.Prefix { return &c.Proxy.Trusted },
			"addresses or networks of the proxies whose header is believed, such as 10.0.0.0/8").unset("none"),
		row("strict_betas", "false", boolean, func(c *Config) *bool { return &c.StrictBetas },
			"refuse requests that do not name the API's beta, and paths of more than 20 segments, as Anthropic does"),
		row("redact_role", "admin", word(apikey.RoleAdmin, apikey.RoleWrite), func(c *Config) *apikey.Role { return &c.RedactRole },
			"role required to redact versions: `admin`, or `write` as in the hosted service of Anthropic"),

		row("max_body", "4M", size, func(c *Config) *int64 { return &c.MaxBody },
			"maximum request size in bytes"),
		row("max_import", "256M", size, func(c *Config) *int64 { return &c.MaxImport },
			"maximum size in bytes of an imported archive or history"),
		row("max_concurrent", "256", whole(1), func(c *Config) *int { return &c.MaxConcurrent },
			"maximum number of concurrent requests; further requests must be retried"),
		row("memory_budget", "auto", autoSize, func(c *Config) *int64 { return &c.MemoryBudget },
			"maximum memory in bytes for all concurrent requests; `auto` depends on the memory of the machine or container"),
		row("timeout", "30s", duration(time.Millisecond), func(c *Config) *time.Duration { return &c.Timeout },
			"maximum time to receive a request, and to send each part of a response"),
		row("rate.reads", "0", number, func(c *Config) *float64 { return &c.Rate.Reads },
			"maximum reads per minute and key; 0 means no limit"),
		row("rate.writes", "0", number, func(c *Config) *float64 { return &c.Rate.Writes },
			"maximum writes per minute and key; 0 means no limit"),
		row("rate.burst", "0", whole(0), func(c *Config) *int { return &c.Rate.Burst },
			"maximum burst of requests per key; 0 means the requests of ten seconds, at least 10"),

		row("metrics", "127.0.0.1:8378", offAddress, func(c *Config) *string { return &c.Metrics },
			"address for Prometheus metrics, at /metrics; `off` disables them"),
		row("pprof", "off", offAddress, func(c *Config) *string { return &c.Pprof },
			"address for the Go profiler, a loopback address; `off` disables it"),
		row("log.format", "text", word[string]("text", "json"), func(c *Config) *string { return &c.Log.Format },
			"`text` or `json`"),
		row("log.level", "info", word[string]("debug", "info", "warn", "error"), func(c *Config) *string { return &c.Log.Level },
			"minimum log level: `debug`, `info`, `warn` or `error`"),
		row("traces.endpoint", "", anyText, func(c *Config) *string { return &c.Traces.Endpoint },
			"URL of an OTLP/HTTP receiver of traces").unset("that of `OTEL_EXPORTER_OTLP_ENDPOINT`, else no traces"),

		row("shutdown.delay", "0", duration(0), func(c *Config) *time.Duration { return &c.Shutdown.Delay },
			"delay before shutdown during which /readyz already fails, for load balancers"),
		row("shutdown.grace", "30s", duration(0), func(c *Config) *time.Duration { return &c.Shutdown.Grace },
			"maximum time for running requests to finish at shutdown"),
		row("maintenance.interval", "1h", duration(0), func(c *Config) *time.Duration { return &c.Maintenance.Interval },
			"interval of maintenance, which deletes expired memories and prunes history; 0 disables it"),
		row("maintenance.share", "25", percent, func(c *Config) *int { return &c.Maintenance.Share },
			"maximum share of the memories, and of the versions, of a store that one run may remove, in percent; 100 means no limit"),

		row("oidc.issuer", "", anyText, func(c *Config) *string { return &c.OIDC.Issuer },
			"URL of an OpenID Connect issuer whose tokens are accepted").unset("API keys only"),
		row("oidc.audience", "", anyText, func(c *Config) *string { return &c.OIDC.Audience },
			"required audience (`aud`) of tokens"),
		row("oidc.workspace_claim", "", anyText, func(c *Config) *string { return &c.OIDC.WorkspaceClaim },
			"claim with the workspace; tokens without it are rejected").unset("the workspace is `default`"),
		row("oidc.role_claim", "", anyText, func(c *Config) *string { return &c.OIDC.RoleClaim },
			"claim with the role, or with a list that contains it").unset("the default role"),
		row("oidc.default_role", "read", word(apikey.RoleRead, apikey.RoleWrite, apikey.RoleAdmin), func(c *Config) *apikey.Role { return &c.OIDC.DefaultRole },
			"role of tokens without the role claim: `read`, `write` or `admin`"),
		row("oidc.client_id", "", anyText, func(c *Config) *string { return &c.OIDC.ClientID },
			"client ID with which people sign in to the console at the issuer; its ID tokens are accepted, too").unset("the console takes keys and links only"),
		row("oidc.client_secret_file", "", anyText, func(c *Config) *string { return &c.OIDC.ClientSecretFile },
			"file with the client's secret").unset("a public client, without a secret"),
		row("oidc.scopes", "openid profile", anyText, func(c *Config) *string { return &c.OIDC.Scopes },
			"scopes that the console asks for, separated by spaces; `openid` is one of them"),

		row("tool.view_chars", "16000", whole(1), func(c *Config) *int { return &c.Tool.ViewChars },
			"maximum number of characters of a file in one view of the memory tool"),
		row("tool.view_entries", "1000", whole(1), func(c *Config) *int { return &c.Tool.ViewEntries },
			"maximum number of entries of a directory in one view"),
		row("tool.create_overwrites", "false", boolean, func(c *Config) *bool { return &c.Tool.CreateOverwrites },
			"let the create command of the tool replace existing files"),
		row("tool.search", "false", boolean, func(c *Config) *bool { return &c.Tool.Search },
			"let agents search: a view of `/memories/.search/WORDS` shows the passages that match best"),
		row("tool.profile", memento.ProfileDocumentation, word(memento.ProfileNames()...), func(c *Config) *string { return &c.Tool.Profile },
			"texts of the tool's answers: those of its documentation (`documentation`), or of the SDKs' local tools (`typescript`, `python`)"),

		row("embeddings.url", "", anyText, func(c *Config) *string { return &c.Embeddings.URL },
			"URL of a service that embeds texts, such as http://127.0.0.1:11434: searches also find by meaning, and what they search is sent there; see docs/search.md").unset("search by words alone"),
		row("embeddings.api", string(embedding.OpenAI), word(embedding.APIs()...), func(c *Config) *embedding.API { return &c.Embeddings.API },
			"form of the requests to it: `openai`, which many services and programs understand, `voyage` or `ollama`"),
		row("embeddings.model", "", anyText, func(c *Config) *string { return &c.Embeddings.Model },
			"name of the model; another model makes all vectors again").unset("required with `embeddings.url`"),
		row("embeddings.dimensions", "0", whole(0), func(c *Config) *int { return &c.Embeddings.Dimensions },
			"number of dimensions to ask the service for; 0 means the model's own"),
		row("embeddings.key_file", "", anyText, func(c *Config) *string { return &c.Embeddings.KeyFile },
			"file with the API key of the service; alternatively, `MEMENTO_EMBEDDINGS_KEY` contains the key itself").unset("no key"),

		row("gateway.url", "", anyText, func(c *Config) *string { return &c.Gateway.URL },
			"URL of an upstream with the Messages API, such as https://api.anthropic.com: the server also is a gateway for it, which executes the memory tool; see docs/gateway.md").unset("no gateway").flagged("gateway"),
		row("gateway.key_file", "", anyText, func(c *Config) *string { return &c.Gateway.KeyFile },
			"file with the API key for the upstream, or a directory with one file for each workspace, named like it").unset("callers send their own"),
		row("gateway.store", "default", anyText, func(c *Config) *string { return &c.Gateway.Store },
			"store of requests to the gateway that name none; `{key}` in it is replaced by the ID of the API key, and `none` means no memory"),
		row("gateway.user_stores", "true", boolean, func(c *Config) *bool { return &c.Gateway.UserStores },
			"use a store for each `metadata.user_id` of requests to the gateway"),
		row("gateway.mounts", "", mounts, func(c *Config) *[]string { return &c.Gateway.Mounts },
			"directories of `/memories` in the gateway, each `NAME=STORE` or `NAME=STORE:ro` for read-only; `{store}` is the selected store").unset("the selected store is `/memories`"),
		row("gateway.zero_retention", "false", boolean, func(c *Config) *bool { return &c.Gateway.ZeroRetention },
			"keep nothing of conversations through the gateway, not even sealed; later requests then lack the memory calls of earlier ones"),
		row("gateway.emulate", "", emulations, func(c *Config) *[]string { return &c.Gateway.Emulate },
			"what the gateway does because the upstream cannot: `memory` declares the memory tool as an ordinary one, `context-editing` clears old tool results and thinking, `compaction` summarizes long conversations").unset("nothing").flagged("emulate"),
		row("gateway.max_rounds", "20", whole(2), func(c *Config) *int { return &c.Gateway.MaxRounds },
			"maximum number of requests to the upstream for one request to the gateway, at least 2"),
		row("gateway.max_concurrent", "0", whole(0), func(c *Config) *int { return &c.Gateway.MaxConcurrent },
			"maximum number of concurrent requests to the gateway per key, streams included; 0 means no limit"),
		row("gateway.tokens", "0", whole(0), func(c *Config) *int { return &c.Gateway.Tokens },
			"maximum number of tokens per key and minute that messages take of the upstream, not counting those read from the prompt cache; 0 means no limit"),
		row("gateway.timeout", "10m", duration(time.Second), func(c *Config) *time.Duration { return &c.Gateway.Timeout },
			"maximum silence of the upstream"),

		row("console", "true", boolean, func(c *Config) *bool { return &c.Console },
			"serve the web console at /console; see docs/console.md"),

		row("mcp.tools", "one", word("one", "six", mcpOff), func(c *Config) *string { return &c.MCP.Tools },
			"form of the memory commands for clients of the Model Context Protocol, at /mcp: `one` is the tool memory, `six` a tool for each command, `off` disables the endpoint; see docs/mcp.md"),
		row("mcp.store", "default", anyText, func(c *Config) *string { return &c.MCP.Store },
			"store of clients at /mcp that name none; `{key}` in it is replaced by the ID of the API key"),
		row("mcp.mounts", "", mounts, func(c *Config) *[]string { return &c.MCP.Mounts },
			"directories of `/memories` at /mcp, each `NAME=STORE` or `NAME=STORE:ro` for read-only; `{store}` is the selected store").unset("the selected store is `/memories`"),
		row("mcp.history", "false", boolean, func(c *Config) *bool { return &c.MCP.History },
			"offer clients at /mcp the history, and to restore versions"),
		row("mcp.url", "", anyText, func(c *Config) *string { return &c.MCP.URL },
			"URL of this server as clients know it, without a path, such as https://memory.example.com; needed for OpenID Connect behind a proxy").unset("the address that each request names"),

		{Key: "webhooks", Form: "list", Meaning: "endpoints that are notified of created, archived and deleted stores; see below", Unset: "none"},
	}
}

// row returns a row of the table. place returns the field that has the value.
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

// flagged sets the name of the flag, for a setting whose flag all commands have.
func (s Setting) flagged(name string) Setting {
	s.flag = name
	return s
}

func (s Setting) unset(what string) Setting {
	s.Unset = what
	return s
}
