// Package httpmessage has what several HTTP handlers and clients need of requests and responses.
package httpmessage

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// BearerToken returns the token of a request's Authorization header, or "" if the header is
// missing or has another scheme. It looks at the first such header only.
func BearerToken(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// SameOrigin reports whether origin, the value of an Origin header, names the host to which
// the request was sent. The scheme is not compared: a proxy may speak TLS for the server.
func SameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// IsLoopback reports whether a host, the name or the address without a port and brackets,
// is this machine: requests to it do not cross a network, and what listens there cannot be
// reached from another machine. No name is resolved.
func IsLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
}
