package server

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"time"

	"memento"
	"memento/httpapi"
)

// Deps are what a server is made of besides its configuration.
type Deps struct {
	Backend  memento.Backend // required; closed by the caller, after Run
	Detector memento.Detector
	Log      io.Writer        // nil: no log
	Version  string           // of memento, for metrics and traces
	Now      func() time.Time // nil: time.Now

	// Elapsed tells how much time has passed, by a clock that cannot be set; see
	// memento.MaintainerOptions. Nil: this machine's.
	Elapsed func() time.Duration
}

// A Server is a memento server whose listeners are open. See [New].
type Server struct {
	config      Config
	logger      *slog.Logger
	level       *slog.LevelVar
	metrics     *metrics
	traces      *traces
	api         *httpapi.API
	health      *health
	certs       *certificates // nil without TLS
	hooks       *webhooks
	maintenance *maintenance
	budget      int64 // bytes that requests may take

	main, metricsListener, pprof net.Listener // the latter two may be nil
}

// The bounds of connections; those of requests are the API's.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	bodyGrace      = time.Second      // for a body that nobody reads
	scrapeTimeout  = 30 * time.Second // to take the metrics
	hooksGrace     = 5 * time.Second  // for what is queued, at the end
	lastGrace      = 2 * time.Second  // for traces and scrapers, at the end
)

// New makes a server and opens its listeners, which accept connections from then
// on, and answer them once it runs.
//
// Errors: Faults, those of [Config.Check] and of what only starting shows, such as
// an address that is taken, which is memento.ErrInUse, too; memento.ErrUnsupported if
// nobody could come in.
func New(c Config, d Deps) (*Server, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = io.Discard
	}
	c.Webhooks = slices.Clone(c.Webhooks)
	for i := range c.Webhooks {
		if w := &c.Webhooks[i]; w.key == nil { // of a configuration that was not loaded
			if err := w.findSecret(os.Getenv); err != nil {
				return nil, ConfigErrors{c.webhookError(i, "%v", err)}
			}
		}
	}
	if err := c.Check(d.Now()); err != nil {
		return nil, err
	}
	s := &Server{config: c, metrics: newMetrics(cmp.Or(d.Version, "unknown")), health: &health{backend: d.Backend}}
	s.logger, s.level = newLogger(d.Log, c.Log)
	if meter, ok := d.Backend.(memento.MetricSource); ok {
		s.metrics.registry.MustRegister(measures{meter, s.logger})
	}
	auth, err := s.authenticator(d)
	if err != nil {
		return nil, err
	}
	if every := &c.Maintenance.Interval; *every > 0 {
		*every = max(*every, time.Second) // less would do nothing else
	}
	if s.budget = c.MemoryBudget; s.budget == 0 {
		s.budget = memoryBudget(availableMemory(), runtime.GOMAXPROCS(0))
	}
	s.maintenance = &maintenance{
		backend: d.Backend, interval: c.Maintenance.Interval, logger: s.logger, metrics: s.metrics, health: s.health,
		keeper: memento.NewMaintainer(d.Backend, memento.MaintainerOptions{Now: d.Now, Elapsed: d.Elapsed, Share: c.Maintenance.Share}),
	}
	s.api, err = httpapi.New(d.Backend, httpapi.Options{
		Auth: auth, Detector: d.Detector, Logger: s.logger, Now: d.Now,
		Observe:    s.observed,
		StoreEvent: func(e httpapi.StoreEvent) { s.hooks.tell(e) },
		Requested:  s.requested,

		StrictBetas: c.StrictBetas, RedactRole: c.RedactRole, Hosts: c.apiHosts(), Origins: c.Origins,
		MaxBody: c.MaxBody, MaxImport: c.MaxImport, MaxConcurrent: c.MaxConcurrent, Timeout: c.Timeout,
		MemoryBudget: s.budget,
		Rate:         httpapi.Rate{Reads: c.Rate.Reads, Writes: c.Rate.Writes, Burst: c.Rate.Burst},
		Tool:         memento.ToolOptions{ViewChars: c.Tool.ViewChars, ViewEntries: c.Tool.ViewEntries, CreateOverwrites: c.Tool.CreateOverwrites},
	})
	if err != nil {
		return nil, err
	}
	s.metrics.registry.MustRegister(loads{s.api})
	if c.TLS.CertFile != "" {
		if s.certs, err = newCertificates(c.TLS, d.Now, s.logger, s.metrics); err != nil {
			return nil, ConfigErrors{c.SettingError("tls.cert_file", "%v", err)}
		}
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	if s.traces, err = newTraces(context.Background(), c.Traces, d.Version, s.logger); err != nil {
		s.closeListeners()
		return nil, ConfigErrors{c.SettingError("traces.endpoint", "%v", err)}
	}
	s.hooks = newWebhooks(c.Webhooks, d.Now, s.logger, s.metrics)
	return s, nil
}

// authenticator is who may come in.
func (s *Server) authenticator(d Deps) (httpapi.Authenticator, error) {
	var auths []httpapi.Authenticator
	if keeper, ok := d.Backend.(memento.KeyKeeper); ok {
		auths = append(auths, httpapi.NewKeyAuth(keeper, d.Now))
	}
	if s.config.OIDC.Issuer != "" {
		auths = append(auths, newOIDC(s.config.OIDC, d.Now, s.logger))
	}
	if len(auths) == 0 {
		return nil, fmt.Errorf("%w: this backend keeps no keys, so nobody could come in", memento.ErrUnsupported)
	}
	return httpapi.FirstOf(auths...), nil
}

// Logger writes to the server's log.
func (s *Server) Logger() *slog.Logger { return s.logger }

// Reload takes up what of a configuration can change while the server runs: the
// certificate's files, webhooks, and the level of the log. Webhooks that were left
// alone are tried again.
func (s *Server) Reload(c Config) {
	s.level.Set(levelOf(c.Log.Level))
	if s.certs != nil {
		s.certs.reload()
	}
	s.hooks.set(c.Webhooks)
	s.logger.Info("configuration read again")
}

// Close releases a server that was never run.
func (s *Server) Close() {
	s.closeListeners()
	s.api.Close()
	ended, end := context.WithCancel(context.Background())
	end()
	s.hooks.close(ended)
	s.traces.close(ended)
}

// requested is told of every request that was answered.
func (s *Server) requested(ctx context.Context, r httpapi.Request) {
	s.metrics.requested(r)
	s.traces.requested(ctx, r)
	s.maintenance.note(r.Principal.Workspace)
	logRequest(ctx, s.logger, r)
}

// observed is told of every call of a store to the backend.
func (s *Server) observed(ctx context.Context, o memento.Observation) {
	s.metrics.observed(ctx, o)
	s.traces.observed(ctx, o)
}
