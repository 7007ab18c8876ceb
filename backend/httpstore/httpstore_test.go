package httpstore_test

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/backend/httpstore"
	"memento/backend/sqlitestore"
	"memento/backend/storetest"
	"memento/httpapi"
)

// harness runs the contract against a server of its own for each handle, on a file
// that they share: as many servers on one machine do.
func harness() storetest.Harness {
	return storetest.Harness{
		Open: openOnFile, Persistent: true, Shared: true, Searcher: true, ReadMarker: true, Remote: true, Clock: true,
		Blobs: func(_ context.Context, dir string) ([]storetest.Blob, error) {
			return storetest.FileBlobs(filepath.Join(dir, "memento.db"))
		},
	}
}

func TestMain(m *testing.M)         { storetest.Main(m, harness()) }
func TestBackend(t *testing.T)      { storetest.Run(t, harness()) }
func BenchmarkBackend(b *testing.B) { storetest.Benchmark(b, harness()) }

func openOnFile(ctx context.Context, dir string) (memento.Backend, error) {
	b, err := sqlitestore.Open(ctx, filepath.Join(dir, "memento.db"), nil)
	if err != nil {
		return nil, err
	}
	return serve(b)
}

// none is a detector that finds nothing: what one finds is not the backend's business.
type none struct{}

func (none) Detect(string, bool) []memento.Finding { return nil }

// serve starts a server on a backend, and returns what reaches it over TCP.
func serve(b memento.Backend) (*client, error) {
	api, err := httpapi.New(b, httpapi.Options{
		Auth: httpapi.NewKeyAuth(b.(apikey.Keeper), nil), Detector: none{}, MaxConcurrent: 1024,
	})
	if err != nil {
		return nil, err
	}
	return &client{behind: b, api: api, server: httptest.NewServer(api), of: map[memento.Workspace]*httpstore.Backend{}}, nil
}

// A client reaches all workspaces of a server: with a key for each, since a key is
// of one. It is all that the contract's tests need to be told.
type client struct {
	behind memento.Backend
	api    *httpapi.API
	server *httptest.Server

	mu     sync.Mutex
	of     map[memento.Workspace]*httpstore.Backend
	closed bool
}

// home is the workspace of stores whose IDs are all that a method is given.
const home memento.Workspace = "storetest"

// at returns the client of a workspace.
func (c *client) at(ctx context.Context, ws memento.Workspace) (*httpstore.Backend, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.of[ws]; b != nil {
		return b, nil
	}
	if c.closed {
		return nil, memento.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	k, secret, err := apikey.New(ws, "test", apikey.RoleAdmin, time.Now(), time.Time{})
	if err != nil {
		return nil, err
	}
	if err := c.behind.(apikey.Keeper).AddKey(ctx, k); err != nil {
		return nil, err
	}
	b, err := httpstore.Open(ctx, c.server.URL, &httpstore.Options{Key: secret})
	if err == nil {
		c.of[ws] = b
	}
	return b, err
}

func (c *client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	var errs []error
	for _, b := range c.of {
		errs = append(errs, b.Close())
	}
	c.api.Close()
	c.server.Close()
	return errors.Join(append(errs, c.behind.Close())...)
}

func (c *client) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	b, err := c.at(ctx, ws)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return b.CreateStore(ctx, ws, spec)
}

func (c *client) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	b, err := c.at(ctx, ws)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return b.GetStore(ctx, ws, id)
}

func (c *client) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, u memento.StoreUpdate) (memento.StoreInfo, error) {
	b, err := c.at(ctx, ws)
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return b.UpdateStore(ctx, ws, id, u)
}

func (c *client) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	b, err := c.at(ctx, ws)
	if err != nil {
		return err
	}
	return b.DeleteStore(ctx, ws, id)
}

func (c *client) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	b, err := c.at(ctx, ws)
	if err != nil {
		return failing[memento.StoreInfo](err)
	}
	return b.ListStores(ctx, ws, opts)
}

func failing[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

func (c *client) Get(ctx context.Context, id memento.StoreID, ref memento.Ref) (memento.Memory, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return memento.Memory{}, err
	}
	return b.Get(ctx, id, ref)
}

func (c *client) List(ctx context.Context, id memento.StoreID, opts memento.ListOptions) iter.Seq2[memento.Entry, error] {
	b, err := c.at(ctx, home)
	if err != nil {
		return failing[memento.Entry](err)
	}
	return b.List(ctx, id, opts)
}

func (c *client) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (memento.Applied, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return memento.Applied{}, err
	}
	return b.Apply(ctx, id, by, changes)
}

func (c *client) Import(ctx context.Context, id memento.StoreID, versions []memento.Version) error {
	b, err := c.at(ctx, home)
	if err != nil {
		return err
	}
	return b.Import(ctx, id, versions)
}

func (c *client) GetVersion(ctx context.Context, id memento.StoreID, version memento.VersionID) (memento.Version, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return memento.Version{}, err
	}
	return b.GetVersion(ctx, id, version)
}

func (c *client) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	b, err := c.at(ctx, home)
	if err != nil {
		return failing[memento.Version](err)
	}
	return b.ListVersions(ctx, id, opts)
}

func (c *client) Redact(ctx context.Context, id memento.StoreID, version memento.VersionID, by memento.Actor) (memento.Version, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return memento.Version{}, err
	}
	return b.Redact(ctx, id, version, by)
}

func (c *client) Prune(ctx context.Context, id memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return memento.Pruned{}, err
	}
	return b.Prune(ctx, id, opts)
}

func (c *client) Search(ctx context.Context, id memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return nil, err
	}
	return b.Search(ctx, id, opts)
}

func (c *client) MarkRead(id memento.StoreID, memory memento.MemoryID) {
	if b, err := c.at(context.Background(), home); err == nil {
		b.MarkRead(id, memory)
	}
}

func (c *client) SyncReads(ctx context.Context) error {
	b, err := c.at(ctx, home)
	if err != nil {
		return err
	}
	return b.SyncReads(ctx)
}

func (c *client) StorageTime(ctx context.Context) (time.Time, error) {
	b, err := c.at(ctx, home)
	if err != nil {
		return time.Time{}, err
	}
	return b.StorageTime(ctx)
}
