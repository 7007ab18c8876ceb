package s3store

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend"
)

// Markers list stores in descending order of ID, for IDs of any form, can be decoded to the
// ID, and none is a directory of another.
func TestCatalogueKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var ids []memento.StoreID
	for range 2000 {
		ids = append(ids, backend.NewStoreID(time.UnixMilli(rng.Int64N(1<<42))))
		text := make([]byte, 1+rng.IntN(12))
		for i := range text {
			text[i] = "09AZaz"[rng.IntN(6)]
		}
		ids = append(ids, memento.StoreID(storePrefix+string(text)))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	before := ""
	for _, id := range slices.Backward(ids) {
		key := catalogueKey(workspaceOfTest, id)
		if key <= before {
			t.Errorf("%s lists %s before that of a greater ID, %s", id, key, before)
		}
		if strings.HasPrefix(key, before+"/") || strings.Contains(key, "//") {
			t.Errorf("%s sorts after %s", key, before)
		}
		if got, ok := parseMarker(strings.TrimPrefix(key, catalogueDir(workspaceOfTest))); got != id || !ok {
			t.Errorf("%s is read as %s", id, got)
		}
		marker := nameMarker(workspaceOfTest, "name", id)
		if got, ok := parseMarker(strings.TrimPrefix(marker, nameMarkers(workspaceOfTest, "name"))); got != id || !ok {
			t.Errorf("%s is read as %s", id, got)
		}
		before = key
	}
}

const workspaceOfTest memento.Workspace = "tests"
