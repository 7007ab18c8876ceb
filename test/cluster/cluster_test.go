package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"memento"
	"memento/backend/httpstore"
	"memento/test/faultproxy"
)

const numServers = 3

// A cluster is several servers that share a backend.
type cluster struct {
	t       *testing.T
	dir     string // for logs; kept when a test fails
	servers []*server
	fronts  wires // proxies between clients and servers
	key     string
	store   memento.StoreID
	handles []*httpstore.Backend // one for each server
	fronted []*httpstore.Backend // likewise, through the fronts
	client  *http.Client         // for requests that httpstore does not make
	events  []string             // faults that have happened
}

// A place says where a server finds its backend.
type place struct {
	url string
	env []string
}

// startCluster starts a server for each place, and makes a store.
func startCluster(t *testing.T, places []place) *cluster {
	t.Helper()
	ctx := t.Context()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	c := &cluster{t: t, dir: resultDir(t), client: &http.Client{Transport: transport}}
	t.Cleanup(transport.CloseIdleConnections)
	for i, p := range places {
		args := []string{"--backend", p.url, "--maintenance-interval", "3s", "--timeout", "10s"}
		s := newServer(t, c.dir, fmt.Sprintf("server%d", i), p.env, args)
		if err := s.start(ctx); err != nil {
			t.Fatal(err)
		}
		c.servers = append(c.servers, s)
		front, err := faultproxy.ListenTCP(s.address)
		if err != nil {
			t.Fatal(err)
		}
		c.fronts = append(c.fronts, front)
		t.Cleanup(func() { front.Close() })
	}
	key, err := os.ReadFile(c.servers[0].keyFile) // the first server has made it; it is valid for all
	if err != nil {
		t.Fatal(err)
	}
	c.key = strings.TrimSpace(string(key))
	for i, s := range c.servers {
		c.handles = append(c.handles, c.open(s.address))
		c.fronted = append(c.fronted, c.open(c.fronts[i].Addr()))
	}
	info, err := c.handles[0].CreateStore(ctx, memento.DefaultWorkspace, memento.StoreSpec{Name: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	c.store = info.ID
	return c
}

// open returns a client for a server.
func (c *cluster) open(address string) *httpstore.Backend {
	c.t.Helper()
	b, err := httpstore.Open(c.t.Context(), "http://"+address, &httpstore.Options{Key: c.key, Retries: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { b.Close() })
	return b
}

// same returns the place once for each server.
func same(p place) []place {
	places := make([]place, numServers)
	for i := range places {
		places[i] = p
	}
	return places
}

// resultDir returns a folder that is kept if the test fails.
func resultDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "memento-cluster-result-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	return dir
}

// put writes a memory that no other call concerns.
func (c *cluster) put(ctx context.Context, p memento.Path, content string) {
	c.t.Helper()
	_, err := c.handles[0].Apply(ctx, c.store, memento.Actor{}, []memento.Change{memento.Put{Path: p, Content: content}})
	if err != nil {
		c.t.Fatal(err)
	}
}
