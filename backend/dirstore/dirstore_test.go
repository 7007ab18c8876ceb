package dirstore

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"memento"
	"memento/backend/storetest"
	"memento/test/proctest"
)

func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(ctx context.Context, dir string) (memento.Backend, error) {
			return Open(ctx, dir, nil)
		},
		Persistent:      true,
		Shared:          true,
		Searcher:        true,
		ReadMarker:      true,
		KeyKeeper:       true,
		WorkspaceLister: true,
		AcceptsSealed:   true,
		BackupWriter:    true,
		Blobs: func(_ context.Context, dir string) ([]storetest.Blob, error) {
			return storetest.FileBlobs(filepath.Join(dir, hiddenFolder, dbFile), filepath.Join(dir, hiddenFolder, indexFile))
		},
		NoteKeeper:     true,
		PositionLister: true,
		VectorKeeper:   true,
		OpenAt: func(ctx context.Context, dir string, now func() time.Time) (memento.Backend, error) {
			return Open(ctx, dir, &Options{Now: now})
		},
	}
}

// TestMain lets the test binary also be the process that dies, or that makes changes by
// hand, in tests of this package.
func TestMain(m *testing.M) {
	proctest.Main(childTask.do)
	storetest.Main(m, harness())
}

func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }
