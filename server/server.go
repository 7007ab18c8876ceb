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
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/embedding"
	"memento/console"
	"memento/gateway"
	"memento/httpapi"
	"memento/maintenance"
	"memento/mcpserver"
)

// Deps are the dependencies of a server besides its configuration.
type Deps struct {
	Backend memento.Backend // required; the caller closes it after Run
	// Encrypted is whether Backend encrypts contents: then it can hold keys for the
	// upstream of the gateway.
	Encrypted bool
	Detector  memento.Detector
	Log       io.Writer        // nil: no log
	Version   string           // of memento, for metrics and traces
	Now       func() time.Time // nil: time.Now

	// Elapsed returns the time that has passed, by a clock that cannot be set; see
	// maintenance.Options. Nil: this machine's.
	Elapsed func() time.Duration
}

// Server is a memento server whose listeners are open. See [New].
type Server struct {
	config      Config
	logger      *slog.Logger
	level       *slog.LevelVar
	metrics     *metrics
	traces      *traces
	api         *httpapi.API
	gateway     *gateway.Gateway   // nil if there is none
	mcp         *mcpserver.Handler // nil if there is none
	console     *console.Handler   // nil if there is none
	oidc        *oidcAuth          // nil if no issuer is configured
	auth        httpapi.Authenticator
	heldKeys    *gateway.Keys // nil if the backend cannot hold keys for the upstream
	models      modelLabels
	inProgress  inProgress // requests to the gateway
	tokens      tokenLimiter
	health      *health
	certs       *certificates // nil without TLS
	hooks       *webhooks
	meaning     *embedding.Searcher // nil if search is by words alone
	maintenance *maintainer
	inventory   *inventory
	budget      int64 // bytes of memory that requests may use

	main, metricsListener, pprof net.Listener // the latter two may be nil
}

// The time limits of connections. Package httpapi has those of requests.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	consoleTimeout = time.Minute      // for an answer of the console itself
	bodyGrace      = time.Second      // for a request body that no handler reads
	scrapeTimeout  = 30 * time.Second // for sending the metrics
	hooksGrace     = 5 * time.Second  // for queued messages of webhooks, at shutdown
	lastGrace      = 2 * time.Second  // for traces and metrics, at shutdown
)

// New makes a server and opens its listeners. They accept connections at once; the
// server answers them when it runs.
//
// Errors: ConfigErrors, those of [Config.Check] and those that only a start can show.
// If an address is in use, they are also backend.ErrInUse. memento.ErrUnsupported if no
// caller could authenticate.
func New(c Config, d Deps) (*Server, error) {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Log == nil {
		d.Log = io.Discard
	}
	c.Webhooks = slices.Clone(c.Webhooks)
	for i := range c.Webhooks {
		if w := &c.Webhooks[i]; w.key == nil { // the configuration was not made by Load
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
	if meter, ok := d.Backend.(backend.MetricSource); ok {
		s.metrics.registry.MustRegister(measures{"memento_backend_", meter, s.logger})
	}
	if err := s.newMeaning(d); err != nil {
		return nil, err
	}
	complete := false
	defer func() {
		if !complete {
			s.closeMeaning()
		}
	}()
	auth, err := s.authenticator(d)
	s.auth = auth
	if err != nil {
		return nil, err
	}
	if every := &c.Maintenance.Interval; *every > 0 {
		*every = max(*every, time.Second) // more often than once a second would take too much time
	}
	if s.budget = c.MemoryBudget; s.budget == 0 {
		s.budget = memoryBudget(availableMemory(), runtime.GOMAXPROCS(0))
	}
	s.maintenance = &maintainer{
		backend: d.Backend, interval: c.Maintenance.Interval, logger: s.logger, metrics: s.metrics, health: s.health,
		keeper: maintenance.New(d.Backend, maintenance.Options{Now: d.Now, Elapsed: d.Elapsed, Share: c.Maintenance.Share}),
	}
	s.inventory = newInventory(d.Backend, s.maintenance.workspaces, s.logger)
	profile, err := memento.ProfileNamed(c.Tool.Profile)
	if err != nil {
		return nil, err
	}
	tool := memento.ToolOptions{ViewChars: c.Tool.ViewChars, ViewEntries: c.Tool.ViewEntries, CreateOverwrites: c.Tool.CreateOverwrites, Search: c.Tool.Search, Profile: profile}
	s.api, err = httpapi.New(d.Backend, httpapi.Options{
		Auth: auth, Detector: d.Detector, Searcher: s.searcher(), Logger: s.logger, Now: d.Now,
		Observe:    s.observed,
		ToolCalled: func(_ context.Context, c httpapi.ToolCall) { s.metrics.toolCalled(c.Command, c.Refused, c.Err) },
		StoreEvent: s.storeChanged,
		Requested:  s.requested,

		StrictBetas: c.StrictBetas, RedactRole: c.RedactRole, Hosts: c.apiHosts(), Origins: c.Origins, Proxy: httpapi.Proxy(c.Proxy),
		MaxBody: c.MaxBody, MaxImport: c.MaxImport, MaxConcurrent: c.MaxConcurrent, Timeout: c.Timeout,
		MemoryBudget: s.budget,
		Rate:         httpapi.Rate{Reads: c.Rate.Reads, Writes: c.Rate.Writes, Burst: c.Rate.Burst},
		Tool:         tool,
	})
	if err != nil {
		return nil, err
	}
	if err := s.newGateway(d, tool); err != nil {
		return nil, err
	}
	if err := s.newMCP(d, tool); err != nil {
		return nil, err
	}
	if c.Console {
		provider, err := s.consoleProvider()
		if err != nil {
			return nil, ConfigErrors{c.SettingError("oidc.client_secret_file", "%v", err)}
		}
		notes, _ := d.Backend.(backend.NoteKeeper) // or in memory
		if s.console, err = console.New(console.Options{API: s.api, Now: d.Now, Notes: notes, Provider: provider}); err != nil {
			return nil, err
		}
	}
	s.metrics.registry.MustRegister(loads{s.api}, s.inventory)
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
	complete = true
	return s, nil
}

// authenticator returns the authenticator of API requests.
func (s *Server) authenticator(d Deps) (httpapi.Authenticator, error) {
	var auths []httpapi.Authenticator
	if keeper, ok := d.Backend.(apikey.Keeper); ok {
		auths = append(auths, unreserved{httpapi.NewKeyAuth(keeper, d.Now)})
	}
	if s.config.OIDC.Issuer != "" {
		s.oidc = newOIDC(s.config.OIDC, d.Now, s.logger)
		auths = append(auths, unreserved{s.oidc})
	}
	if len(auths) == 0 {
		return nil, fmt.Errorf("%w: this backend cannot store API keys, so nobody could authenticate", memento.ErrUnsupported)
	}
	return httpapi.FirstOf(auths...), nil
}

// unreserved is an authenticator that refuses callers of the workspaces in which the
// gateway keeps its own data.
type unreserved struct{ httpapi.Authenticator }

func (u unreserved) Authenticate(ctx context.Context, credential string) (httpapi.Principal, error) {
	who, err := u.Authenticator.Authenticate(ctx, credential)
	if err == nil && (who.Workspace == gateway.StateWorkspace || who.Workspace == gateway.KeysWorkspace) {
		return httpapi.Principal{}, httpapi.ErrUnauthenticated
	}
	return who, err
}

// Invalidate makes the revocation of a key take effect at once, if the authenticator caches keys.
func (u unreserved) Invalidate(id memento.KeyID) {
	if caching, ok := u.Authenticator.(interface{ Invalidate(memento.KeyID) }); ok {
		caching.Invalidate(id)
	}
}

// Logger returns a logger that writes to the server's log.
func (s *Server) Logger() *slog.Logger { return s.logger }

// Reload applies the settings that can change while the server runs: the certificate's
// files, webhooks, and the log level. It enables webhooks that were disabled.
func (s *Server) Reload(c Config) {
	s.level.Set(levelOf(c.Log.Level))
	if s.certs != nil {
		s.certs.reload()
	}
	s.hooks.set(c.Webhooks)
	s.logger.Info("configuration reloaded")
}

// Close releases a server that was never run.
func (s *Server) Close() {
	s.closeListeners()
	s.api.Close()
	s.inventory.close()
	if s.console != nil {
		s.console.Close()
	}
	ended, end := context.WithCancel(context.Background())
	end()
	s.hooks.close(ended)
	s.traces.close(ended)
	s.closeMeaning()
}

// requested is called for every answered request.
func (s *Server) requested(ctx context.Context, r httpapi.Request) {
	s.metrics.requested(r)
	s.traces.requested(ctx, r)
	s.maintenance.note(r.Principal.Workspace)
	logRequest(ctx, s.logger, r)
}

// storeChanged is called for every store that was created, archived or deleted.
func (s *Server) storeChanged(ctx context.Context, e httpapi.StoreEvent) {
	s.hooks.tell(e)
	s.storeWritten(e.Store)
	s.traces.storeChanged(ctx, e)
}

// observed is called for every call of a store to the backend.
func (s *Server) observed(ctx context.Context, o memento.Observation) {
	s.metrics.observed(ctx, o)
	if len(o.Receipt.Versions) > 0 || o.Op == "import" || o.Op == "redact" || o.Op == "prune" {
		s.storeWritten(o.Store)
	}
	s.traces.observed(ctx, o)
}
