package httpapi

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// A Proxy says which proxies in front of the server name the address of the client, and
// where. The zero value means that there is none.
type Proxy struct {
	// Header has the client's address last, or a list of addresses, separated by commas,
	// to which each proxy appends that of its own client: "X-Forwarded-For", "X-Real-IP".
	// Addresses may have a port. "" means that no header is read.
	Header string

	// Trusted are the networks of the proxies. The header is read only of connections that
	// come from them, and only what they have appended is believed.
	Trusted []netip.Prefix
}

func (p *Proxy) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(p.Trusted, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// clientAddr returns the address of the client of a request: that of the connection, or, if
// it comes from a trusted proxy, the last one in the header that is not a trusted proxy's.
// What stands before that was sent by the client. It is the zero value if the address is
// not known, as on a Unix socket.
func (p *Proxy) clientAddr(r *http.Request) netip.Addr {
	addr := parseAddr(r.RemoteAddr)
	if p.Header == "" || !p.trusts(addr) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values(p.Header), ","), ",")
	for _, hop := range slices.Backward(hops) {
		named := parseAddr(strings.TrimSpace(hop))
		if !named.IsValid() {
			break // what is before it is not to be trusted
		}
		if addr = named; !p.trusts(addr) {
			break
		}
	}
	return addr
}

// parseAddr reads an address with or without a port. The result has no zone, and is an
// IPv4 address if it can be one.
func parseAddr(s string) netip.Addr {
	if at, err := netip.ParseAddrPort(s); err == nil {
		return at.Addr().Unmap().WithZone("")
	}
	addr, _ := netip.ParseAddr(strings.Trim(s, "[]")) // else the zero value
	return addr.Unmap().WithZone("")
}

// maxUserAgent is how many bytes of a client's User-Agent are reported.
const maxUserAgent = 200

// userAgent returns what the client says of itself, in printable characters, cut to
// maxUserAgent bytes.
func userAgent(r *http.Request) string {
	return fromOutside(r.UserAgent())
}

// fromOutside returns the printable part of the first bytes of a text for the log.
func fromOutside(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxUserAgent)], "")
	return strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
}
