package server

import (
	"net"
	"net/netip"
	"net/url"
	"time"

	"memento"
)

// A Config says how to run a server. [Load] and [Default] make one; the zero
// value of a field is not its default. docs/configuration.md has the meaning of
// each field, under the names that [Settings] gives them.
type Config struct {
	Backend    string     // URL; for whoever opens it
	Encryption Encryption // likewise

	Address     string // host:port
	TLS         TLS
	Hosts       []string // accepted in the header Host; none: see apiHosts
	Origins     []string // accepted in the header Origin
	StrictBetas bool
	RedactRole  memento.Role // that erasing versions needs

	MaxBody       int64 // bytes
	MaxImport     int64 // bytes
	MaxConcurrent int
	MemoryBudget  int64 // bytes; 0 for as much as the memory there is allows
	Timeout       time.Duration
	Rate          Rate

	Metrics string // host:port; "" for no listener
	Pprof   string // host:port of this machine; "" for no listener
	Log     Log
	Traces  Traces

	Shutdown    Shutdown
	Maintenance Maintenance
	OIDC        OIDC
	Tool        Tool
	Webhooks    []Webhook

	origins map[string]origin // of the settings that were given, by key
}

// Encryption is how what is kept is encrypted.
type Encryption struct {
	KeysFile string // "" for none, or for keys from the environment
	Names    bool   // of memories, too, in new stores
}

// TLS names the files of the certificate; without them the server speaks plain HTTP.
type TLS struct {
	CertFile string // PEM, the certificate first, then those that lead to its authority
	KeyFile  string // PEM
}

// Rate is what one key may ask for; 0 is without limit.
type Rate struct {
	Reads, Writes float64 // requests a minute
	Burst         int     // requests at once; 0 for what comes in ten seconds, at least 10
}

// Log is how the log is written.
type Log struct {
	Format string // "text" or "json"
	Level  string // "debug", "info", "warn" or "error"
}

// Traces is where traces go.
type Traces struct {
	Endpoint string // URL of an OTLP/HTTP receiver; "" for that of the standard variables, if any
}

// Shutdown is how the server ends.
type Shutdown struct {
	Delay time.Duration // from not being ready to accepting nothing new
	Grace time.Duration // for requests under way
}

// Maintenance is how often stores do what their settings ask for as time goes by.
type Maintenance struct {
	Interval time.Duration // 0 for never
	Share    int           // the most of a store's memories, or versions, in percent, that goes in a run without a word
}

// OIDC is who may come with tokens of an identity provider.
type OIDC struct {
	Issuer         string // URL; "" for nobody
	Audience       string
	WorkspaceClaim string // "" if all are in the default workspace
	RoleClaim      string // "" if all have the default role
	DefaultRole    memento.Role
}

// Tool is how the memory tool answers.
type Tool struct {
	ViewChars        int
	ViewEntries      int
	CreateOverwrites bool
}

// Default returns the configuration of a server of which nothing was set.
func Default() Config {
	var c Config
	for _, s := range Settings() {
		if s.set != nil {
			_ = s.set(&c, s.Default) // defaults parse: TestDefaults
		}
	}
	return c
}

// isLoopback reports whether what listens at an address, host:port, can only be
// reached from this machine.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Exposed reports whether others than programs on this machine can reach the
// server, and what they say would cross the network in the clear.
func (c *Config) Exposed() bool { return !isLoopback(c.Address) && c.TLS.CertFile == "" }

// apiHosts are the names that requests may address. A server that only this
// machine can reach has its names by default, so that a web page cannot reach it
// under a name of its own (DNS rebinding).
func (c *Config) apiHosts() []string {
	if len(c.Hosts) > 0 || !isLoopback(c.Address) {
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

// ShownBackend is the URL of the backend without what has no place in one: the user of
// a database stays, if there is no password.
func (c *Config) ShownBackend() string {
	if u, err := url.Parse(c.Backend); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		if _, secret := u.User.Password(); !secret {
			return c.Backend
		}
	}
	return withoutUser(c.Backend)
}
