package memstore_test

import (
	"context"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/backend/storetest"
)

func harness() storetest.Harness {
	return storetest.Harness{
		Open:            func(context.Context, string) (memento.Backend, error) { return memstore.New(nil), nil },
		Searcher:        true,
		ReadMarker:      true,
		KeyKeeper:       true,
		WorkspaceLister: true,
		AcceptsSealed:   true,
		Leaser:          true,
		NoteKeeper:      true,
		PositionLister:  true,
		OpenAt: func(_ context.Context, _ string, now func() time.Time) (memento.Backend, error) {
			return memstore.New(&memstore.Options{Now: now}), nil
		},
	}
}

func TestMain(m *testing.M)         { storetest.Main(m, harness()) }
func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }

func TestTimesDoNotGoBackALittle(t *testing.T) {
	clock := time.Date(2026, 3, 29, 3, 30, 0, 1_999, time.FixedZone("CEST", 7200))
	b := memstore.New(&memstore.Options{Now: func() time.Time { return clock }})
	info, err := b.CreateStore(t.Context(), memento.DefaultWorkspace, memento.StoreSpec{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 3, 29, 1, 30, 0, 1_000, time.UTC); info.CreatedAt != want {
		t.Errorf("created at %v, want %v", info.CreatedAt, want)
	}
	put := func(content string) time.Time {
		t.Helper()
		made, err := b.Apply(t.Context(), info.ID, memento.Actor{}, []memento.Change{memento.Put{Path: "/a", Content: content}})
		if err != nil {
			t.Fatal(err)
		}
		return made.Versions[0].CreatedAt
	}
	first := put("1")
	clock = clock.Add(-time.Minute)
	if again := put("2"); again != first {
		t.Errorf("with the clock a little behind: %v, want %v", again, first)
	}
	clock = clock.Add(time.Hour + time.Minute)
	if later := put("3"); later.Sub(first) != time.Hour {
		t.Errorf("an hour later: %v after %v", later, first)
	}
	archived, err := b.UpdateStore(t.Context(), memento.DefaultWorkspace, info.ID, memento.StoreUpdate{Archive: true})
	if err != nil || archived.ArchivedAt != archived.UpdatedAt || archived.ArchivedAt.Sub(first) != time.Hour {
		t.Errorf("archived: %+v, %v", archived, err)
	}
}
