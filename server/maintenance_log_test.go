package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"memento"
	"memento/backend/memstore"
	"memento/test/proctest"
)

// aging returns a store with n memories of two versions each, made at a time, of which
// all goes after a day.
func aging(t *testing.T, n int, at time.Time) (*memstore.Backend, *memento.Store) {
	t.Helper()
	b := memstore.New(&memstore.Options{Now: func() time.Time { return at }})
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	settings.Expiry.After = 24 * time.Hour
	settings.Retention = memento.Retention{Age: 24 * time.Hour}
	s := memento.OpenNamed(b, memento.DefaultWorkspace, memento.StoreSpec{Name: "s", Settings: &settings}, nil)
	for i := range 2 * n {
		put := memento.Put{Path: memento.Path(fmt.Sprint("/m", i%n)), Content: fmt.Sprint(i)}
		if _, err := s.Apply(t.Context(), memento.Actor{}, put); err != nil {
			t.Fatal(err)
		}
	}
	return b, s
}

func versionsOf(t *testing.T, s *memento.Store) (n int) {
	t.Helper()
	for _, err := range s.Versions(t.Context(), memento.VersionListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// If the clock is set wrong while the server runs, the server reports it and removes
// nothing. When the clock is right again, maintenance goes on.
func TestMaintenanceHeldByClock(t *testing.T) {
	b, s := aging(t, 30, time.Now())
	c := testConfig()
	c.Maintenance.Interval = time.Second
	var ahead atomic.Int64
	r := startAt(t, c, b, func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	until := func(what, metric string) {
		t.Helper()
		proctest.Until(t, what, func() bool { return strings.Contains(r.scrape(), metric+"\n") })
	}
	until("the first run is done", `memento_maintenance_runs_total{outcome="ok"} 1`)
	ahead.Store(int64(365 * 24 * time.Hour))
	until("maintenance is held", `memento_maintenance_held{reason="clock_moved"} 1`)
	time.Sleep(2500 * time.Millisecond) // and the runs after it
	a := r.ask("GET", "/readyz", "", "")
	if a.StatusCode != 200 || !strings.HasPrefix(a.text, `{"status":"ready","warnings":["maintenance is held: this machine's clock jumped to 20`) {
		t.Errorf("/readyz: %d %s", a.StatusCode, a.text)
	}
	text := r.log.String()
	if n := strings.Count(text, "maintenance is held: the clock of this machine is not trusted"); n != 1 || !strings.Contains(text, `memento maintain --once --force`) {
		t.Errorf("said %d times in %s", n, text)
	}
	ahead.Store(0)
	until("maintenance goes on", `memento_maintenance_held{reason="clock_moved"} 0`)
	if a := r.ask("GET", "/readyz", "", ""); a.text != `{"status":"ready"}`+"\n" {
		t.Errorf("/readyz: %s", a.text)
	}
	if text := r.log.String(); !strings.Contains(text, "is trusted again") {
		t.Errorf("the log is %s", text)
	}
	if n := versionsOf(t, s); n != 60 {
		t.Errorf("%d versions are left, want all 60", n)
	}
}

// A server that starts with a wrong clock runs no maintenance, and acquires no lease.
func TestMaintenanceHeldFromTheStart(t *testing.T) {
	b, s := aging(t, 30, time.Now())
	c := testConfig()
	c.Maintenance.Interval = time.Second
	r := startAt(t, c, clocked{Backend: b}, func() time.Time { return time.Now().Add(365 * 24 * time.Hour) })
	proctest.Until(t, "maintenance is held", func() bool { return strings.Contains(r.scrape(), `memento_maintenance_held{reason="storage_clock"} 1`) })
	time.Sleep(1500 * time.Millisecond)
	if text := r.ask("GET", "/readyz", "", "").text; !strings.Contains(text, "and the storage's 20") {
		t.Errorf("/readyz: %s", text)
	}
	if n := versionsOf(t, s); n != 60 {
		t.Errorf("%d versions are left, want all 60", n)
	}
	if text := r.scrape(); strings.Contains(text, `memento_maintenance_runs_total{outcome="ok"}`) {
		t.Error("maintenance was done")
	}
	if note, err := b.Note(t.Context(), "upkeep"); err != nil || note != "" {
		t.Errorf("it has left the mark %s, %v", note, err)
	}
}

// clocked is a backend with a clock of its own, which is right.
type clocked struct{ *memstore.Backend }

func (clocked) StorageTime(context.Context) (time.Time, error) { return time.Now().UTC(), nil }

func (clocked) AcquireLease(context.Context, string, time.Duration) (bool, error) {
	panic("a server with a wrong clock asks for the duty")
}

// Maintenance that would remove more than usual is held until it is confirmed.
func TestMaintenanceHeldByShare(t *testing.T) {
	b, s := aging(t, 18, time.Now().Add(-3*24*time.Hour))
	c := testConfig()
	c.Maintenance.Interval = time.Second
	r := startAt(t, c, b, time.Now)
	proctest.Until(t, "it is held", func() bool {
		return strings.Contains(r.scrape(), `memento_maintenance_held{reason="more_than_usual"} 1`)
	})
	time.Sleep(1500 * time.Millisecond)
	if n := versionsOf(t, s); n != 36 {
		t.Errorf("%d versions are left, want all 36", n)
	}
	if text := r.ask("GET", "/readyz", "", "").text; !strings.Contains(text, "it would remove more than usual") {
		t.Errorf("/readyz: %s", text)
	}
	text := r.log.String()
	if strings.Count(text, "maintenance of a store is held") != 2 || !strings.Contains(text, "memento expire --force --store memstore_") || !strings.Contains(text, "memento gc --force --store memstore_") {
		t.Errorf("the log is %s", text)
	}
	_ = r.stop()

	c.Maintenance.Share = 100
	startAt(t, c, b, time.Now)
	proctest.Until(t, "all that expired is gone", func() bool {
		info, err := s.Info(t.Context())
		return err == nil && info.Usage.Memories == 0
	})
}
