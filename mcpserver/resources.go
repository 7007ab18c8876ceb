package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"path"
	"strings"
	"time"

	"memento"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// scheme is that of the URIs of memories: memory:///memories/notes.md is a file, and
// memory:///memories/ a folder.
const scheme = "memory"

var (
	rootResource = mcp.Resource{
		URI: scheme + "://" + root + "/", Name: "memories", Title: "All memories", MIMEType: "text/plain",
		Description: "the listing of /memories, two levels deep",
	}
	fileTemplate = mcp.ResourceTemplate{
		URITemplate: scheme + "://" + root + "/{+path}", Name: "memory", Title: "Memory file or folder",
		Description: "a memory file; with a slash at the end, the listing of a folder, two levels deep",
	}
)

// addResources adds what is fixed; listResources answers with the files.
func (s *Server) addResources() {
	s.mcp.AddResource(&rootResource, s.readResource)
	s.mcp.AddResourceTemplate(&fileTemplate, s.readResource)
	s.mcp.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch req := req.(type) {
			case *mcp.ListResourcesRequest:
				return s.listResources(ctx, req)
			case *mcp.ReadResourceRequest:
				// The SDK's templates match only URIs that are encoded as strictly as they are.
				if agent, err := pathOf(req.Params.URI); err == nil {
					req.Params.URI = uriOf(agent)
				}
			case *mcp.SubscriptionsListenRequest:
				if n := req.Params.Notifications; n != nil && n.ResourcesListChanged {
					if err := s.watch(ctx, req); err != nil {
						return nil, err
					}
				}
			}
			return next(ctx, method, req)
		}
	})
}

// A listPlace is where a page of the list of files begins.
type listPlace struct {
	Mount int    `json:"m"` // number of the mount
	After string `json:"a"` // as in memento.ListOptions
}

// listResources answers with one page of the files, and the root folder before the first.
func (s *Server) listResources(ctx context.Context, req *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	var at listPlace
	cursor := ""
	if req.Params != nil {
		cursor = req.Params.Cursor
	}
	m, err := s.memory(ctx, req)
	if err != nil {
		return nil, s.protocolError(ctx, "open the memory", "", err)
	}
	res := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
	res.CacheScope = "private"
	if cursor == "" {
		res.Resources = append(res.Resources, &rootResource)
	} else if text, err := base64.RawURLEncoding.DecodeString(cursor); err != nil || json.Unmarshal(text, &at) != nil || at.Mount < 0 || at.Mount >= len(m.mounts) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one of this list"}
	}
	s.changes.wanted(m)
	for ; at.Mount < len(m.mounts); at.Mount, at.After = at.Mount+1, "" {
		in := &m.mounts[at.Mount]
		for e, err := range in.store.List(ctx, memento.ListOptions{After: at.After, Brief: true}) {
			switch {
			case err != nil:
				return nil, s.protocolError(ctx, "list", "", err)
			case e.Path.IsHidden() || e.Foreign:
				continue
			case len(res.Resources) >= pageSize:
				text, _ := json.Marshal(at) // a number and a string
				res.NextCursor = base64.RawURLEncoding.EncodeToString(text)
				return res, nil
			}
			res.Resources = append(res.Resources, in.resource(&e))
			at.After = string(e.Path)
		}
	}
	return res, nil
}

// resource describes a file.
func (m *mount) resource(e *memento.Entry) *mcp.Resource {
	agent := m.path(e.Path)
	return &mcp.Resource{
		URI: uriOf(agent), Name: strings.TrimPrefix(agent, root+"/"), MIMEType: mimeType(agent), Size: e.Usage.Bytes,
		Annotations: &mcp.Annotations{LastModified: e.UpdatedAt.UTC().Format(time.RFC3339)},
	}
}

func mimeType(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".json":
		return "application/json"
	case ".xml":
		return "application/xml"
	}
	return "text/plain"
}

// uriOf returns the URI of a file, or of a folder if the path ends in a slash.
func uriOf(agentPath string) string {
	return (&url.URL{Scheme: scheme, Path: agentPath}).String()
}

// pathOf returns the agent's path of a URI.
func pathOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != scheme || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return "", errOutside
	}
	return u.Path, nil
}

// readResource answers with a file, or with the listing of a folder.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	agent, err := pathOf(uri)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	m, err := s.memory(ctx, req)
	if err != nil {
		return nil, s.protocolError(ctx, "open the memory", uri, err)
	}
	if strings.HasSuffix(agent, "/") {
		listing, err := m.tool.View(ctx, agent)
		if err != nil {
			return nil, s.protocolError(ctx, "read", uri, err)
		}
		return contents(uri, "text/plain", listing), nil
	}
	mounts, p, err := m.locate(agent)
	if err == nil && (len(mounts) != 1 || p.IsRoot()) {
		err = memento.ErrIsDir
	}
	var found memento.Memory
	if err == nil {
		found, err = mounts[0].store.Get(ctx, memento.ByPath(p))
	}
	if err != nil {
		return nil, s.protocolError(ctx, "read", uri, err)
	}
	return contents(uri, mimeType(agent), found.Content), nil
}

func contents(uri, mime, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: text}}}
}

// protocolError translates an error of a request that is no call of a tool.
func (s *Server) protocolError(ctx context.Context, doing, uri string, err error) error {
	switch {
	case errors.Is(err, memento.ErrNotExist), errors.Is(err, memento.ErrIsDir), errors.Is(err, memento.ErrNoStore),
		errors.Is(err, memento.ErrInvalidPath), errors.Is(err, errOutside):
		return mcp.ResourceNotFoundError(uri)
	}
	why, internal := explain(err)
	if internal {
		s.opts.Logger.ErrorContext(ctx, "the memory failed", "doing", doing, "error", err.Error())
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why}
}
