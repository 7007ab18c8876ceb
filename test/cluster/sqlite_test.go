package cluster

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestSQLite kills servers that share a file on one machine, and cuts the connections of
// their clients.
func TestSQLite(t *testing.T) {
	run(t, func(t *testing.T) (*cluster, deck) {
		url := "sqlite:" + filepath.Join(t.TempDir(), "memento.db")
		c := startCluster(t, same(place{url: url}))
		return c, slices.Concat(clientFaults(c.fronts), clientFaults(c.fronts), deck{
			{6, c.killed(t.Context(), 300*time.Millisecond)},
			{1, c.restarted(t.Context())},
		})
	})
}
