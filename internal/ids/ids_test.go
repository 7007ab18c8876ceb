package ids_test

import (
	"slices"
	"testing"
	"time"

	"memento/internal/ids"
)

func TestStoreIDsSortByTime(t *testing.T) {
	at := time.Date(2026, 3, 29, 1, 30, 0, 998_000, time.UTC) // across the next millisecond
	var made []string
	for i := range 2000 {
		made = append(made, ids.Store(at.Add(time.Duration(i)*time.Microsecond)))
	}
	if !slices.IsSorted(made) {
		t.Error("stores made one after the other do not sort in this order")
	}
}
