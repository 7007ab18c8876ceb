package server

import (
	"net/http"
	"strings"
	"time"

	"memento/console"
)

// KeepConsoleSessions makes the sessions of the web console outlive the process: see
// [console.Handler.KeepSessions]. It is called before [Server.Run].
func (s *Server) KeepConsoleSessions(secret []byte) {
	if s.console != nil {
		s.console.KeepSessions(secret)
	}
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
			// The deadline of the connection's previous answer is still set. For the calls
			// that the console passes on, the API sets its own.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(consoleTimeout))
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
