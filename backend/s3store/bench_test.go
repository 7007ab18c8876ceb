package s3store_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"

	"memento"
	"memento/backend/s3store"
	"memento/test/services"
)

const benchClients = 16

// inParallel shares b.N calls of f among clients.
func inParallel(b *testing.B, f func(client, i int) error) {
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for c := range benchClients {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				if err := f(c, int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

var text = strings.Repeat("What an agent remembers. ", 40)

// BenchmarkCreates makes memories, each client in a store of its own.
func BenchmarkCreates(b *testing.B) {
	at, opts, err := server(services.S3).at(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s, err := s3store.Open(b.Context(), at, opts)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var ids [benchClients]memento.StoreID
	for i := range ids {
		info, err := s.CreateStore(b.Context(), "bench", memento.StoreSpec{Name: "bench", Limits: memento.Limits{Memories: 1 << 30, Bytes: 1 << 40}})
		if err != nil {
			b.Fatal(err)
		}
		ids[i] = info.ID
	}
	inParallel(b, func(client, i int) error {
		_, err := s.Apply(b.Context(), ids[client], tester, []memento.Change{memento.Put{Path: memento.Path(fmt.Sprintf("/dir/%d", i)), Content: text}})
		return err
	})
}

// BenchmarkRawPuts is what the storage does at best: as many objects of the size of a
// record, written on the same condition by the same client library.
func BenchmarkRawPuts(b *testing.B) {
	at, opts, err := server(services.S3).at(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	c, err := minio.New(strings.TrimPrefix(at.Endpoint, "http://"), &minio.Options{Creds: opts.Credentials, Region: at.Region, BucketLookup: minio.BucketLookupPath})
	if err != nil {
		b.Fatal(err)
	}
	body := []byte(text + strings.Repeat("x", 500))
	inParallel(b, func(client, i int) error {
		o := minio.PutObjectOptions{}
		o.SetMatchETagExcept("*")
		_, err := c.PutObject(b.Context(), at.Bucket, fmt.Sprintf("%s/%d/%020d", at.Prefix, client, i), bytes.NewReader(body), int64(len(body)), o)
		return err
	})
}
