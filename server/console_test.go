package server

import (
	"net/http"
	"testing"
)

// A browser is sent to the console, and others get the API's answer. Without the setting
// there is no console.
func TestConsole(t *testing.T) {
	c := testConfig()
	ask := func(r *running, path, accept string) int {
		q, err := http.NewRequestWithContext(t.Context(), "GET", r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Accept", accept)
		res, err := http.DefaultTransport.RoundTrip(q)
		if err != nil {
			t.Fatal(err)
		}
		return answerOf(t, res).StatusCode
	}
	const browser, program = "text/html,*/*", "*/*"
	for _, on := range []bool{true, false} {
		c.Console = on
		r := start(t, c)
		want := map[string]int{"/": 303, "/console": 308, "/console/": 200}
		if !on {
			want = map[string]int{"/": 401, "/console": 401, "/console/": 401}
		}
		for path, status := range want {
			if got := ask(r, path, browser); got != status {
				t.Errorf("console %v: %s: %d, want %d", on, path, got, status)
			}
		}
		if got := ask(r, "/", program); got != 401 {
			t.Errorf("console %v: a program gets %d", on, got)
		}
	}
}
