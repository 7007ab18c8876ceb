package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"memento"
	"memento/backend/sqlitestore"
	"memento/backend/storetest"
	"memento/test/proctest"
)

func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(ctx context.Context, dir string) (memento.Backend, error) {
			return sqlitestore.Open(ctx, filepath.Join(dir, "memento.db"), nil)
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
			return storetest.FileBlobs(filepath.Join(dir, "memento.db"))
		},
		NoteKeeper:     true,
		PositionLister: true,
		VectorKeeper:   true,
		OpenAt: func(ctx context.Context, dir string, now func() time.Time) (memento.Backend, error) {
			return sqlitestore.Open(ctx, filepath.Join(dir, "memento.db"), &sqlitestore.Options{Now: now})
		},
	}
}

// TestMain lets the test binary also be the other process in tests of backups.
func TestMain(m *testing.M) {
	proctest.Main(childTask.do)
	storetest.Main(m, harness())
}

func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }
