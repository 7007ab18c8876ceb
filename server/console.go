package server

import (
	"net/http"
	"strings"

	"memento/console"
)

// KeepConsoleSessions makes the sessions of the web console outlive the process: see
// [console.Handler.KeepSessions]. It is called before [Server.Run].
func (s *Server) KeepConsoleSessions(secret []byte) {
	if s.console != nil {
		s.console.KeepSessions(secret)
	}
}

// consoleProvider returns what signs people in to the console by redirect, if it is configured.
func (s *Server) consoleProvider() (console.Provider, error) {
	if s.oidc == nil || s.config.OIDC.ClientID == "" {
		return nil, nil
	}
	return newConsoleProvider(s.oidc, s.publicURL)
}

// withConsole returns a handler that answers requests for the web console, and passes on
// others. A browser at the server's address is sent to the console.
func (s *Server) withConsole(next http.Handler) http.Handler {
	if s.console == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case console.Serves(r):
			limitAnswer(w, consoleTimeout) // the API sets its own for the calls that the console passes on
			limitBodyWait(w, r)
			s.console.ServeHTTP(w, r)
		case r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html"):
			w.Header().Set("Vary", "Accept")
			http.Redirect(w, r, console.Path, http.StatusSeeOther)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
