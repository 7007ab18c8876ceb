package httpapi

import (
	"net"
	"net/http"
	"slices"
	"strings"

	"memento/internal/httpmessage"
)

// checkOrigin refuses requests that a web page sends without permission: to a host name
// that is not this server's (DNS rebinding), or from another origin. It answers the
// preflight requests of permitted origins.
func (c *call) checkOrigin() (answered bool, err error) {
	h := c.w.Header()
	if len(c.api.opts.Origins) > 0 {
		h.Add("Vary", "Origin")
	}
	if hosts := c.api.opts.Hosts; hosts != nil && !containsFold(hosts, hostname(c.r.Host)) {
		return false, &apiError{status: http.StatusForbidden, kind: permissionError, message: "unknown name in the Host header; see the server's setting hosts"}
	}
	origins := c.r.Header.Values("Origin")
	if len(origins) == 0 {
		return false, nil
	}
	origin := origins[0]
	allowed := len(origins) == 1 && containsFold(c.api.opts.Origins, origin)
	if !allowed && (len(origins) > 1 || !httpmessage.SameOrigin(origin, c.r)) {
		return false, &apiError{status: http.StatusForbidden, kind: permissionError, message: "web pages of this origin are not allowed; see the server's setting origins"}
	}
	if !allowed {
		return false, nil
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "request-id, retry-after, retry-after-ms, x-should-retry, "+workspaceHeader)
	if c.r.Method != http.MethodOptions || c.r.Header.Get("Access-Control-Request-Method") == "" {
		return false, nil
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
	if asked := c.r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Max-Age", "600")
	c.w.WriteHeader(http.StatusNoContent)
	return true, nil
}

func containsFold(list []string, s string) bool {
	return slices.ContainsFunc(list, func(each string) bool { return strings.EqualFold(each, s) })
}

// hostname is a Host header without its port, the brackets of an address of
// version 6, and the dot that may end a full name.
func hostname(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	return strings.TrimSuffix(name, ".")
}
