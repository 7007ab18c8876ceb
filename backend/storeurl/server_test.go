package storeurl_test

import (
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/backend/storetest"
	"memento/backend/storeurl"
	"memento/httpapi"
	"memento/sensitive"
)

// serve starts a server, and returns its URL and a key for it.
func serve(t *testing.T) (url, key string) {
	t.Helper()
	b := memstore.New(nil)
	_, key = storetest.NewKey(t, b, memento.DefaultWorkspace, apikey.RoleAdmin, time.Now())
	api, err := httpapi.New(b, httpapi.Options{Auth: httpapi.NewKeyAuth(b, nil), Detector: sensitive.Default()})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api)
	t.Cleanup(func() {
		api.Close()
		s.Close()
		b.Close()
	})
	return s.URL, key
}

func TestServer(t *testing.T) {
	url, key := serve(t)
	host, number, err := net.SplitHostPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{url, url + "/", strings.Replace(url, "http", "HTTP", 1), url + "?plaintext=true", url + "?plaintext=false"} {
		asked := ""
		b, err := storeurl.Open(t.Context(), raw, &storeurl.Options{Key: func(scheme, host, port string) (string, error) {
			asked = scheme + " " + host + " " + port
			return key, nil
		}})
		if err != nil {
			t.Errorf("Open(%q): %v", raw, err)
			continue
		}
		write(t, b)
		if want := "http " + host + " " + number; asked != want {
			t.Errorf("Open(%q) asks for the key of %q, want %q", raw, asked, want)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for what, opts := range map[string]*storeurl.Options{
		"no key":    nil,
		"a bad one": {Key: func(string, string, string) (string, error) { return "sk-memento-" + canary, nil }},
	} {
		if _, err := storeurl.Open(t.Context(), url, opts); !errors.Is(err, memento.ErrDenied) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", what, err)
		}
	}
	fault := func(string, string, string) (string, error) { return "", io.ErrNoProgress }
	if _, err := storeurl.Open(t.Context(), url, &storeurl.Options{Key: fault}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a key that cannot be read: %v", err)
	}
}

// TestServerPorts: keys are asked for by the port that the scheme stands for.
func TestServerPorts(t *testing.T) {
	for raw, want := range map[string]string{
		"https://memory.corp.test":      "https memory.corp.test 443",
		"http://memory.corp.test/below": "http memory.corp.test 80",
		"https://[::1]:8377":            "https ::1 8377",
	} {
		asked := ""
		stop := errors.New("stop")
		_, err := storeurl.Open(t.Context(), raw, &storeurl.Options{Key: func(scheme, host, port string) (string, error) {
			asked = scheme + " " + host + " " + port
			return "", stop
		}})
		if asked != want || !errors.Is(err, stop) {
			t.Errorf("Open(%q) asks for the key of %q, want %q; %v", raw, asked, want, err)
		}
	}
}

func TestServerRefused(t *testing.T) {
	for _, tc := range []struct{ url, says string }{
		{"http:", "needs a host"},
		{"https://", "needs a host"},
		{"https:///path", "needs a host"},
		{"https:memory.corp.test", "write https://HOST"},
		{"https://u:" + canary + "@h", "a user name or a key is not allowed in the URL"},
		{"https://" + canary + "@h", "a user name or a key is not allowed in the URL"},
		{"https://h:" + canary, "write https://HOST"},
		{"https://h?key=" + canary, `unknown query key "key"`},
		{"https://h?plaintext=true", `unknown query key "plaintext"`},
		{"http://h?plaintext=yes", `"plaintext" must be true or false`},
		{"http://h?plaintext=true&plaintext=true", `"plaintext" must be true or false`},
		{"http://h#" + canary, "write it %23"},
		{"http://192.0.2.1", "clear text"},
		{"http://192.0.2.1?plaintext=false", "clear text"},
	} {
		_, err := storeurl.Open(t.Context(), tc.url, &storeurl.Options{Key: func(string, string, string) (string, error) { return "sk-memento-" + canary, nil }})
		switch {
		case !errors.Is(err, memento.ErrInvalid):
			t.Errorf("Open(%q) = %v; want ErrInvalid", tc.url, err)
		case !strings.Contains(err.Error(), tc.says):
			t.Errorf("Open(%q) = %q; want it to say %q", tc.url, err, tc.says)
		case strings.Contains(err.Error(), canary):
			t.Errorf("Open(%q) = %q, which repeats a secret", tc.url, err)
		}
	}
}
