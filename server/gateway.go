package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/gateway"
	"memento/httpapi"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// newGateway makes the gateway, if the configuration has one.
func (s *Server) newGateway(d Deps, tool memento.ToolOptions) error {
	if s.config.Gateway.URL == "" {
		return nil
	}
	config, err := s.config.gatewayConfig()
	if err != nil {
		return err
	}
	config.Backend, config.Identify, config.Tool, config.Observe = d.Backend, s.gatewayCaller, tool, s.turned
	config.Logger = slog.New(requestIDs{s.logger.Handler()})
	config.Stores = memento.StoreOptions{Detector: d.Detector, Observe: s.observed, Searcher: s.searcher()}
	config.MaxBodies = s.budget / 4 // a body is held about three times, in editing and sending
	s.tokens.perMinute = float64(s.config.Gateway.Tokens)
	config.CountAll = s.config.Gateway.Tokens > 0
	if d.Encrypted {
		s.heldKeys = gateway.NewKeys(d.Backend)
	}
	if !s.config.Gateway.ZeroRetention {
		config.State = gateway.NewState(d.Backend)
	}
	if s.gateway, err = gateway.New(config); err != nil {
		return ConfigErrors{s.config.SettingError("gateway.mounts", "%v", err)}
	}
	return nil
}

// gatewayConfig returns what the settings say about the gateway.
func (c *Config) gatewayConfig() (gateway.Config, error) {
	upstream, err := url.Parse(c.Gateway.URL)
	if err != nil {
		return gateway.Config{}, ConfigErrors{c.SettingError("gateway.url", "must be a URL")}
	}
	config := gateway.Config{Upstream: upstream, UserStores: c.Gateway.UserStores, MaxRounds: c.Gateway.MaxRounds, Timeout: c.Gateway.Timeout}
	config.Emulate = gateway.Emulation{
		Memory: slices.Contains(c.Gateway.Emulate, emulateMemory), ContextEditing: slices.Contains(c.Gateway.Emulate, emulateContextEditing),
		Compaction: slices.Contains(c.Gateway.Emulate, emulateCompaction),
	}
	for _, text := range c.Gateway.Mounts {
		name, store, readOnly := parseMount(text)
		config.Mounts = append(config.Mounts, gateway.Mount{Name: name, Store: store, ReadOnly: readOnly})
	}
	return config, nil
}

// A GatewayCheck is what [Config.CheckGateway] needs besides the configuration.
type GatewayCheck struct {
	Backend   memento.Backend // for the stores of the check, which is thrown away
	Detector  memento.Detector
	Keys      *gateway.Keys     // that the server holds; nil if it has none
	Workspace memento.Workspace // whose key for the upstream is used
	Key       string            // for the upstream, if the server holds none
	Model     string            // "" chooses one
}

// CheckGateway tries the gateway of a configuration with requests to its upstream; see
// [gateway.Check].
//
// Errors: memento.ErrInvalid without a gateway; those of reading the file with the key.
func (c *Config) CheckGateway(ctx context.Context, g GatewayCheck) (iter.Seq[gateway.Step], error) {
	if c.Gateway.URL == "" {
		return nil, fmt.Errorf("%w: the configuration has no gateway", memento.ErrInvalid)
	}
	config, err := c.gatewayConfig()
	if err != nil {
		return nil, err
	}
	config.Backend, config.Stores.Detector = g.Backend, g.Detector
	key, err := upstreamKey(ctx, g.Keys, c.Gateway.KeyFile, g.Workspace)
	if errors.Is(err, errNoUpstreamKey) {
		key, err = g.Key, nil
	}
	if err != nil {
		return nil, err
	}
	return gateway.Check(ctx, config, gateway.CheckOptions{Key: key, Model: g.Model}), nil
}

// withGateway returns the handler of all requests: those of the gateway are all below
// /v1 that are not the API's.
func (s *Server) withGateway() http.Handler {
	if s.gateway == nil {
		return s.api
	}
	guarded := s.api.Guard(gatewayEndpoint, func(w http.ResponseWriter, r *http.Request, who httpapi.Principal) {
		leave, ok := s.inProgress.enter(callerOf(who), s.config.Gateway.MaxConcurrent)
		if !ok {
			refused := gateway.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Retry: true,
				Message: fmt.Sprintf("this key has %d requests to the gateway in progress, which is the most that it may have", s.config.Gateway.MaxConcurrent)}
			refused.Write(w)
			return
		}
		defer leave()
		if wait := s.tokens.wait(callerOf(who), time.Now()); wait > 0 && r.URL.Path == "/v1/messages" {
			refused := gateway.Error{Status: http.StatusTooManyRequests, Type: "rate_limit_error", Retry: true, After: wait,
				Message: fmt.Sprintf("this key has taken more than the %d tokens per minute that it may take", s.config.Gateway.Tokens)}
			refused.Write(w)
			return
		}
		ctx := context.WithValue(r.Context(), principalKey{}, who)
		ctx = context.WithValue(ctx, requestIDKey{}, w.Header().Get("Request-Id"))
		s.gateway.ServeHTTP(w, r.WithContext(ctx))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGatewayPath(r.URL.Path) {
			guarded.ServeHTTP(w, r)
			return
		}
		s.api.ServeHTTP(w, r)
	})
}

// inProgress counts the requests of each key that are being answered.
type inProgress struct {
	mu    sync.Mutex
	count map[string]int // by caller; those without requests are not in it
}

// callerOf identifies a principal: an ID alone may come from outside.
func callerOf(who httpapi.Principal) string {
	return string(who.Workspace) + "/" + string(who.Actor.Kind) + "/" + who.ID
}

// enter counts a request until leave is called, once. It refuses one that is more than
// most, if that is not 0.
func (p *inProgress) enter(caller string, most int) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if most > 0 && p.count[caller] >= most {
		return nil, false
	}
	if p.count == nil {
		p.count = map[string]int{}
	}
	p.count[caller]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.count[caller]--; p.count[caller] == 0 {
			delete(p.count, caller)
		}
	}, true
}

// ownPaths are the API's.
var ownPaths = []string{"/v1/memory_stores", "/v1/admin", "/v1/whoami"}

func isGatewayPath(path string) bool {
	if !strings.HasPrefix(path, "/v1/") {
		return false
	}
	for _, own := range ownPaths {
		if path == own || strings.HasPrefix(path, own+"/") {
			return false
		}
	}
	return true
}

// gatewayEndpoint names the endpoint of a request for logs and metrics.
func gatewayEndpoint(r *http.Request) string {
	switch r.URL.Path {
	case "/v1/messages", "/v1/messages/count_tokens":
		return r.URL.Path
	}
	return "/v1/{gateway}"
}

type principalKey struct{}

// gatewayCaller returns what a request may use. It was authenticated before.
func (s *Server) gatewayCaller(r *http.Request) (gateway.Caller, error) {
	who, ok := r.Context().Value(principalKey{}).(httpapi.Principal)
	if !ok {
		return gateway.Caller{}, errors.New("the caller of the gateway was not authenticated")
	}
	c := s.config.Gateway
	caller := gateway.Caller{
		Workspace: who.Workspace, Actor: who.Actor, ReadOnly: !who.Role.Allows(apikey.RoleWrite),
		Store: strings.ReplaceAll(c.Store, "{key}", who.ID),
	}
	if c.Store == "none" {
		caller.Store = ""
	}
	if own := r.Header.Get(httpapi.KeyHeader); own != "" {
		removeKey(r.Header, own)
		if r.Header.Get("X-Api-Key") != "" || r.Header.Get("Authorization") != "" {
			return caller, nil // the caller has brought a key for the upstream
		}
	}
	var err error
	caller.UpstreamKey, err = upstreamKey(r.Context(), s.heldKeys, c.KeyFile, who.Workspace)
	return caller, err
}

// removeKey removes memento's key, and what looks like one, from the headers for the
// upstream's: callers send it in both when their SDK is configured with it.
func removeKey(h http.Header, own string) {
	for _, name := range []string{"X-Api-Key", "Authorization"} {
		for _, value := range h.Values(name) {
			secret := strings.TrimSpace(value)
			if scheme, token, found := strings.Cut(secret, " "); found && strings.EqualFold(scheme, "Bearer") {
				secret = strings.TrimSpace(token)
			}
			if secret == own || strings.HasPrefix(secret, apikey.SecretPrefix) {
				h.Del(name)
				break
			}
		}
	}
}

// errNoUpstreamKey means that the server holds no key for a workspace.
var errNoUpstreamKey error = &gateway.Error{
	Status: http.StatusForbidden, Type: "permission_error",
	Message: "the gateway holds no key for the upstream of this workspace; send yours as x-api-key, and the key of memento as " + httpapi.KeyHeader,
}

// maxKeyFile is the most bytes of a file with a key.
const maxKeyFile = 4096

// upstreamKey returns the key that the server holds for a workspace: in its backend, else
// in a file.
//
// Errors: errNoUpstreamKey.
func upstreamKey(ctx context.Context, held *gateway.Keys, file string, ws memento.Workspace) (string, error) {
	if held != nil {
		if key, err := held.Get(ctx, ws); !errors.Is(err, memento.ErrNotExist) {
			return key, err
		}
	}
	return keyInFile(file, ws)
}

// keyInFile returns the key in the file, or in the file of a workspace. It is read for
// each request, so that a key can be replaced.
//
// Errors: errNoUpstreamKey.
func keyInFile(file string, ws memento.Workspace) (string, error) {
	if file == "" {
		return "", errNoUpstreamKey
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		name := string(ws)
		if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, `/\`) {
			return "", errNoUpstreamKey
		}
		file = filepath.Join(file, name)
		if info, err = os.Stat(file); errors.Is(err, os.ErrNotExist) {
			return "", errNoUpstreamKey
		}
	}
	if err != nil || info.Size() > maxKeyFile {
		return "", cmp.Or(err, errors.New("the file with the key for the upstream is too large"))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if key := strings.TrimSpace(string(data)); key != "" {
		return key, nil
	}
	return "", errNoUpstreamKey
}

// turned is called for each message that the gateway has answered itself, and with a limit
// of tokens for all others.
func (s *Server) turned(ctx context.Context, t gateway.Turn) {
	if who, ok := ctx.Value(principalKey{}).(httpapi.Principal); ok {
		s.tokens.take(callerOf(who), t.InputTokens+t.CacheCreationTokens+t.OutputTokens, time.Now())
	}
	if t.Passed {
		return
	}
	s.maintenance.note(gateway.StateWorkspace)
	model := s.models.label(t.Model, t.Outcome == "ok" || t.Outcome == "mixed")
	s.metrics.turns.WithLabelValues(model, t.Outcome).Inc()
	s.metrics.rounds.WithLabelValues(model).Add(float64(t.Rounds))
	for outcome, n := range map[string]int{"ok": t.MemoryCalls - t.RefusedCalls - t.FailedCalls, "refused": t.RefusedCalls, "failed": t.FailedCalls} {
		s.metrics.memoryCalls.WithLabelValues(model, outcome).Add(float64(n))
	}
	for kind, n := range map[string]int64{"input": t.InputTokens, "output": t.OutputTokens, "cleared": t.ClearedTokens} {
		s.metrics.tokens.WithLabelValues(model, kind).Add(float64(n))
	}
	s.metrics.compactions.WithLabelValues(model).Add(float64(t.Compactions))
	s.metrics.ownTime.Observe(t.Own.Seconds())
	span := trace.SpanFromContext(ctx)
	if t.Outcome == "upstream_error" {
		span.SetAttributes(attribute.String("error.type", t.Outcome)) // also of a stream that has begun
	}
	span.SetAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.provider.name", "anthropic"),
		attribute.String("gen_ai.request.model", model),
		attribute.Int64("gen_ai.usage.input_tokens", t.InputTokens+t.CacheCreationTokens+t.CacheReadTokens), // as the conventions count
		attribute.Int64("gen_ai.usage.cache_creation.input_tokens", t.CacheCreationTokens),
		attribute.Int64("gen_ai.usage.cache_read.input_tokens", t.CacheReadTokens),
		attribute.Int64("gen_ai.usage.output_tokens", t.OutputTokens),
		attribute.Int("memento.gateway.rounds", t.Rounds),
		attribute.Int("memento.gateway.memory_calls", t.MemoryCalls),
		attribute.String("memento.gateway.outcome", t.Outcome),
	)
}

// modelLabels bounds the labels that models make: clients choose their names. A name is a
// label once the upstream has answered for it, so that wrong names take no place.
type modelLabels struct {
	mu    sync.Mutex
	known map[string]bool
}

const maxModels = 50

func (m *modelLabels) label(model string, answered bool) string {
	const other, longest = "other", 64
	if len(model) > longest || strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return other
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known[model] && (!answered || len(m.known) >= maxModels) {
		return other
	}
	if m.known == nil {
		m.known = map[string]bool{}
	}
	m.known[model] = true
	return model
}
