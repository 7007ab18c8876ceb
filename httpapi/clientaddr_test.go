package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// A header is believed only if a trusted proxy has written it, and only the part that
// trusted proxies have appended: a client cannot choose its address.
func TestClientAddr(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	forwarded := Proxy{Header: "X-Forwarded-For", Trusted: trusted}
	tests := []struct {
		name   string
		proxy  Proxy
		remote string
		header []string
		want   string
	}{
		{"no proxy", Proxy{}, "192.0.2.1:1234", []string{"198.51.100.7"}, "192.0.2.1"},
		{"the connection is not a proxy's", forwarded, "192.0.2.1:1234", []string{"198.51.100.7"}, "192.0.2.1"},
		{"one proxy", forwarded, "10.0.0.1:1234", []string{"198.51.100.7"}, "198.51.100.7"},
		{"forged before", forwarded, "10.0.0.1:1234", []string{"127.0.0.1, 198.51.100.7"}, "198.51.100.7"},
		{"forged as a trusted one", forwarded, "10.0.0.1:1234", []string{"10.9.9.9, 198.51.100.7"}, "198.51.100.7"},
		{"two proxies", forwarded, "10.0.0.1:1234", []string{"198.51.100.7, 10.0.0.2"}, "198.51.100.7"},
		{"two headers", forwarded, "10.0.0.1:1234", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		{"all trusted", forwarded, "10.0.0.1:1234", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"with a port", forwarded, "10.0.0.1:1234", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		{"IPv6", forwarded, "[fd00::1]:1234", []string{"2001:db8::5"}, "2001:db8::5"},
		{"IPv6 in brackets", forwarded, "[fd00::1]:1234", []string{"[2001:db8::5]:99"}, "2001:db8::5"},
		{"IPv4 in IPv6", forwarded, "[::ffff:10.0.0.1]:1234", []string{"198.51.100.7"}, "198.51.100.7"},
		{"no header", forwarded, "10.0.0.1:1234", nil, "10.0.0.1"},
		{"not an address", forwarded, "10.0.0.1:1234", []string{"198.51.100.7, unknown"}, "10.0.0.1"},
		{"not an address before", forwarded, "10.0.0.1:1234", []string{"198.51.100.7, _x, 10.0.0.2"}, "10.0.0.2"},
		{"another header", Proxy{Header: "X-Real-IP", Trusted: trusted}, "10.0.0.1:1234", []string{"198.51.100.7"}, "10.0.0.1"},
		{"a Unix socket", forwarded, "@", nil, ""},
	}
	for _, tt := range tests {
		r := &http.Request{RemoteAddr: tt.remote, Header: http.Header{"X-Forwarded-For": tt.header}}
		got := ""
		if addr := tt.proxy.clientAddr(r); addr.IsValid() {
			got = addr.String()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A client cannot write lines, or much, into the log by its name.
func TestUserAgent(t *testing.T) {
	for given, want := range map[string]string{
		"Anthropic/Python 1.2":   "Anthropic/Python 1.2",
		"a\nb\x1b[31m\u202e":     "ab[31m",
		"\xff\xfe":               "",
		strings.Repeat("é", 200): strings.Repeat("é", 100),
	} {
		if got := userAgent(&http.Request{Header: http.Header{"User-Agent": {given}}}); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
