package server

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificates serves the certificate in two files, and loads new files while the
// server runs. It is safe for concurrent use.
type certificates struct {
	files   TLS
	now     func() time.Time
	logger  *slog.Logger
	metrics *metrics

	mu     sync.Mutex
	served *tls.Certificate
	seen   [2]os.FileInfo // of the files that were last read
	looked time.Time
	fault  string // why the files cannot be used now; "" if they can
}

// lookEvery is the shortest time between two checks of the files.
const lookEvery = time.Second

// newCertificates reads the files, which must be valid at the start.
func newCertificates(files TLS, now func() time.Time, logger *slog.Logger, m *metrics) (*certificates, error) {
	c := &certificates{files: files, now: now, logger: logger, metrics: m}
	if err := c.read(); err != nil {
		return nil, errors.New("the certificate cannot be used: " + cause(err))
	}
	return c, nil
}

// config returns the configuration of a TLS listener.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current(), nil },
	}
}

// current returns the certificate in the files or, if they cannot be used, the last one
// that could.
func (c *certificates) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.looked) >= lookEvery || now.Before(c.looked) {
		c.look()
	}
	return c.served
}

// reload checks the files at once.
func (c *certificates) reload() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
}

// look reads the files if they have changed, or could not be used before: a certificate
// that is not valid yet becomes valid later.
func (c *certificates) look() {
	c.looked = c.now()
	if seen, err := c.stat(); err == nil && c.fault == "" && c.isSeen(seen) {
		return
	}
	before, fault := c.served, ""
	if err := c.read(); err != nil {
		fault = cause(err)
	}
	switch told := c.fault; {
	case fault != "" && fault != told: // logged once for each reason, not at each check
		c.metrics.tlsReloads.WithLabelValues("error").Inc()
		c.logger.Error("new certificate is invalid; the old one stays in use", "error", fault)
	case fault == "" && c.served != before:
		c.metrics.tlsReloads.WithLabelValues("ok").Inc()
		c.logger.Info("certificate reloaded", "expires", c.served.Leaf.NotAfter.UTC())
	}
	c.fault = fault
}

// read loads the certificate from the files.
func (c *certificates) read() error {
	c.looked = c.now()
	// The files' state is taken before they are read, so that the next check finds a
	// change in between.
	seen, err := c.stat()
	c.seen = seen
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.files.CertFile, c.files.KeyFile)
	if err == nil {
		err = checkValidity(pair.Leaf, c.now())
	}
	if err != nil {
		return err
	}
	c.served = &pair
	c.metrics.tlsExpiry.Set(float64(pair.Leaf.NotAfter.Unix()))
	return nil
}

func (c *certificates) stat() (seen [2]os.FileInfo, err error) {
	for i, path := range []string{c.files.CertFile, c.files.KeyFile} {
		if seen[i], err = os.Stat(path); err != nil {
			return [2]os.FileInfo{}, err
		}
	}
	return seen, nil
}

// isSeen reports whether the files are unchanged since they were last read.
func (c *certificates) isSeen(now [2]os.FileInfo) bool {
	for i, f := range now {
		was := c.seen[i]
		if was == nil || !os.SameFile(was, f) || !was.ModTime().Equal(f.ModTime()) || was.Size() != f.Size() {
			return false
		}
	}
	return true
}
