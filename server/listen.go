package server

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"memento/backend"
)

// inUse is ConfigErrors of which one says that another program uses an address.
// errors.Is reports that it is also backend.ErrInUse.
type inUse struct{ ConfigErrors }

func (f inUse) Unwrap() []error { return []error{f.ConfigErrors, backend.ErrInUse} }

// listen opens the listeners, all or none.
func (s *Server) listen() error {
	var faults ConfigErrors
	taken := false
	var opened []net.Listener
	open := func(key, address string) net.Listener {
		if address == "" {
			return nil
		}
		l, err := net.Listen(networkOf(address), address)
		if err != nil {
			faults = append(faults, s.config.SettingError(key, "%s", listenError(address, err)))
			taken = taken || errors.Is(err, syscall.EADDRINUSE)
			return nil
		}
		opened = append(opened, l)
		return l
	}
	s.main = open("address", s.config.Address)
	s.metricsListener = open("metrics", s.config.Metrics)
	s.pprof = open("pprof", s.config.Pprof)
	if len(faults) == 0 {
		return nil
	}
	for _, l := range opened {
		l.Close()
	}
	if taken {
		return inUse{faults}
	}
	return faults
}

// networkOf returns the network of an address for net.Listen. For an IP address it is
// tcp4 or tcp6, because "tcp" can also listen on the other IP version.
func networkOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	switch ip, err := netip.ParseAddr(host); {
	case err != nil:
		return "tcp"
	case ip.Is4():
		return "tcp4"
	}
	return "tcp6"
}

func (s *Server) closeListeners() {
	for _, l := range []net.Listener{s.main, s.metricsListener, s.pprof} {
		if l != nil {
			l.Close()
		}
	}
}

// Addresses are the addresses of a server's listeners, as host:port; "" if there is no
// such listener.
type Addresses struct {
	Main, Metrics, Pprof string
	TLS                  bool
}

// URL returns the URL of the API.
func (a Addresses) URL() string {
	scheme := "http"
	if a.TLS {
		scheme = "https"
	}
	return scheme + "://" + a.Main
}

// Addresses returns the addresses of the listeners, with the actual ports.
func (s *Server) Addresses() Addresses {
	of := func(l net.Listener) string {
		if l == nil {
			return ""
		}
		return l.Addr().String()
	}
	return Addresses{Main: of(s.main), Metrics: of(s.metricsListener), Pprof: of(s.pprof), TLS: s.certs != nil}
}

// listenError returns a message that says why the server cannot listen on an address,
// and what to do.
func listenError(address string, err error) string {
	_, port, _ := net.SplitHostPort(address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("port %s is in use; stop the program that uses it, perhaps another memento, or choose another port (0 selects a free one)", port)
	case errors.Is(err, syscall.EACCES):
		return fmt.Sprintf("port %s requires privileges; choose one above 1023, and let a proxy or the service manager forward the low port", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine does not have this address; 0.0.0.0 or an empty host means all its addresses"
	}
	if _, unknown := errors.AsType[*net.DNSError](err); unknown {
		return "unknown host name; use an IP address of this machine"
	}
	return "cannot listen: " + reasonFor(err)
}

// reasonFor returns the text of the innermost error in an error of package net.
func reasonFor(err error) string {
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		return code.Error()
	}
	return err.Error()
}
