package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/memstore"
	"memento/maintenance"
	"memento/test/proctest"
)

// Memories expire, and history is pruned, in every workspace that has keys.
func TestMaintenance(t *testing.T) {
	b := memstore.New(nil)
	c := testConfig()
	c.Maintenance.Interval = 20 * time.Millisecond
	other := memento.Workspace("other")
	stores := map[memento.Workspace]*memento.Store{}
	for _, ws := range []memento.Workspace{memento.DefaultWorkspace, other} {
		settings := memento.DefaultSettings()
		settings.Sensitive.Mode = memento.Off
		settings.Retention = memento.Retention{Age: time.Hour}
		stores[ws] = memento.OpenNamed(b, ws, memento.StoreSpec{Name: "s", Settings: &settings}, nil)
		for i := range 4 {
			if _, err := stores[ws].Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/a.md", Content: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := startAt(t, c, b, func() time.Time { return time.Now().Add(2 * time.Hour) })
	r.addKey(other, apikey.RoleRead)
	for ws, s := range stores {
		proctest.Until(t, "history is collected in "+string(ws), func() bool {
			n := 0
			for _, err := range s.Versions(t.Context(), memento.VersionListOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n == 1
		})
	}
	proctest.Until(t, "it is counted", func() bool {
		text := r.scrape()
		return strings.Contains(text, "memento_pruned_versions_total 6") && strings.Contains(text, "memento_pruned_bytes_total 6") &&
			strings.Contains(text, `memento_maintenance_runs_total{outcome="ok"}`)
	})
	if text := r.log.String(); !strings.Contains(text, "store maintained") || !strings.Contains(text, "workspace=other") {
		t.Errorf("the log is %s", text)
	}
}

// Unused memories expire as time passes, also in a workspace that is known only from a
// token.
func TestMaintenanceExpires(t *testing.T) {
	b := memstore.New(nil)
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	settings.Expiry.After = time.Hour
	s := memento.OpenNamed(b, "tokens", memento.StoreSpec{Name: "s", Settings: &settings}, nil)
	if _, err := s.Apply(t.Context(), memento.Actor{}, memento.Put{Path: "/canary.md", Content: "12345"}); err != nil {
		t.Fatal(err)
	}
	log := &proctest.Buffer{}
	logger, _ := newLogger(log, Log{Format: "text", Level: "debug"})
	m := &maintainer{
		backend: struct{ memento.Backend }{b}, logger: logger, metrics: newMetrics("test"), // which does not tell its workspaces
		keeper: maintenance.New(b, maintenance.Options{Now: func() time.Time { return time.Now().Add(72 * time.Hour) }}),
	}
	m.once(t.Context())
	if _, err := s.Get(t.Context(), memento.ByPath("/canary.md")); err != nil {
		t.Errorf("a workspace that nobody named: %v", err)
	}
	m.note("tokens")
	m.once(t.Context())
	if _, err := s.Get(t.Context(), memento.ByPath("/canary.md")); err == nil {
		t.Error("the memory is still there")
	}
	if text := log.String(); !strings.Contains(text, "expired=1") || strings.Contains(text, "canary") {
		t.Errorf("the log is %s", text)
	}
	_ = b.Close()
	m.once(t.Context())
	if text := log.String(); !strings.Contains(text, "level=ERROR") {
		t.Errorf("with the backend closed, the log is %s", text)
	}
}

// Maintenance ends when the server ends.
func TestMaintenanceEnds(t *testing.T) {
	m := &maintainer{backend: memstore.New(nil), interval: time.Hour, metrics: newMetrics("test")}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		m.run(ctx)
		close(ended)
	}()
	cancel()
	<-ended
	m.interval = 0
	m.run(t.Context()) // which is off, and returns
}
