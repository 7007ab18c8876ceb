package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"memento"
	"memento/sqlitestore"
	"memento/storetest"
)

func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(ctx context.Context, dir string) (memento.Backend, error) {
			return sqlitestore.Open(ctx, filepath.Join(dir, "memento.db"), nil)
		},
		Reopens:    true,
		Shared:     true,
		Searcher:   true,
		ReadMarker: true,
	}
}

func TestMain(m *testing.M)         { storetest.Main(m, harness()) }
func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }
