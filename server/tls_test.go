package server

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"memento/test/proctest"
)

// shake makes a handshake and returns the certificate that was served, and the
// protocol that was agreed on.
func shake(t *testing.T, address string, trust pair, config *tls.Config) (serial, protocol string, err error) {
	t.Helper()
	config.RootCAs = x509.NewCertPool()
	config.RootCAs.AddCert(trust.leaf)
	config.ServerName = trust.leaf.DNSNames[0]
	conn, err := tls.Dial("tcp", address, config)
	if err != nil {
		return "", "", err
	}
	defer conn.Close()
	state := conn.ConnectionState()
	return state.PeerCertificates[0].SerialNumber.String(), state.NegotiatedProtocol, nil
}

// The server speaks TLS 1.2 and later, and HTTP/2. It loads new certificates while it
// runs, and keeps the old one if they cannot be used.
func TestTLS(t *testing.T) {
	now := time.Now()
	first := makeCertificate(t, "localhost", now.Add(time.Hour))
	c := testConfig()
	c.TLS = TLS{CertFile: first.cert, KeyFile: first.key}
	r := start(t, c)
	at := r.Addresses().Main
	if !strings.HasPrefix(r.url, "https://127.0.0.1:") {
		t.Errorf("the URL is %s", r.url)
	}
	serial, protocol, err := shake(t, at, first, &tls.Config{NextProtos: []string{"h2"}})
	if err != nil || protocol != "h2" || serial != first.leaf.SerialNumber.String() {
		t.Fatalf("the first handshake: %s, %s, %v", serial, protocol, err)
	}
	if _, _, err := shake(t, at, first, &tls.Config{MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}

	pool := x509.NewCertPool()
	pool.AddCert(first.leaf)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	r.client = &http.Client{Transport: transport}
	if a := r.ask("GET", "/v1/whoami", r.key, ""); a.StatusCode != 200 || a.ProtoMajor != 2 {
		t.Errorf("a request: %d by %s", a.StatusCode, a.Proto)
	}

	second := makeCertificate(t, "localhost", now.Add(2*time.Hour))
	keep := makeCertificate(t, "localhost", now.Add(time.Hour))
	first.copyTo(t, keep)   // what was there
	second.copyTo(t, first) // the files that the server watches
	proctest.Until(t, "the new certificate is served", func() bool {
		_, _, err := shake(t, at, second, &tls.Config{})
		return err == nil
	})

	// Broken files, one after the other, are noted once each.
	if err := os.WriteFile(first.cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, "the fault is noted", func() bool {
		return shaken(t, at, second) && strings.Contains(r.metric("memento_tls_reloads_total"), `outcome="error"} 1`)
	})
	if err := os.Remove(first.key); err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, "the lack of a file is noted", func() bool {
		return shaken(t, at, second) && strings.Contains(r.log.String(), "it does not exist")
	})
	for range 3 {
		r.certs.reload()
	}
	if n := strings.Count(r.log.String(), "it does not exist"); n != 1 {
		t.Errorf("the same fault is logged %d times", n)
	}
	if !shaken(t, at, second) {
		t.Error("the last good certificate is not served any more")
	}

	ended := makeCertificate(t, "localhost", now.Add(-time.Hour))
	ended.copyTo(t, first)
	r.certs.reload()
	if !shaken(t, at, second) || !strings.Contains(r.log.String(), "the certificate expired on") {
		t.Errorf("a certificate that has expired is loaded; the log:\n%s", r.log)
	}

	keep.copyTo(t, first)
	r.Reload(c) // as SIGHUP does, at once
	if !shaken(t, at, first) {
		t.Error("the certificate is not loaded at once")
	}
	if got := r.metric("memento_tls_reloads_total"); !strings.Contains(got, `outcome="ok"} 2`) || !strings.Contains(got, `outcome="error"} 3`) {
		t.Errorf("counted\n%s", got)
	}
	if strings.Contains(r.log.String(), first.cert) {
		t.Error("the log has the path of a file")
	}
}

// A certificate that is not valid yet is loaded when it becomes valid, although its
// files do not change.
func TestCertificateOfLater(t *testing.T) {
	began := time.Now()
	now := began
	first, later := makeCertificate(t, "localhost", began.Add(time.Hour)), makeCertificate(t, "localhost", began.Add(25*time.Hour))
	logger, _ := newLogger(io.Discard, Log{})
	c, err := newCertificates(TLS{CertFile: first.cert, KeyFile: first.key}, func() time.Time { return now }, logger, newMetrics("test"))
	if err != nil {
		t.Fatal(err)
	}
	later.copyTo(t, first)
	for _, at := range []struct {
		after time.Duration
		want  pair
	}{{30 * time.Minute, first}, {50 * time.Minute, first}, {2 * time.Hour, later}} {
		now = began.Add(at.after)
		if got := c.current().Leaf; !got.Equal(at.want.leaf) {
			t.Errorf("after %v the certificate of %v is served, not that of %v", at.after, got.NotBefore, at.want.leaf.NotBefore)
		}
	}
}

// shaken reports whether a handshake succeeds with a certificate trusted.
func shaken(t *testing.T, address string, trust pair) bool {
	t.Helper()
	_, _, err := shake(t, address, trust, &tls.Config{})
	return err == nil
}

// metric returns the lines of a metric.
func (r *running) metric(name string) string {
	r.t.Helper()
	var lines []string
	for line := range strings.Lines(r.scrape()) {
		if strings.HasPrefix(line, name) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
