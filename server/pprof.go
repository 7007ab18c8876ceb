package server

import (
	"net/http"
	"net/http/pprof"
	"net/url"

	"memento/internal/httpmessage"
)

// profiles returns a handler that serves Go's profiler. It accepts only host names of
// this machine, so that a web page cannot reach it under the page's own name.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := url.URL{Host: r.Host} // with or without a port
		if !httpmessage.IsLoopback(host.Hostname()) {
			http.Error(w, "the profiler accepts only host names of this machine", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
