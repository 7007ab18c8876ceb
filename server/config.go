package server

import (
	"net"
	"net/netip"
	"net/url"
	"time"

	"memento/backend/apikey"
	"memento/internal/httpmessage"
)

// Config is the configuration of a server. [Load] and [Default] make one; the zero
// value of a field is not its default. docs/configuration.md describes each field,
// under the name that [Settings] gives it.
type Config struct {
	Backend    string     // URL; the caller of [New] opens it
	Encryption Encryption // the caller of [New] applies it

	// FirstKeyFile is the file with the first API key: "" for the one of the address in the
	// user's data directory, NoFirstKey for none. The caller of [New] applies it.
	FirstKeyFile string

	Address     string // host:port
	TLS         TLS
	Hosts       []string // accepted in the header Host; if empty, see apiHosts
	Origins     []string // accepted in the header Origin
	StrictBetas bool
	Proxy       Proxy
	RedactRole  apikey.Role // the role needed to redact versions

	MaxBody       int64 // bytes
	MaxImport     int64 // bytes
	MaxConcurrent int
	MemoryBudget  int64 // bytes; 0: computed from the available memory
	Timeout       time.Duration
	Rate          Rate

	Metrics string // host:port; "" for no listener
	Pprof   string // host:port, of this machine only; "" for no listener
	Log     Log
	Traces  Traces

	Shutdown    Shutdown
	Maintenance Maintenance
	OIDC        OIDC
	Tool        Tool
	Gateway     Gateway
	MCP         MCP
	Console     bool // serve the web console
	Embeddings  Embeddings
	Webhooks    []Webhook

	origins map[string]origin // by setting key, only for settings that were given
}

// NoFirstKey is the FirstKeyFile with which no key is created.
const NoFirstKey = "none"

// Encryption configures the encryption of stored data.
type Encryption struct {
	KeysFile string // "" for no encryption, or for keys from the environment
	Names    bool   // also encrypt the names of memories in new stores
}

// TLS names the certificate's files. Without them the server speaks plain HTTP.
type TLS struct {
	CertFile string // PEM: the certificate first, then the intermediate ones
	KeyFile  string // PEM
}

// Proxy configures whose word is taken for the addresses of clients.
type Proxy struct {
	Header  string         // with the client's address; "": the address of the connection counts
	Trusted []netip.Prefix // the networks of the proxies
}

// Rate is the rate limit of one key; 0 means no limit.
type Rate struct {
	Reads, Writes float64 // requests a minute
	Burst         int     // requests at once; 0: as many as in ten seconds, at least 10
}

// Log configures the log.
type Log struct {
	Format string // "text" or "json"
	Level  string // "debug", "info", "warn" or "error"
}

// Traces configures the export of traces.
type Traces struct {
	Endpoint string // URL of an OTLP/HTTP receiver; "": from OpenTelemetry's environment variables, if set
}

// Shutdown configures the phases of a graceful shutdown.
type Shutdown struct {
	Delay time.Duration // how long the server still accepts requests after /readyz says that it is not ready
	Grace time.Duration // how long requests that have begun may take to finish
}

// Maintenance configures expiry and pruning.
type Maintenance struct {
	Interval time.Duration // between two runs; 0: no maintenance
	Share    int           // percent of a store's memories, or versions, that one run may remove without a confirmation
}

// OIDC configures authentication with tokens of an OpenID Connect issuer.
type OIDC struct {
	Issuer         string // URL; "": tokens are not accepted
	Audience       string
	WorkspaceClaim string // "": all tokens are for the default workspace
	RoleClaim      string // "": all tokens have the default role
	DefaultRole    apikey.Role

	ClientID         string // with which people sign in to the console; "": they do not
	ClientSecretFile string // "" for a public client
	Scopes           string // separated by spaces
}

// Tool configures the answers of the memory tool.
type Tool struct {
	ViewChars        int
	ViewEntries      int
	CreateOverwrites bool
	Search           bool   // views of /memories/.search/WORDS
	Profile          string // one of memento.ProfileNames
}

// Gateway configures the gateway for the Messages API; see package gateway.
type Gateway struct {
	URL           string   // of the upstream; "": no gateway
	KeyFile       string   // with the upstream's key, or a directory with a file for each workspace; "": callers send theirs
	Store         string   // of requests that select none; {key} is the ID of the key. "": they have no memory
	UserStores    bool     // a store for each metadata.user_id
	Mounts        []string // NAME=STORE or NAME=STORE:ro
	ZeroRetention bool     // keep nothing of conversations
	Emulate       []string // what the upstream cannot do: words of emulations
	MaxRounds     int
	MaxConcurrent int           // requests of a key at the same time; 0: no limit
	Tokens        int           // of a key per minute; 0: no limit
	Timeout       time.Duration // until the upstream begins to answer, and of its silence
}

// MCP configures the endpoint of the Model Context Protocol; see package mcpserver.
type MCP struct {
	Tools   string   // form of the commands: a mcpserver.ToolSet, or "off" for no endpoint
	Store   string   // of requests that name none; {key} is the ID of the key
	Mounts  []string // NAME=STORE or NAME=STORE:ro; {store} is the selected store
	History bool     // offer the history, and to restore versions
	URL     string   // of the server, as clients know it; "": as each request says
}

// Default returns the configuration without any setting given.
func Default() Config {
	var c Config
	for _, s := range Settings() {
		if s.set != nil {
			_ = s.set(&c, s.Default) // defaults are valid: TestDefaults
		}
	}
	return c
}

// isLocal reports whether what listens at an address, host:port, can only be reached from
// this machine.
func isLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && httpmessage.IsLoopback(host)
}

// Exposed reports whether other machines can reach the server without TLS, so that
// requests would cross the network unencrypted.
func (c *Config) Exposed() bool { return !isLocal(c.Address) && c.TLS.CertFile == "" }

// apiHosts returns the host names that requests may address. If only this machine can
// reach the server, these are by default the names of this machine, so that a web page
// cannot reach it under the page's own name (DNS rebinding).
func (c *Config) apiHosts() []string {
	if len(c.Hosts) > 0 || !isLocal(c.Address) {
		return c.Hosts
	}
	host, _, _ := net.SplitHostPort(c.Address)
	names := []string{"localhost", "127.0.0.1", "::1"}
	for _, n := range names {
		if n == host {
			return names
		}
	}
	return append(names, host)
}

// ShownBackend returns the backend's URL without credentials. The user of a database is
// kept if there is no password.
func (c *Config) ShownBackend() string {
	if u, err := url.Parse(c.Backend); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		if _, secret := u.User.Password(); !secret {
			return c.Backend
		}
	}
	return withoutUser(c.Backend)
}
