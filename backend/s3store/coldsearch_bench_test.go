package s3store

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"memento"
	"memento/test/cputime"
	"memento/test/services"
)

// Memories of the store of BenchmarkColdSearch, and of one commit.
const (
	coldMemories = 100_000
	coldCommit   = 100
)

// BenchmarkColdSearch is the first search of a process in a store of 100,000 memories, and the
// same without the search: a view of one memory.
func BenchmarkColdSearch(b *testing.B) {
	prefix := "cold/" + random()
	open := func(b *testing.B) *Backend {
		b.Helper()
		srv, err := services.S3(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		s, err := Open(b.Context(), Location{Bucket: "memento-s3store", Prefix: prefix, Endpoint: srv.Endpoint, Region: srv.Region, PathStyle: "true"},
			&Options{Credentials: credentials.NewStaticV4(srv.AccessKey, srv.SecretKey, ""), MakeBucket: true})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	words := make([]string, 20_000)
	random := rand.New(rand.NewPCG(18, 1))
	for i := range words {
		word := make([]byte, 3+random.IntN(8))
		for j := range word {
			word[j] = byte('a' + random.IntN(26))
		}
		words[i] = string(word)
	}
	some := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = words[min(random.IntN(len(words)), random.IntN(len(words)))]
		}
		return strings.Join(all, " ")
	}
	id := func() memento.StoreID {
		s := open(b)
		defer s.Close()
		info, err := s.CreateStore(b.Context(), "bench", memento.StoreSpec{Name: "bench", Limits: memento.Limits{Memories: 1 << 30, Bytes: 1 << 40}})
		if err != nil {
			b.Fatal(err)
		}
		for i := 0; i < coldMemories; i += coldCommit {
			var changes []memento.Change
			for j := range coldCommit {
				changes = append(changes, memento.Put{Path: memento.Path(fmt.Sprintf("/notes/%03d/note%06d.md", (i+j)%1000, i+j)), Content: some(70)})
			}
			if _, err := s.Apply(b.Context(), info.ID, memento.Actor{Kind: memento.ActorUser, ID: "bench"}, changes); err != nil {
				b.Fatal(err)
			}
		}
		keepIndex(b, s, info.ID)
		return info.ID
	}()
	for _, call := range []struct {
		name string
		do   func(b *testing.B, s *Backend) error
	}{
		{"view", func(b *testing.B, s *Backend) error {
			_, err := s.Get(b.Context(), id, memento.ByPath("/notes/017/note004017.md"))
			return err
		}},
		{"search", func(b *testing.B, s *Backend) error {
			found, err := s.Search(b.Context(), id, memento.SearchOptions{Query: some(4)})
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("nothing was found")
			}
			return err
		}},
	} {
		b.Run(call.name, func(b *testing.B) {
			var processor, best time.Duration
			for range b.N {
				b.StopTimer()
				s := open(b)
				began, used := time.Now(), cputime.Used()
				b.StartTimer()
				if err := call.do(b, s); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				processor += cputime.Used() - used
				if took := time.Since(began); best == 0 || took < best {
					best = took
				}
				s.Close()
			}
			b.ReportMetric(float64(processor.Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
		})
	}
}
