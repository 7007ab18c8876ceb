// Code generated from sdk2_test.go by go test -run TestMajorsAreAlike -update. DO NOT EDIT.

package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// sdk1 is anthropic-sdk-go, the last of its first major.
type sdk1 struct {
	c anthropic.Client
}

func newSDK1(url, key string, headers map[string]string) client {
	options := []option.RequestOption{
		option.WithBaseURL(url), option.WithAPIKey(key),
		option.WithHTTPClient(&http.Client{Transport: transport()}),
	}
	for name, value := range headers {
		options = append(options, option.WithHeader(name, value))
	}
	return sdk1{anthropic.NewClient(options...)}
}

func sdk1String(s *string) param.Opt[string] {
	if s == nil {
		return param.Opt[string]{}
	}
	return param.NewOpt(*s)
}

func sdk1Opt[T comparable](v T) param.Opt[T] {
	if v == *new(T) {
		return param.Opt[T]{}
	}
	return param.NewOpt(v)
}

// sdk1Metadata sends metadata that the type of the parameters cannot tell: a patch with null.
func sdk1Metadata(m map[string]any) []option.RequestOption {
	if m == nil {
		return nil
	}
	return []option.RequestOption{option.WithJSONSet("metadata", m)}
}

func (s sdk1) CreateStore(ctx context.Context, p storeParams) (store, error) {
	r, err := s.c.Beta.MemoryStores.New(ctx, anthropic.BetaMemoryStoreNewParams{
		Name: *p.Name, Description: sdk1String(p.Description), WorkspaceID: sdk1Opt(p.Workspace),
	}, sdk1Metadata(p.Metadata)...)
	return readStore(r, err)
}

func (s sdk1) Store(ctx context.Context, id string) (store, error) {
	return readStore(s.c.Beta.MemoryStores.Get(ctx, id, anthropic.BetaMemoryStoreGetParams{}))
}

func (s sdk1) UpdateStore(ctx context.Context, id string, p storeParams) (store, error) {
	r, err := s.c.Beta.MemoryStores.Update(ctx, id, anthropic.BetaMemoryStoreUpdateParams{
		Name: sdk1String(p.Name), Description: sdk1String(p.Description), WorkspaceID: sdk1Opt(p.Workspace),
	}, sdk1Metadata(p.Metadata)...)
	return readStore(r, err)
}

func (s sdk1) Stores(ctx context.Context, q storeQuery) (all []store, err error) {
	pages := s.c.Beta.MemoryStores.ListAutoPaging(ctx, anthropic.BetaMemoryStoreListParams{
		CreatedAtGte: sdk1Opt(q.From), CreatedAtLte: sdk1Opt(q.To),
		IncludeArchived: sdk1Opt(q.IncludeArchived), Limit: sdk1Opt(q.Limit),
	})
	for pages.Next() {
		one, err := readStore(pages.Current(), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, pages.Err()
}

func (s sdk1) ArchiveStore(ctx context.Context, id string) (store, error) {
	return readStore(s.c.Beta.MemoryStores.Archive(ctx, id, anthropic.BetaMemoryStoreArchiveParams{}))
}

func (s sdk1) DeleteStore(ctx context.Context, id string) (deleted, error) {
	return readDeleted(s.c.Beta.MemoryStores.Delete(ctx, id, anthropic.BetaMemoryStoreDeleteParams{}))
}

func (s sdk1) CreateMemory(ctx context.Context, store string, p memoryParams) (memory, error) {
	return readMemory(s.c.Beta.MemoryStores.Memories.New(ctx, store, anthropic.BetaMemoryStoreMemoryNewParams{
		Path: *p.Path, Content: sdk1String(p.Content), View: anthropic.BetaManagedAgentsMemoryView(p.View),
	}))
}

func (s sdk1) Memory(ctx context.Context, store, id, view string) (memory, error) {
	return readMemory(s.c.Beta.MemoryStores.Memories.Get(ctx, id, anthropic.BetaMemoryStoreMemoryGetParams{
		MemoryStoreID: store, View: anthropic.BetaManagedAgentsMemoryView(view),
	}))
}

func (s sdk1) UpdateMemory(ctx context.Context, store, id string, p memoryParams) (memory, error) {
	params := anthropic.BetaMemoryStoreMemoryUpdateParams{
		MemoryStoreID: store, Path: sdk1String(p.Path), Content: sdk1String(p.Content),
		View: anthropic.BetaManagedAgentsMemoryView(p.View),
	}
	if p.IfSHA256 != "" {
		params.Precondition = anthropic.BetaManagedAgentsPreconditionParam{
			Type: "content_sha256", ContentSha256: param.NewOpt(p.IfSHA256),
		}
	}
	return readMemory(s.c.Beta.MemoryStores.Memories.Update(ctx, id, params))
}

func (s sdk1) Memories(ctx context.Context, store string, q memoryQuery) (all []item, err error) {
	params := anthropic.BetaMemoryStoreMemoryListParams{
		PathPrefix: sdk1Opt(q.PathPrefix), Limit: sdk1Opt(q.Limit),
		View: anthropic.BetaManagedAgentsMemoryView(q.View),
	}
	if q.Depth != nil {
		params.Depth = param.NewOpt(*q.Depth)
	}
	pages := s.c.Beta.MemoryStores.Memories.ListAutoPaging(ctx, store, params)
	for pages.Next() {
		union := pages.Current()
		m, err := readMemory(union, nil)
		if err != nil {
			return nil, err
		}
		variant := strings.TrimPrefix(fmt.Sprintf("%T", union.AsAny()), "anthropic.BetaManagedAgents")
		all = append(all, item{m, variant})
	}
	return all, pages.Err()
}

func (s sdk1) DeleteMemory(ctx context.Context, store, id, ifSHA256 string) (deleted, error) {
	return readDeleted(s.c.Beta.MemoryStores.Memories.Delete(ctx, id, anthropic.BetaMemoryStoreMemoryDeleteParams{
		MemoryStoreID: store, ExpectedContentSha256: sdk1Opt(ifSHA256),
	}))
}

func (s sdk1) Versions(ctx context.Context, store string, q versionQuery) (all []version, err error) {
	pages := s.c.Beta.MemoryStores.MemoryVersions.ListAutoPaging(ctx, store, anthropic.BetaMemoryStoreMemoryVersionListParams{
		MemoryID: sdk1Opt(q.Memory), Operation: anthropic.BetaManagedAgentsMemoryVersionOperation(q.Operation),
		SessionID: sdk1Opt(q.Session), APIKeyID: sdk1Opt(q.APIKey), ServiceAccountID: sdk1Opt(q.ServiceAccount),
		CreatedAtGte: sdk1Opt(q.From), CreatedAtLte: sdk1Opt(q.To),
		Limit: sdk1Opt(q.Limit), View: anthropic.BetaManagedAgentsMemoryView(q.View),
	})
	for pages.Next() {
		one, err := readVersion(pages.Current(), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, pages.Err()
}

func (s sdk1) Version(ctx context.Context, store, id, view string) (version, error) {
	return readVersion(s.c.Beta.MemoryStores.MemoryVersions.Get(ctx, id, anthropic.BetaMemoryStoreMemoryVersionGetParams{
		MemoryStoreID: store, View: anthropic.BetaManagedAgentsMemoryView(view),
	}))
}

func (s sdk1) Redact(ctx context.Context, store, id string) (version, error) {
	return readVersion(s.c.Beta.MemoryStores.MemoryVersions.Redact(ctx, id, anthropic.BetaMemoryStoreMemoryVersionRedactParams{
		MemoryStoreID: store,
	}))
}

func (s sdk1) Failure(err error) (failure, bool) {
	var e *anthropic.Error
	if !errors.As(err, &e) {
		return failure{}, false
	}
	raw, err := readAnswer(e.RawJSON())
	return failure{e.StatusCode, string(e.Type()), e.RequestID, e.WorkspaceID, raw}, err == nil
}

func (s sdk1) Sync(workdir string, log *slog.Logger) (memorySync, error) {
	stores, err := environments.NewSessionMemoryStores(s.c, environments.SessionMemoryStoresOptions{
		Workdir: workdir, SyncInterval: 5 * time.Second, Logger: log,
	})
	return sdk1Sync{stores}, err
}

type sdk1Sync struct {
	*environments.SessionMemoryStores
}

func (s sdk1Sync) Download(ctx context.Context, session string) error {
	var parsed anthropic.BetaManagedAgentsSession
	if err := json.Unmarshal([]byte(session), &parsed); err != nil {
		return err
	}
	return s.SessionMemoryStores.Download(ctx, &parsed)
}

func (s sdk1Sync) Wait(d time.Duration) { time.Sleep(d) } // see goTime
