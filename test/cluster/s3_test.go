package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"memento/test/faultproxy"
	"memento/test/needs"
	"memento/test/services"
)

// TestS3 has servers share a bucket, each over a proxy of its own that refuses and loses
// requests.
func TestS3(t *testing.T) { testS3(t, services.S3) }

// TestS3Second is the same with another S3 server.
func TestS3Second(t *testing.T) { testS3(t, services.S3Second) }

func testS3(t *testing.T, service func(context.Context) (services.S3Server, error)) {
	s3, err := service(t.Context())
	needs.Check(t, err)
	started := 0
	run(t, func(t *testing.T) (*cluster, deck) {
		started++
		bucket := fmt.Sprintf("cluster-%x-%d", rand.Uint32(), started)
		if err := s3.CreateBucket(t.Context(), bucket); err != nil {
			t.Fatal(err)
		}
		gates := make(gates, numServers)
		places := make([]place, numServers)
		for i := range gates {
			p, err := faultproxy.ListenHTTP(s3.Endpoint)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			gates[i] = p
			query := url.Values{"endpoint": {"http://" + p.Addr()}, "region": {s3.Region}, "path_style": {"true"}}
			places[i] = place{
				url: fmt.Sprintf("s3://%s/memento?%s", bucket, query.Encode()),
				env: []string{"AWS_ACCESS_KEY_ID=" + s3.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3.SecretKey},
			}
		}
		c := startCluster(t, places)
		return c, slices.Concat(clientFaults(c.fronts), gates.deck(), deck{{3, c.killed(t.Context(), 300*time.Millisecond)}})
	})
}

// gates are the proxies between servers and their bucket, one for each server.
type gates []*faultproxy.HTTP

func (g gates) some(r *rand.Rand) (chosen gates, name string) {
	if i := r.IntN(len(g) + 1); i < len(g) {
		return g[i : i+1], fmt.Sprintf(" of server%d", i)
	}
	return g, " of all servers"
}

// A choice says what is done to a request.
type choice func(r *rand.Rand, req *http.Request) faultproxy.Action

// card returns the card of a fault that makes a choice for each request.
func (g gates) card(name string, most time.Duration, enough int64, choose choice) func(*rand.Rand) fault {
	return func(r *rand.Rand) fault {
		chosen, whose := g.some(r)
		var mu sync.Mutex
		own := rand.New(rand.NewPCG(r.Uint64(), 0))
		set := func(f func(*http.Request) faultproxy.Action) error {
			for _, p := range chosen {
				p.Set(f)
			}
			return nil
		}
		return fault{
			name: name, whose: whose, hold: upTo(r, most), enough: enough,
			begin: func() error {
				return set(func(req *http.Request) faultproxy.Action {
					mu.Lock()
					defer mu.Unlock()
					return choose(own, req)
				})
			},
			end: func() error { return set(nil) },
			did: func() (n int64) {
				for _, p := range chosen {
					n += p.Did()
				}
				return n
			},
		}
	}
}

// sometimes applies a to a percentage of the requests that meet a condition.
func sometimes(percent int, a faultproxy.Action, meets func(*http.Request) bool) choice {
	return func(r *rand.Rand, req *http.Request) faultproxy.Action {
		if !meets(req) || r.IntN(100) >= percent {
			return faultproxy.Action{}
		}
		return a
	}
}

func anyRequest(*http.Request) bool  { return true }
func isRead(req *http.Request) bool  { return req.Method == http.MethodGet }
func isWrite(req *http.Request) bool { return !isRead(req) && req.Method != http.MethodHead }

// s3Error returns an error response of an S3 server.
func s3Error(status int, code string) faultproxy.Action {
	return faultproxy.Action{
		Status: status, Header: http.Header{"Content-Type": {"application/xml"}},
		Body: `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>by the test</Message><RequestId>1</RequestId></Error>`,
	}
}

// carried makes the server carry out a request nevertheless.
func carried(a faultproxy.Action) faultproxy.Action {
	a.Carried = true
	return a
}

func (g gates) deck() deck {
	const moment = 500 * time.Millisecond
	internalError, slowDown := s3Error(http.StatusInternalServerError, "InternalError"), s3Error(http.StatusServiceUnavailable, "SlowDown")
	lost := faultproxy.Action{Lose: true}
	d := deck{
		{2, g.card("500", moment, 5*few, sometimes(50, internalError, anyRequest))},
		{2, g.card("503", moment, 5*few, sometimes(50, slowDown, anyRequest))},
		{2, g.card("500 to writes that were carried out", 2*moment, few, sometimes(50, carried(internalError), isWrite))},
		{2, g.card("503 to writes that were carried out", 2*moment, few, sometimes(50, carried(slowDown), isWrite))},
		{4, g.card("lost answers to writes", 2*moment, few, sometimes(50, carried(lost), isWrite))},
		{2, g.card("lost requests", moment, few, sometimes(50, lost, anyRequest))},
		{2, g.card("halved answers", moment, few, sometimes(50, faultproxy.Action{Half: true}, isRead))},
		{2, g.card("silence", 3*moment, 0, sometimes(30, faultproxy.Action{Silent: true}, anyRequest))},
		{1, lasting(outage, g.card("long silence", 0, 0, sometimes(100, faultproxy.Action{Silent: true}, anyRequest)))},
		{1, lasting(outage, g.card("long outage", 0, 0, sometimes(100, slowDown, anyRequest)))},
		{2, g.card("delay", moment, 0, func(r *rand.Rand, _ *http.Request) faultproxy.Action {
			return faultproxy.Action{Delay: upTo(r, 100*time.Millisecond)}
		})},
	}
	if *long { // longer than s3store retries, so that it must report an unknown outcome
		d = append(d, card{1, lasting(25*time.Second, g.card("long loss of writes", 0, 0, sometimes(100, lost, isWrite)))})
	}
	return d
}
