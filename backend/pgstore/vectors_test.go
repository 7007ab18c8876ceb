package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"memento"
	"memento/backend"
	"memento/backend/pgstore"
)

// The vectors of a store leave the tables with it, and so does the lease for making them.
// Vectors that belong to no memory are a fault.
func TestVectorsOfDeletedStore(t *testing.T) {
	schema := schemaOf(t.TempDir())
	b := open(t, serverURL(t, ""), &pgstore.Options{Schema: schema})
	store, other := newStore(t, b), newStore(t, b)
	for _, id := range []memento.StoreID{store, other} {
		var all []backend.MemoryVectors
		for i := range 3 {
			if err := setIn(t.Context(), b, id, memento.Path(fmt.Sprintf("/%d", i)), "text"); err != nil {
				t.Fatal(err)
			}
			m, err := b.Get(t.Context(), id, memento.ByPath(memento.Path(fmt.Sprintf("/%d", i))))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, backend.MemoryVectors{Memory: m.ID, Version: m.Version, Vectors: []backend.Vector{{Step: 1, Values: []int8{1, 2}}}})
		}
		if _, err := b.PutVectors(t.Context(), id, "m", all); err != nil {
			t.Fatal(err)
		}
		if mine, err := b.AcquireLease(t.Context(), backend.VectorLease(id), time.Minute); err != nil || !mine {
			t.Fatal(mine, err)
		}
	}
	if err := b.DeleteStore(t.Context(), memento.DefaultWorkspace, store); err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]int{"vectors": 3, "leases": 1} {
		if n := rowsOf(t, schema, table); n != want {
			t.Errorf("%d rows in %s, of the other store's %d", n, table, want)
		}
	}
	if faults, err := b.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults: %v, %v", faults, err)
	}
	admin(t, `DROP TRIGGER removed_vectors ON `+schema+`.memories`)
	if _, err := b.Apply(t.Context(), other, memento.Actor{}, []memento.Change{memento.Remove{Path: "/1"}}); err != nil {
		t.Fatal(err)
	}
	if faults, err := b.Verify(t.Context()); err != nil || len(faults) != 1 {
		t.Errorf("faults of a vector without memory: %v, %v", faults, err)
	}
}
