package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"memento/backend/apikey"
)

// A route is an endpoint.
type route struct {
	method  string
	pattern string      // of http.ServeMux, without the method
	role    apikey.Role // required of the caller; "" means that no key is needed
	kind    routeKind
	do      func(*API, *call) error
}

type routeKind int

const (
	ownEndpoint       routeKind = iota // memento's own
	anthropicEndpoint                  // of the Memory Stores API: see checkBetas
	streamEndpoint                     // goes on for as long as the client listens
	largeEndpoint                      // with JSON that may be as large as a store: see MaxBody
	bulkEndpoint                       // with a large body, which is checked as it is read
)

const (
	storesPath   = "/v1/memory_stores"
	storePath    = storesPath + "/{store}"
	memoriesPath = storePath + "/memories"
	memoryPath   = memoriesPath + "/{memory}"
	versionsPath = storePath + "/memory_versions"
	versionPath  = versionsPath + "/{version}"
	keysPath     = "/v1/admin/keys"
	keyPath      = keysPath + "/{key}"
)

// endpoints lists the endpoints of the API. openapi.yaml describes the same ones; a test
// compares them.
var endpoints = []route{
	{"POST", storesPath, apikey.RoleWrite, anthropicEndpoint, (*API).createStore},
	{"GET", storesPath, apikey.RoleRead, anthropicEndpoint, (*API).listStores},
	{"GET", storePath, apikey.RoleRead, anthropicEndpoint, (*API).getStore},
	{"POST", storePath, apikey.RoleWrite, anthropicEndpoint, (*API).updateStore},
	{"DELETE", storePath, apikey.RoleWrite, anthropicEndpoint, (*API).deleteStore},
	{"POST", storePath + "/archive", apikey.RoleWrite, anthropicEndpoint, (*API).archiveStore},

	{"POST", memoriesPath, apikey.RoleWrite, anthropicEndpoint, changing((*API).createMemory)},
	{"GET", memoriesPath, apikey.RoleRead, anthropicEndpoint, inStore((*API).listMemories)},
	{"GET", memoryPath, apikey.RoleRead, anthropicEndpoint, inStore((*API).getMemory)},
	{"POST", memoryPath, apikey.RoleWrite, anthropicEndpoint, changing((*API).updateMemory)},
	{"PATCH", memoryPath, apikey.RoleWrite, anthropicEndpoint, changing((*API).updateMemory)},
	{"DELETE", memoryPath, apikey.RoleWrite, anthropicEndpoint, changing((*API).deleteMemory)},

	{"GET", versionsPath, apikey.RoleRead, anthropicEndpoint, inStore((*API).listVersions)},
	{"GET", versionPath, apikey.RoleRead, anthropicEndpoint, inStore((*API).getVersion)},
	{"POST", versionPath + "/redact", apikey.RoleAdmin, anthropicEndpoint, changing((*API).redactVersion)},

	{"POST", storesPath + "/by-name", apikey.RoleWrite, ownEndpoint, (*API).storeByName},
	{"GET", storesPath + "/changes", apikey.RoleRead, streamEndpoint, (*API).streamWorkspace},
	{"GET", storePath + "/settings", apikey.RoleRead, ownEndpoint, (*API).getSettings},
	{"POST", storePath + "/settings", apikey.RoleAdmin, ownEndpoint, (*API).updateSettings},
	{"GET", storePath + "/usage", apikey.RoleRead, ownEndpoint, (*API).getUsage},
	{"GET", storePath + "/usage/daily", apikey.RoleRead, ownEndpoint, inStore((*API).getDailyUsage)},
	{"GET", storePath + "/expiring", apikey.RoleRead, ownEndpoint, inStore((*API).getExpiring)},
	{"POST", storePath + "/tool", apikey.RoleRead, ownEndpoint, inStore((*API).runTool)},
	{"GET", storePath + "/search", apikey.RoleRead, ownEndpoint, inStore((*API).search)},
	{"GET", storePath + "/changes", apikey.RoleRead, streamEndpoint, inStore((*API).streamChanges)},
	{"POST", storePath + "/changes", apikey.RoleWrite, largeEndpoint, changing((*API).applyChanges)},
	{"GET", memoriesPath + "/by-path", apikey.RoleRead, ownEndpoint, inStore((*API).getMemoryByPath)},
	{"POST", versionPath + "/restore", apikey.RoleWrite, ownEndpoint, changing((*API).restoreVersion)},
	{"POST", storePath + "/restore", apikey.RoleWrite, ownEndpoint, changing((*API).restoreStore)},
	{"POST", storePath + "/undo", apikey.RoleWrite, ownEndpoint, changing((*API).undo)},
	{"GET", storePath + "/export", apikey.RoleRead, streamEndpoint, inStore((*API).exportStore)},
	{"POST", storePath + "/import", apikey.RoleWrite, bulkEndpoint, changing((*API).importStore)},

	{"GET", storePath + "/entries", apikey.RoleRead, streamEndpoint, inStore((*API).streamEntries)},
	{"GET", storePath + "/history", apikey.RoleRead, streamEndpoint, inStore((*API).streamHistory)},
	{"POST", storePath + "/history", apikey.RoleAdmin, bulkEndpoint, inStore((*API).importHistory)},
	{"POST", storePath + "/prune", apikey.RoleAdmin, ownEndpoint, inStore((*API).pruneHistory)},
	{"POST", storePath + "/reads", apikey.RoleRead, ownEndpoint, (*API).markReads},

	{"GET", "/v1/whoami", apikey.RoleRead, ownEndpoint, (*API).whoAmI},
	{"GET", keysPath, apikey.RoleAdmin, ownEndpoint, (*API).listKeys},
	{"POST", keysPath, apikey.RoleAdmin, ownEndpoint, (*API).createKey},
	{"GET", keyPath, apikey.RoleAdmin, ownEndpoint, (*API).getKey},
	{"POST", keyPath + "/revoke", apikey.RoleAdmin, ownEndpoint, (*API).revokeKey},
	{"POST", keyPath + "/rotate", apikey.RoleAdmin, ownEndpoint, (*API).rotateKey},

	{"GET", "/openapi.json", "", ownEndpoint, (*API).serveOpenAPI},
}

// roleOf returns the role that a route needs under the options.
func (a *API) roleOf(r *route) apikey.Role {
	if r.pattern == versionPath+"/redact" && a.opts.RedactRole != "" {
		return a.opts.RedactRole
	}
	return r.role
}

// A resource is one path with a route for each method.
type resource struct {
	pattern string
	methods map[string]*route
}

// routes returns a mux that only matches paths, for a finder. All error answers are the
// API's own, in JSON.
func (a *API) routes() *http.ServeMux {
	mux := http.NewServeMux()
	resources := map[string]*resource{}
	for i := range endpoints {
		r := &endpoints[i]
		found := resources[r.pattern]
		if found == nil {
			found = &resource{r.pattern, map[string]*route{}}
			resources[r.pattern] = found
			mux.Handle(r.pattern, found)
		}
		found.methods[r.method] = r
	}
	return mux
}

func (r *resource) ServeHTTP(w http.ResponseWriter, _ *http.Request) { w.(*finder).found = r }

// A finder is the http.ResponseWriter that receives the resource that a mux matches. It
// drops the answer of the mux if no path matches.
type finder struct {
	header http.Header
	found  *resource
}

func (f *finder) Header() http.Header {
	if f.header == nil {
		f.header = http.Header{}
	}
	return f.header
}

func (f *finder) Write(p []byte) (int, error) { return len(p), nil }

func (f *finder) WriteHeader(int) {}

// find returns the route of a request. A path that a mux would redirect has no route: a
// client that left an ID empty must get an error.
func (c *call) find(mux *http.ServeMux) (*route, error) {
	path := c.r.URL.Path
	if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.HasSuffix(path, "/") ||
		strings.Contains(path, "/./") || strings.Contains(path, "/../") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..") {
		return nil, errNoRoute
	}
	method := c.r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method == http.MethodConnect {
		return nil, errNoRoute
	}
	var f finder
	mux.ServeHTTP(&f, c.r) // also sets the values of the path
	found := f.found
	if found == nil {
		return nil, errNoRoute
	}
	if r := found.methods[method]; r != nil {
		return r, nil
	}
	var allowed []string
	for m := range found.methods {
		allowed = append(allowed, m)
	}
	slices.Sort(allowed)
	return nil, &apiError{status: http.StatusMethodNotAllowed, kind: invalidRequest, allow: strings.Join(allowed, ", "),
		message: "the method " + printable(c.r.Method) + " is not supported here; use " + strings.Join(allowed, " or ")}
}
