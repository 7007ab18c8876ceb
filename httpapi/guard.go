package httpapi

import (
	"net/http"
	"runtime/debug"
	"time"

	"memento/backend/apikey"
)

// KeyHeader has the key of a request to a handler of [API.Guard], if the request's other
// credentials are for somebody else.
const KeyHeader = "Memento-Key"

// Guard returns a handler of other endpoints for the same callers. It checks where a
// request comes from, the key, which is the one of [KeyHeader] if there is one, and the
// limits of the key, and refuses as the API does. Then next answers, without limits of
// time. endpoint names the one of a request, for logs and metrics: there must be few.
func (a *API) Guard(endpoint func(*http.Request) string, next func(http.ResponseWriter, *http.Request, Principal)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := a.newCall(w, r)
		defer c.done()
		defer func() {
			if fault := recover(); fault != nil {
				if fault != http.ErrAbortHandler {
					a.opts.Logger.ErrorContext(r.Context(), "panic in a request", "request_id", c.id, "panic", panicText(fault), "stack", string(debug.Stack()))
				}
				panic(http.ErrAbortHandler) // the answer may have begun
			}
		}()
		c.route = &route{pattern: endpoint(r)}
		answered, err := c.admit()
		switch {
		case err != nil:
			c.refuse(err)
			return
		case answered:
			return
		}
		c.w.begin = func() {}
		for _, name := range []string{"Request-Id", "Cache-Control", "X-Content-Type-Options"} {
			c.w.Header().Del(name)
		}
		next(c.w, r, c.who)
	})
}

// admit checks a request to a handler of Guard.
func (c *call) admit() (answered bool, err error) {
	_ = c.control.SetWriteDeadline(time.Time{}) // that of the connection's previous request
	if answered, err := c.checkOrigin(); err != nil || answered {
		return answered, err
	}
	credentials := c.r.Header.Values(KeyHeader)
	switch len(credentials) {
	case 0:
		c.who, err = c.authenticate()
	case 1:
		c.who, err = c.authenticateWith(credentials[0])
	default:
		err = unauthenticated("several keys were sent; send one")
	}
	if err != nil {
		return false, err
	}
	if !c.who.Role.Allows(apikey.RoleRead) {
		return false, needsRole(apikey.RoleRead)
	}
	return false, c.api.rates.allow(c.who.key(), c.r.Method != http.MethodGet, 1, time.Now())
}
