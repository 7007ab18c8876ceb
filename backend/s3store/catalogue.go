package s3store

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"memento"
	"memento/backend"
)

// The first record of its log creates a store. Markers are empty objects that are written
// before: they give the order in which a workspace lists its stores, and the stores that
// have a name. Markers are hints: whoever reads one checks the store itself.

// CreateStore creates an empty store.
func (b *Backend) CreateStore(ctx context.Context, ws memento.Workspace, spec memento.StoreSpec) (memento.StoreInfo, error) {
	const op = "create store"
	if err := b.open(ctx); err != nil {
		return memento.StoreInfo{}, b.failed(op, err)
	}
	if spec.UniqueName {
		// Callers of this process that want the same name wait for each other.
		unlock, err := b.nameLocks.Lock(ctx, uniqueName{ws, spec.Name})
		if err != nil {
			return memento.StoreInfo{}, b.failed(op, err)
		}
		defer unlock()
	}
	for {
		info, err := spec.NewInfo(ws, b.time())
		if err != nil {
			return memento.StoreInfo{}, err
		}
		err = b.create(ctx, info, spec)
		if errors.Is(err, errTombstone) {
			continue
		}
		if err != nil {
			return memento.StoreInfo{}, b.failed(op, err)
		}
		return info.Clone(), nil
	}
}

// errTombstone means that another server has given up waiting for a store to be created,
// and written a tombstone at its first number.
var errTombstone = errors.New("the store has a tombstone")

func (b *Backend) create(ctx context.Context, info memento.StoreInfo, spec memento.StoreSpec) error {
	began := time.Now()
	number := int64(1)
	if spec.ID != "" {
		end, err := b.reuseID(ctx, info)
		if err != nil {
			return err
		}
		number = end + 1
	}
	if spec.UniqueName {
		if err := b.claim(ctx, info); err != nil {
			return err
		}
	}
	if err := b.writeMarkers(ctx, info); err != nil {
		return err
	}
	r := record{N: number, Commit: random(), Info: formOf(info)}
	data, err := r.encode()
	if err != nil {
		return err
	}
	_, uncertain, err := b.s3.put(ctx, logKey(info.ID, number), data, ifAbsent)
	if err != nil && !errors.Is(err, errPrecondition) && !uncertain {
		return err
	}
	if err != nil || age(began) > b.maxAge {
		won, checkErr := (&store{b: b, id: info.ID}).committed(ctx, number, r.Commit)
		switch {
		case checkErr != nil:
			return outcomeUnknown(checkErr)
		case won:
		case err != nil && !errors.Is(err, errPrecondition):
			return outcomeUnknown(err)
		case spec.ID == "":
			return errTombstone // nobody else has this ID
		default:
			return memento.ErrExist
		}
	}
	if age(began) > b.maxAge { // the markers may have been deleted as stale
		if err := b.writeMarkers(ctx, info); err != nil {
			return err
		}
	}
	s, done, err := b.use(ctx, info.ID)
	if err != nil {
		return nil // the store is created nevertheless
	}
	defer done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st == nil && number == 1 {
		s.st, s.confirmed, s.partial = newState(), began, false
		if now, ok := b.transport.now(); ok {
			s.nextExpiry = now.Add(b.keepLog)
		}
		s.st.apply(&r, false)
	}
	return nil
}

// reuseID returns the last number that is used in the log of a store that is to be created
// with a given ID: 0 if the ID was never used. It removes what a deleted store with this
// ID has left.
//
// Errors: ErrExist.
func (b *Backend) reuseID(ctx context.Context, info memento.StoreInfo) (end int64, err error) {
	known, err := b.idUsed(ctx, info.ID)
	if err != nil || !known {
		return 0, err
	}
	s, done, err := b.use(ctx, info.ID)
	if err != nil {
		return 0, err
	}
	defer done()
	switch err := s.waitRefresh(ctx); {
	case err == nil:
		return 0, memento.ErrExist
	case !errors.Is(err, memento.ErrNoStore):
		return 0, err
	}
	return s.purgeDeleted(ctx, info.Workspace, "")
}

// idUsed reports whether a store has, or ever had, this ID. If not, number 1 of its log is
// free: a log whose number 1 has expired has a manifest.
func (b *Backend) idUsed(ctx context.Context, id memento.StoreID) (bool, error) {
	if !isStoreID(id) {
		return false, nil
	}
	_, _, err := b.s3.get(ctx, logKey(id, 1))
	if errors.Is(err, errNotFound) {
		_, _, err = b.s3.get(ctx, manifestKey(id))
	}
	if errors.Is(err, errNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (b *Backend) writeMarkers(ctx context.Context, info memento.StoreInfo) error {
	keys := []string{catalogueKey(info.Workspace, info.ID), nameMarker(info.Workspace, info.Name, info.ID)}
	return parallel(ctx, len(keys), func(ctx context.Context, i int) error { return b.s3.write(ctx, keys[i], nil) })
}

// open returns an error if the backend is closed or ctx has ended.
func (b *Backend) open(ctx context.Context) error {
	if b.isClosed() {
		return memento.ErrClosed
	}
	return ctx.Err()
}

func (b *Backend) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// lookup describes a store.
func (b *Backend) lookup(ctx context.Context, id memento.StoreID) (info memento.StoreInfo, err error) {
	err = b.read(ctx, "get store", id, func(_ *store, st *state) error {
		info = st.info.Clone()
		return nil
	})
	return info, err
}

// GetStore describes a store.
func (b *Backend) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	info, err := b.lookup(ctx, id)
	if err == nil && info.Workspace != ws {
		err = b.failed("get store", memento.ErrNoStore)
	}
	if err != nil {
		return memento.StoreInfo{}, err
	}
	return info, nil
}

// UpdateStore changes a store's description.
func (b *Backend) UpdateStore(ctx context.Context, ws memento.Workspace, id memento.StoreID, update memento.StoreUpdate) (memento.StoreInfo, error) {
	const op = "update store"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return memento.StoreInfo{}, b.failed(op, err)
	}
	defer done()
	var before string
	if update.Name != nil { // write the marker first: a search for the name then finds the store at once
		info, err := b.GetStore(ctx, ws, id)
		if err != nil {
			return memento.StoreInfo{}, err
		}
		if before = info.Name; before != *update.Name {
			if _, err := info.Updated(update, b.time()); err != nil {
				return memento.StoreInfo{}, err
			}
			if err := b.s3.write(ctx, nameMarker(ws, *update.Name, id), nil); err != nil {
				return memento.StoreInfo{}, b.failed(op, err)
			}
		}
	}
	var after memento.StoreInfo
	err = s.submit(ctx, func(t *transaction) error {
		if t.info.Workspace != ws {
			return memento.ErrNoStore
		}
		info, err := t.info.Updated(update, backend.NextTime(b.now(), t.info.UpdatedAt))
		if err != nil {
			return err
		}
		if !info.UpdatedAt.Equal(t.info.UpdatedAt) || info.Envelope != t.info.Envelope {
			t.rec.Info = formOf(info)
		}
		t.info, after = info, info.Clone()
		return nil
	})
	if err != nil {
		return memento.StoreInfo{}, b.failed(op, err)
	}
	return after, nil
}

// DeleteStore deletes a store for good. Only its manifest is left, which says that the ID
// was used.
func (b *Backend) DeleteStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) error {
	const op = "delete store"
	s, done, err := b.use(ctx, id)
	if err != nil {
		return b.failed(op, err)
	}
	defer done()
	var name string
	err = s.submit(ctx, func(t *transaction) error {
		if t.info.Workspace != ws {
			return memento.ErrNoStore
		}
		t.rec.Deleted = true
		name = t.info.Name
		return nil
	})
	if err != nil {
		return b.failed(op, err)
	}
	if _, err := s.purgeDeleted(ctx, ws, name); !errors.Is(err, memento.ErrExist) { // which means created again already
		return b.failed(op, err)
	}
	return nil
}

// purgeDeleted removes the objects of a deleted store, except its manifest. It returns the
// last number that is used in the log, after which the store may be created again.
//
// Errors: ErrExist if it was created again.
func (s *store) purgeDeleted(ctx context.Context, ws memento.Workspace, name string) (end int64, err error) {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	s.mu.RLock()
	deleted := s.st != nil && s.st.deleted
	if deleted {
		end = s.st.n
	}
	s.mu.RUnlock()
	if !deleted {
		return 0, memento.ErrExist
	}
	for dropped := false; ; {
		// List before reading the manifest. If the manifest then says that the purge is
		// not finished, none of these objects belongs to a store that was created again.
		var left []listed
		if dropped {
			if left, err = s.b.s3.list(ctx, storeDir(s.id), "", 0, true); err != nil {
				return 0, err
			}
		}
		m, etag, err := s.b.getManifest(ctx, s.id)
		switch {
		case err != nil:
			return 0, err
		case m.Deleted && m.Purged && m.End == end:
			return end, nil
		case m.End > end:
			return 0, memento.ErrExist
		}
		if !dropped { // before the list, which then has all segments that are ever named
			if err := s.b.dropIndex(ctx, s.id, indexDescriptor{}); err != nil {
				return 0, err
			}
			dropped = true
			continue
		}
		next := manifest{Format: manifestFormat, Rev: random(), End: end, Deleted: true}
		if m.Deleted && m.End == end {
			if err := s.deleteObjects(ctx, left, ws, name); err != nil {
				return 0, err
			}
			next.Purged = true
		}
		cond := ifAbsent
		if etag != "" {
			cond = ifMatch(etag)
		}
		data, err := marshalChecked(next)
		if err != nil {
			return 0, err
		}
		if _, err := s.b.s3.swap(ctx, manifestKey(s.id), data, cond); err != nil && !errors.Is(err, errPrecondition) {
			return 0, err
		}
	}
}

// deleteObjects deletes the objects of a deleted store, and its markers.
func (s *store) deleteObjects(ctx context.Context, left []listed, ws memento.Workspace, name string) error {
	b := s.b
	if b.s3.versioned {
		if err := b.s3.eraseVersions(ctx, manifestKey(s.id), true); err != nil {
			return err
		}
	}
	var deletions []string
	var young []int64
	for _, o := range left {
		n, ok := parseLogKey(o.key)
		switch {
		case o.key == manifestKey(s.id), o.key == indexKey(s.id):
		case strings.HasPrefix(o.key, logDir(s.id)) && ok && !b.isOlder(o.modified, b.keepLog):
			young = append(young, n) // processes that do not know of the deletion yet read them
		default:
			deletions = append(deletions, o.key)
		}
	}
	err := parallel(ctx, len(young), func(ctx context.Context, i int) error {
		return b.s3.overwrite(ctx, logKey(s.id, young[i]), stub(young[i]))
	})
	if err != nil {
		return err
	}
	deletions = append(deletions, catalogueKey(ws, s.id))
	if name != "" {
		deletions = append(deletions, nameMarker(ws, name, s.id))
	}
	return b.s3.remove(ctx, deletions...)
}

// storePageSize is how many stores a listing reads at a time.
const storePageSize = 64

// ListStores yields the workspace's stores, newest first: in falling order of ID.
func (b *Backend) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		if err := b.listStores(ctx, ws, opts, func(info memento.StoreInfo) bool { return yield(info, nil) }); err != nil {
			yield(memento.StoreInfo{}, b.failed("list stores", err))
		}
	}
}

func (b *Backend) listStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions, yield func(memento.StoreInfo) bool) error {
	if err := b.open(ctx); err != nil {
		return err
	}
	prefix, marker := catalogueDir(ws), catalogueKey(ws, opts.After)
	if opts.Name != "" {
		prefix, marker = nameMarkers(ws, opts.Name), nameMarker(ws, opts.Name, opts.After)
	}
	after := ""
	if isStoreID(opts.After) {
		after = marker
	} else if opts.After != "" && opts.After < storePrefix {
		return nil
	}
	yielded := 0
	for {
		size := storePageSize
		if opts.Limit > 0 {
			size = min(size, opts.Limit-yielded)
		}
		page, err := b.s3.list(ctx, prefix, after, size, true)
		if err != nil {
			return err
		}
		infos, err := b.describeAll(ctx, ws, prefix, page)
		if err != nil {
			return err
		}
		for _, info := range infos {
			if err := ctx.Err(); err != nil {
				return err
			}
			if info.ID == "" || info.Workspace != ws || !opts.Matches(&info) {
				continue
			}
			if !yield(info) {
				return nil
			}
			if yielded++; yielded == opts.Limit {
				return nil
			}
		}
		if len(page) < size {
			return nil
		}
		after = page[len(page)-1].key
	}
}

// describeAll returns the stores of a page of markers. The result is zero for a marker
// whose store does not exist.
func (b *Backend) describeAll(ctx context.Context, ws memento.Workspace, prefix string, page []listed) ([]memento.StoreInfo, error) {
	infos := make([]memento.StoreInfo, len(page))
	err := parallel(ctx, len(page), func(ctx context.Context, i int) error {
		id, ok := parseMarker(page[i].key[len(prefix):])
		if !ok {
			return nil
		}
		info, err := b.lookup(ctx, id)
		if errors.Is(err, memento.ErrNoStore) {
			if b.isOlder(page[i].modified, b.keepLog) {
				b.runBackground(func(ctx context.Context) { b.removeStaleMarker(ctx, ws, page[i].key, id) })
			}
			return nil
		}
		infos[i] = info
		return err
	})
	return infos, err
}

// removeStaleMarker deletes an old marker whose store does not exist, and what a deleted
// store has left.
func (b *Backend) removeStaleMarker(ctx context.Context, ws memento.Workspace, marker string, id memento.StoreID) {
	known, err := b.idUsed(ctx, id)
	if err != nil {
		return
	}
	if known && strings.HasPrefix(marker, catalogDir) {
		s := &store{b: b, id: id}
		if err := s.catchUp(ctx); !errors.Is(err, memento.ErrNoStore) {
			return
		}
		if _, err := s.purgeDeleted(ctx, ws, ""); err != nil {
			return
		}
	}
	b.s3.remove(ctx, marker)
}

// Workspaces returns the workspaces that have stores.
func (b *Backend) Workspaces(ctx context.Context) ([]memento.Workspace, error) {
	const op = "list workspaces"
	if err := b.open(ctx); err != nil {
		return nil, b.failed(op, err)
	}
	dirs, err := b.s3.list(ctx, catalogDir, "", 0, false)
	if err != nil {
		return nil, b.failed(op, err)
	}
	found := make([]memento.Workspace, len(dirs))
	has := make([]bool, len(dirs))
	err = parallel(ctx, len(dirs), func(ctx context.Context, i int) error {
		ws, ok := parseWorkspace(strings.TrimSuffix(dirs[i].key[len(catalogDir):], "/"))
		if !ok {
			return nil
		}
		found[i] = ws
		return b.listStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true}, func(memento.StoreInfo) bool {
			has[i] = true
			return false
		})
	})
	if err != nil {
		return nil, b.failed(op, err)
	}
	return inOrder(found, has), nil
}
