package httpstore

import (
	"fmt"
	"net/url"
	"strings"

	"memento"
	"memento/backend/apikey"
	"memento/internal/httpmessage"
)

// parseBase checks the URL of a server, and the key that is sent there. Its errors
// contain neither.
func parseBase(raw string, o *Options) (string, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return "", invalid("the URL of a server has the form https://HOST[:PORT][/PATH]")
	case u.Scheme != "https" && u.Scheme != "http":
		return "", invalid("the URL of a server starts with https://, or with http://")
	case u.User != nil:
		return "", invalid("the URL of a server names no user and no password; give the key in Options.Key")
	case u.Hostname() == "" || u.Opaque != "":
		return "", invalid("the URL of a server needs a host, as in https://memory.example.com")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", invalid("the URL of a server has neither a query nor a fragment")
	}
	for _, c := range []byte(o.Key) {
		if c <= ' ' || c > '~' {
			return "", invalid("the key has invalid characters; a key is a single line that begins with %s", apikey.SecretPrefix)
		}
	}
	if u.Scheme == "http" && o.Key != "" && !o.AllowPlaintext && !httpmessage.IsLoopback(u.Hostname()) {
		return "", invalid("over http:// the key would be sent in clear text; use https:// or, on a trusted network, allow it (?plaintext=true)")
	}
	return strings.TrimRight(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{memento.ErrInvalid}, args...)...)
}
