package s3store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"memento"
	"memento/backend/s3store"
	"memento/backend/storetest"
	"memento/test/services"
)

// bucket is created by the first test that opens it. Each test has a prefix of its own.
const bucket = "memento-s3store"

type server func(context.Context) (services.S3Server, error)

// at returns where a test keeps its stores, and options that reach it.
func (s server) at(ctx context.Context, dir string) (s3store.Location, *s3store.Options, error) {
	srv, err := s(ctx)
	if err != nil {
		return s3store.Location{}, nil, err
	}
	sum := sha256.Sum256([]byte(dir))
	at := s3store.Location{Bucket: bucket, Prefix: "test/" + hex.EncodeToString(sum[:8]), Endpoint: srv.Endpoint, Region: srv.Region, PathStyle: "true"}
	return at, &s3store.Options{Credentials: credentials.NewStaticV4(srv.AccessKey, srv.SecretKey, ""), MakeBucket: true}, nil
}

func (s server) openAt(ctx context.Context, dir string, now func() time.Time) (memento.Backend, error) {
	at, opts, err := s.at(ctx, dir)
	if err != nil {
		return nil, err
	}
	opts.Now = now
	b, err := s3store.Open(ctx, at, opts)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (s server) open(ctx context.Context, dir string) (memento.Backend, error) {
	at, opts, err := s.at(ctx, dir)
	if err != nil {
		return nil, err
	}
	b, err := s3store.Open(ctx, at, opts)
	if err != nil {
		return nil, err
	}
	return b, nil
}

func harness(s server) storetest.Harness {
	return storetest.Harness{
		Open:       s.open,
		Start:      services.Together(services.ForS3, services.ForS3Second),
		Persistent: true, Shared: true,
		Searcher: true, ReadMarker: true, KeyKeeper: true, WorkspaceLister: true, Leaser: true, AcceptsSealed: true,
		Blobs: s.blobs, HexHashes: true, SearchScans: true,
		Clock: true, NoteKeeper: true,
		OpenAt: s.openAt,
	}
}

// secondEnv tells the processes that the tests start that the server is the second.
const secondEnv = "MEMENTO_S3STORE_SECOND"

func TestMain(m *testing.M) {
	h := harness(services.S3)
	if os.Getenv(secondEnv) != "" {
		h = secondHarness()
	}
	storetest.Main(m, h)
}

func TestBackend(t *testing.T)      { storetest.Run(t, harness(services.S3)) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness(services.S3)) }

// Another server, on which it must hold as well.
func TestSecondServer(t *testing.T) {
	os.Setenv(secondEnv, "1") // t.Setenv is not for tests whose children run in parallel
	defer os.Unsetenv(secondEnv)
	storetest.Run(t, secondHarness())
}

// secondHarness compacts after few records, so that the suite also runs on compacted
// history, and stores few contents in records.
func secondHarness() storetest.Harness {
	h := harness(services.S3Second)
	h.Open = func(ctx context.Context, dir string) (memento.Backend, error) {
		at, opts, err := server(services.S3Second).at(ctx, dir)
		if err != nil {
			return nil, err
		}
		opts.CompactEvery, opts.InlineBytes, opts.CacheBytes = 32, 64, 1<<20
		b, err := s3store.Open(ctx, at, opts)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
	return h
}
