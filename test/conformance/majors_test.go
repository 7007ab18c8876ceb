package conformance

import (
	"bytes"
	"context"
	"flag"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// A major is a major version of an SDK. What it sends is listed so that it is known
// what the server is tested with.
type major struct {
	name string
	new  func(url, key string, headers map[string]string) client

	version       string // the header anthropic-version
	bearer        bool   // the key is a bearer token, not x-api-key
	beta          bool   // the query has beta=true
	repeatsCreate bool   // when its answer was lost

	// inTime runs a test in which Wait lets time pass.
	inTime func(*testing.T, func(*testing.T))
}

var (
	typescript0 = newNode("sdk-0")
	typescript1 = newNode("sdk-1")
)

var majors = []major{
	{"Go v1", newSDK1, "2023-06-01", false, true, true, goTime},
	{"Go v2", newSDK2, "2026-10-21", true, false, false, goTime},
	{"TypeScript 0", typescript0.client, "2023-06-01", false, true, true, ownTime},
	{"TypeScript 1", typescript1.client, "2026-10-21", true, false, true, ownTime},
}

func (n *node) client(url, key string, headers map[string]string) client {
	return typescript{n, clientOptions{url, key, headers}}
}

// goTime is the clock of testing/synctest, since the SDK in Go has none to set.
func goTime(t *testing.T, test func(*testing.T)) { synctest.Test(t, test) }

func ownTime(t *testing.T, test func(*testing.T)) { test(t) }

// transport has a connection for each request: those that wait for another would
// keep the clock of testing/synctest from going on.
func transport() http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true, DialContext: new(net.Dialer).DialContext}
}

// A world is a server and a major of an SDK, with a proxy between them.
type world struct {
	*server
	ctx    context.Context
	proxy  *proxy
	major  major
	client client // with the server's first key
}

// eachMajor runs a test with each major, each on a server of its own.
func eachMajor(t *testing.T, test func(*testing.T, *world)) {
	t.Parallel()
	for _, m := range majors {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			w := &world{server: s, ctx: t.Context(), proxy: startProxy(t, s.url), major: m}
			w.client = w.with(s.key)
			test(t, w)
			w.proxy.check(t)
		})
	}
}

// with returns a client with a key.
func (w *world) with(key string) client { return w.major.new(w.proxy.url, key, nil) }

// as returns a client with the server's first key that acts for another: see the
// header Memento-Actor.
func (w *world) as(actor string) client {
	return w.major.new(w.proxy.url, w.key, map[string]string{"Memento-Actor": actor})
}

var update = flag.Bool("update", false, "make sdk1_test.go from sdk2_test.go")

// The majors of the Go SDK differ in their import paths, and nowhere else that
// these tests see.
func TestMajorsAreAlike(t *testing.T) {
	newest, err := os.ReadFile("sdk2_test.go")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("sdk2", "sdk1", "SDK2", "SDK1", "anthropic-sdk-go/v2", "anthropic-sdk-go").Replace(string(newest))
	want = regexp.MustCompile(`(?s)// sdk1 is .*?\ntype sdk1 `).ReplaceAllLiteralString(want, "// sdk1 is anthropic-sdk-go, the last of its first major.\ntype sdk1 ")
	want = "// Code generated from sdk2_test.go by go test -run TestMajorsAreAlike -update. DO NOT EDIT.\n\n" + want
	if *update {
		if err := os.WriteFile("sdk1_test.go", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("sdk1_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, []byte(want)) {
		t.Error("sdk1_test.go is not what -update makes of sdk2_test.go")
	}
}
