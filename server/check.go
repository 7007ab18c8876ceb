package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"memento/internal/httpmessage"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// Check validates a configuration. It reads the files that the configuration names. It
// does not check what only a start can show: whether addresses are free, whether the
// backend opens, and whether other servers can be reached. Certificates must be valid
// at the time now.
//
// Errors: ConfigErrors, with everything that is wrong.
func (c *Config) Check(now time.Time) error {
	var faults ConfigErrors
	add := func(key string, err error) {
		if err != nil {
			faults = append(faults, c.SettingError(key, "%v", err))
		}
	}
	if scheme, _, _ := strings.Cut(c.Backend, ":"); strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") {
		add("backend", errors.New("must be a storage backend, not another server"))
	}
	if file := c.Encryption.KeysFile; file != "" {
		if _, err := readBounded(file); err != nil {
			add("encryption.keys_file", errors.New("it cannot be read: "+cause(err)))
		}
	}
	faults = append(faults, c.checkTLS(now)...)
	if c.Metrics != "" && c.Metrics == c.Address && !strings.HasSuffix(c.Address, ":0") {
		add("metrics", errors.New("must differ from the server's own address"))
	}
	if c.Pprof != "" {
		switch {
		case !isLocal(c.Pprof):
			add("pprof", errors.New("must be a loopback address, such as 127.0.0.1:6060: a profile shows what is in memory"))
		case (c.Pprof == c.Address || c.Pprof == c.Metrics) && !strings.HasSuffix(c.Pprof, ":0"):
			add("pprof", errors.New("must be an address of its own"))
		}
	}
	switch {
	case c.Proxy.Header != "" && len(c.Proxy.Trusted) == 0:
		add("proxy.header", errors.New("requires proxy.trusted: anyone could write the header"))
	case c.Proxy.Header == "" && len(c.Proxy.Trusted) > 0:
		add("proxy.trusted", errors.New("requires proxy.header"))
	}
	if c.Traces.Endpoint != "" {
		add("traces.endpoint", checkURL(c.Traces.Endpoint, "http://127.0.0.1:4318", false))
	}
	if c.MCP.URL != "" {
		add("mcp.url", checkURL(c.MCP.URL, "https://memory.example.com", false))
	}
	if c.Gateway.URL != "" {
		add("gateway.url", checkURL(c.Gateway.URL, "https://api.anthropic.com", false))
	}
	if file := c.Gateway.KeyFile; file != "" {
		if _, err := os.Stat(file); err != nil {
			add("gateway.key_file", errors.New("it cannot be read: "+cause(err)))
		}
	}
	faults = append(faults, c.checkEmbeddings()...)
	faults = append(faults, c.checkOIDC()...)
	for i := range c.Webhooks {
		if err := c.Webhooks[i].checkURL(); err != nil {
			faults = append(faults, c.webhookError(i, "%v", err))
		}
	}
	return faults.errorOrNil()
}

func (c *Config) checkTLS(now time.Time) (faults ConfigErrors) {
	cert, key := c.TLS.CertFile, c.TLS.KeyFile
	switch {
	case cert == "" && key == "":
		return nil
	case cert == "":
		return ConfigErrors{c.SettingError("tls.key_file", "requires tls.cert_file")}
	case key == "":
		return ConfigErrors{c.SettingError("tls.cert_file", "requires tls.key_file")}
	}
	certPEM, err := os.ReadFile(cert)
	if err != nil {
		faults = append(faults, c.SettingError("tls.cert_file", "it cannot be read: %s", cause(err)))
	}
	keyPEM, err := os.ReadFile(key)
	if err != nil {
		faults = append(faults, c.SettingError("tls.key_file", "it cannot be read: %s", cause(err)))
	}
	if len(faults) > 0 {
		return faults
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err == nil {
		err = checkValidity(pair.Leaf, now)
	}
	if err != nil {
		faults = append(faults, c.SettingError("tls.cert_file", "%s", cause(err)))
	}
	return faults
}

// checkValidity returns an error if a certificate is not valid at a time.
func checkValidity(leaf *x509.Certificate, now time.Time) error {
	switch {
	case leaf == nil:
		return nil
	case now.After(leaf.NotAfter):
		return errors.New("the certificate expired on " + leaf.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(leaf.NotBefore):
		return errors.New("the certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

func (c *Config) checkOIDC() (faults ConfigErrors) {
	o := c.OIDC
	if o.Issuer == "" {
		for _, key := range []string{"oidc.audience", "oidc.workspace_claim", "oidc.role_claim", "oidc.default_role", "oidc.client_id", "oidc.client_secret_file", "oidc.scopes"} {
			if _, given := c.origins[key]; given {
				faults = append(faults, c.SettingError(key, "requires oidc.issuer"))
			}
		}
		return faults
	}
	if err := checkURL(o.Issuer, "https://login.example", true); err != nil {
		faults = append(faults, c.SettingError("oidc.issuer", "%v", err))
	}
	if o.Audience == "" {
		faults = append(faults, c.SettingError("oidc.audience", "requires an audience: tokens made for another service must not be accepted"))
	}
	if o.ClientID == "" {
		for _, key := range []string{"oidc.client_secret_file", "oidc.scopes"} {
			if _, given := c.origins[key]; given {
				faults = append(faults, c.SettingError(key, "requires oidc.client_id"))
			}
		}
		return faults
	}
	if !slices.Contains(strings.Fields(o.Scopes), "openid") {
		faults = append(faults, c.SettingError("oidc.scopes", "requires openid: without it the issuer sends no ID token"))
	}
	if c.MCP.URL == "" && c.TLS.CertFile == "" && !isLocal(c.Address) {
		faults = append(faults, c.SettingError("oidc.client_id", "requires mcp.url, the address of this server that browsers see: the issuer sends them back to it, and without TLS here the server cannot tell whether a proxy has it"))
	}
	return faults
}

// checkURL returns an error if a URL is not valid. If secure is set, the URL must be
// https, unless its host is this machine.
func checkURL(text, example string, secure bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return errors.New("must be a URL such as " + example)
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("must be a URL without user, password, query and fragment")
	case secure && u.Scheme != "https" && !httpmessage.IsLoopback(u.Hostname()):
		return errors.New("must be https: what is fetched from it decides who is authenticated")
	}
	return nil
}
