package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"memento"
	"memento/backend/apikey"
	"memento/gateway"
	"memento/httpapi"
	"memento/mcpserver"
)

// MCPPath is the path of the endpoint of the Model Context Protocol.
const MCPPath = "/mcp"

// mcpOff is the value of MCP.Tools without an endpoint.
const mcpOff = "off"

// resourcePath is where clients find which issuer has tokens for the endpoint: RFC 9728.
// The path of the endpoint may follow.
const resourcePath = "/.well-known/oauth-protected-resource"

// newMCP makes the endpoint of the Model Context Protocol, unless the configuration has
// none.
func (s *Server) newMCP(d Deps, tool memento.ToolOptions) (err error) {
	c := s.config.MCP
	if c.Tools == mcpOff {
		return nil
	}
	if len(c.Mounts) > 0 {
		var names []string
		for _, text := range c.Mounts {
			name, _, _ := parseMount(text)
			names = append(names, name)
		}
		if err := memento.CheckMountNames(names...); err != nil {
			return ConfigErrors{s.config.SettingError("mcp.mounts", "%v", err)}
		}
	}
	stores := memento.StoreOptions{Detector: d.Detector, Observe: s.observed, Searcher: s.searcher()}
	s.mcp, err = mcpserver.NewHandler(mcpserver.HandlerOptions{
		Caller: func(w http.ResponseWriter, r *http.Request) (mcpserver.Caller, bool) {
			who, _ := r.Context().Value(principalKey{}).(httpapi.Principal)
			caller, why := s.mcpCaller(r, who, d.Backend, &stores, tool)
			if why != "" {
				http.Error(w, why, http.StatusBadRequest)
			}
			return caller, why == ""
		},
		Server: mcpserver.Options{
			Tools: mcpserver.ToolSet(c.Tools), History: c.History, Version: d.Version, Logger: s.logger,
			ToolCalled: func(_ context.Context, c mcpserver.ToolCall) { s.metrics.toolCalled(c.Command, c.Refused, c.Err) },
		},
	})
	return err
}

// mcpCaller returns what a request to the endpoint may use, or why it is refused.
func (s *Server) mcpCaller(r *http.Request, who httpapi.Principal, b memento.Backend, stores *memento.StoreOptions, tool memento.ToolOptions) (caller mcpserver.Caller, why string) {
	selected, why := mcpStore(r)
	if why != "" {
		return caller, why
	}
	c := s.config.MCP
	if selected == "" {
		selected = strings.ReplaceAll(c.Store, "{key}", who.ID)
	}
	role := apikey.RoleRead
	if who.Role.Allows(apikey.RoleWrite) {
		role = apikey.RoleWrite
	}
	sender := []string{string(who.Workspace), string(who.Actor.Kind), who.Actor.ID, who.ID}
	caller.Key = nameOf(sender...)
	caller.ID = nameOf(append(sender, string(role), selected)...)
	caller.ReadOnly = role == apikey.RoleRead
	credential := credentialOf(r)
	caller.Valid = func(ctx context.Context) bool {
		now, err := s.auth.Authenticate(ctx, credential)
		return err == nil && now.Workspace == who.Workspace && now.Role == who.Role
	}
	caller.Open = func(context.Context, mcpserver.Client) (mcpserver.Memory, error) {
		m := mcpserver.Memory{Tool: tool}
		m.Tool.Actor = who.Actor
		open := func(name string) *memento.Store {
			return memento.OpenNamed(b, who.Workspace, memento.StoreSpec{Name: name}, stores)
		}
		if len(c.Mounts) == 0 {
			m.Mounts = []memento.Mount{{Store: open(selected)}}
		}
		for _, text := range c.Mounts {
			name, store, readOnly := parseMount(text)
			m.Mounts = append(m.Mounts, memento.Mount{Name: name, Store: open(strings.ReplaceAll(store, "{store}", selected)), ReadOnly: readOnly})
		}
		return m, nil
	}
	return caller, ""
}

// nameOf returns a name that only these parts have, in this order.
func nameOf(parts ...string) string {
	encoded, _ := json.Marshal(parts) // strings always encode; as JSON, they cannot be taken for one another
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:])
}

// credentialOf returns the credential that a request was admitted with.
func credentialOf(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return cmp.Or(r.Header.Get(httpapi.KeyHeader), r.Header.Get("x-api-key"), strings.TrimSpace(token))
}

// mcpStore returns the store that a request names, in its URL or in a header; "" for none.
func mcpStore(r *http.Request) (name, why string) {
	named := append(r.Header.Values(gateway.StoreHeader), r.URL.Query()["store"]...)
	switch len(named) {
	case 0:
		return "", ""
	case 1:
	default:
		return "", "name one store, as ?store=NAME or in the header " + gateway.StoreHeader
	}
	if err := memento.CheckStoreName(named[0]); err != nil {
		return "", err.Error()
	}
	return named[0], ""
}

// withMCP returns a handler that answers requests to the endpoint, and passes on others.
func (s *Server) withMCP(next http.Handler) http.Handler {
	if s.mcp == nil {
		return next
	}
	messages := httpapi.MessageOptions{MaxBody: mcpserver.MaxMessageBytes, IsStream: mcpserver.IsStream}
	guarded := s.api.GuardMessages(func(*http.Request) string { return MCPPath }, messages, func(w http.ResponseWriter, r *http.Request, who httpapi.Principal) {
		s.mcp.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, who)))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case MCPPath:
			if s.config.OIDC.Issuer != "" {
				w = &challenger{ResponseWriter: w, metadata: s.publicURL(r) + resourcePath + MCPPath}
			}
			guarded.ServeHTTP(w, r)
		case resourcePath, resourcePath + MCPPath:
			if s.config.OIDC.Issuer == "" {
				next.ServeHTTP(w, r)
				return
			}
			s.describeResource(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// publicURL returns the server's URL without a path: the configured one, or that of the
// request.
func (s *Server) publicURL(r *http.Request) string {
	if s.config.MCP.URL != "" {
		return strings.TrimSuffix(s.config.MCP.URL, "/")
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// describeResource answers with the metadata of the endpoint, which anyone may read.
func (s *Server) describeResource(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Methods  []string `json:"bearer_methods_supported"`
		Name     string   `json:"resource_name"`
	}{s.publicURL(r) + MCPPath, []string{s.config.OIDC.Issuer}, []string{"header"}, "memento"})
}

// A challenger adds to the answer of a request without a valid key where the client finds
// the issuer of tokens.
type challenger struct {
	http.ResponseWriter
	metadata string
}

func (c *challenger) WriteHeader(status int) {
	if status == http.StatusUnauthorized {
		c.Header().Set("WWW-Authenticate", `Bearer realm="memento", resource_metadata="`+c.metadata+`"`)
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *challenger) Unwrap() http.ResponseWriter { return c.ResponseWriter }
