package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"memento/internal/keyedlock"
)

// A Store is one store of a [Backend], with the rules that make it safe to
// share: paths are checked, and edits never lose one another. It is safe for
// concurrent use and needs no closing; closing the backend is its caller's.
type Store struct {
	backend      Backend
	workspace    Workspace
	spec         StoreSpec               // of a store opened by name, to make it from
	id           atomic.Pointer[StoreID] // nil until a store opened by name is found
	searcher     Searcher                // nil if the backend is none
	marker       ReadMarker              // nil if the backend is none
	cachedReader CachedReader            // nil if the backend is none
	detector     Detector                // nil if there is none
	observer     func(context.Context, Observation)
	settings     atomic.Pointer[cachedSettings] // cached; nil at first
	editLocks    *keyedlock.Locks[Path]
}

// StoreOptions are the options of [OpenStore] and [OpenNamed]; nil means all defaults.
type StoreOptions struct {
	// Detector finds what the store's settings keep out: see [Settings].Sensitive.
	// Without one, contents can only be written to stores that have this set to
	// Off; others refuse them with ErrNoDetector. Package sensitive has one.
	Detector Detector

	// Observe is called after each call to the backend: for metrics, traces and
	// notifications of changes. It is called concurrently, before the call returns to
	// its caller, so it must be fast.
	Observe func(context.Context, Observation)
}

// OpenStore returns the store with the given ID. Errors: ErrNoStore.
func OpenStore(ctx context.Context, b Backend, ws Workspace, id StoreID, opts *StoreOptions) (*Store, error) {
	info, err := b.GetStore(ctx, ws, id)
	if err == nil {
		err = info.checkReadable()
	}
	if err != nil {
		return nil, err
	}
	s := newStore(b, ws, opts)
	s.id.Store(&id)
	s.cacheSettings(info.Limits, info.Settings)
	return s, nil
}

// OpenNamed returns the store named spec.Name, which is looked for when it is
// first used, and made from spec when it is first written to: until then it is
// empty. If several stores have the name, every method fails with ErrConflict, and
// with ErrInvalid if the name or the workspace is empty.
func OpenNamed(b Backend, ws Workspace, spec StoreSpec, opts *StoreOptions) *Store {
	s := newStore(b, ws, opts)
	s.spec = spec
	s.spec.UniqueName = true
	return s
}

func newStore(b Backend, ws Workspace, opts *StoreOptions) *Store {
	s := &Store{backend: b, workspace: ws, editLocks: keyedlock.New[Path]()}
	s.searcher, _ = b.(Searcher)
	s.marker, _ = b.(ReadMarker)
	s.cachedReader, _ = b.(CachedReader)
	if opts != nil {
		s.detector, s.observer = opts.Detector, opts.Observe
	}
	return s
}

// ID returns the store's ID. Errors: ErrNoStore if it was opened by name and
// nothing has been written to it yet.
func (s *Store) ID(ctx context.Context) (StoreID, error) {
	if id := s.id.Load(); id != nil {
		return *id, nil
	}
	if s.spec.Name == "" {
		return "", &Error{Op: "open store", Err: fmt.Errorf("%w: a store must have a name", ErrInvalid)}
	}
	if s.workspace == "" {
		return "", &Error{Op: "open store", Err: fmt.Errorf("%w: no workspace was given; programs that need only one use DefaultWorkspace", ErrInvalid)}
	}
	var found []StoreID
	for info, err := range s.backend.ListStores(ctx, s.workspace, StoreListOptions{Name: s.spec.Name, Limit: 2}) {
		if err != nil {
			return "", err
		}
		if err := info.checkReadable(); err != nil {
			return "", err
		}
		found = append(found, info.ID)
	}
	switch len(found) {
	case 0:
		return "", &Error{Op: "open store", Err: fmt.Errorf("%w: %q", ErrNoStore, s.spec.Name)}
	case 1:
		s.id.CompareAndSwap(nil, &found[0])
		return found[0], nil
	}
	return "", &Error{Op: "open store", Err: fmt.Errorf("%w: several stores are named %q; use an ID", ErrConflict, s.spec.Name)}
}

// Ensure makes the store if it was opened by name and does not exist yet, as the
// first write does, and returns its ID.
func (s *Store) Ensure(ctx context.Context) (StoreID, error) {
	for {
		id, err := s.ID(ctx)
		if !errors.Is(err, ErrNoStore) || s.spec.Name == "" {
			return id, err
		}
		info, err := s.backend.CreateStore(ctx, s.workspace, s.spec)
		if err == nil {
			s.id.CompareAndSwap(nil, &info.ID)
			return info.ID, nil
		}
		if !errors.Is(err, ErrExist) {
			return "", err
		}
		// Another process created it meanwhile.
	}
}

// checkReadable returns ErrDecrypt for an encrypted store that is opened without
// cryptstore: reads would return ciphertext, and nobody could read what is written.
func (s *StoreInfo) checkReadable() error {
	if s.Envelope == "" {
		return nil
	}
	return &Error{Op: "open store", Err: fmt.Errorf("store %s is encrypted, but no keys were given: it %w", s.ID, ErrDecrypt)}
}

// Info describes the store. Errors: ErrNoStore.
func (s *Store) Info(ctx context.Context) (StoreInfo, error) {
	id, err := s.ID(ctx)
	if err != nil {
		return StoreInfo{}, err
	}
	return s.backend.GetStore(ctx, s.workspace, id)
}

// InfoIfCreated is Info, except that it is no error if a store that was opened by name
// does not exist yet.
func (s *Store) InfoIfCreated(ctx context.Context) (info StoreInfo, made bool, err error) {
	info, err = s.Info(ctx)
	if s.spec.Name != "" && errors.Is(err, ErrNoStore) {
		return info, false, nil
	}
	return info, err == nil, err
}

// SyncReads writes the read times that this process has noted and not written yet; see
// [ReadMarker]. It does nothing if the backend does not remember read times.
func (s *Store) SyncReads(ctx context.Context) error {
	if s.marker == nil {
		return nil
	}
	return s.marker.SyncReads(ctx)
}

// Get returns a memory with its contents, and records the read.
//
// Errors: ErrInvalidPath, ErrNotExist, ErrIsDir, ErrDamaged.
func (s *Store) Get(ctx context.Context, ref Ref) (Memory, error) {
	m, err := s.Peek(ctx, ref)
	if err == nil && s.marker != nil {
		if id := s.id.Load(); id != nil {
			s.marker.MarkRead(*id, m.ID)
		}
	}
	return m, err
}

// Peek is Get without recording the read, so that it does not count as a use.
func (s *Store) Peek(ctx context.Context, ref Ref) (m Memory, err error) {
	if ref.Path != "" {
		switch reason := pathFault(string(ref.Path)); reason {
		case "":
		case reasonRoot:
			return Memory{}, &Error{Op: "get", Path: Root, Err: ErrIsDir}
		default:
			return Memory{}, &PathError{Path: string(ref.Path), Reason: reason}
		}
	}
	id, err := s.ID(ctx)
	if err != nil {
		return Memory{}, s.absent("get", ref.Path, err)
	}
	defer s.observe(ctx, "get", id)(&err)
	if m, err = s.backend.Get(ctx, id, ref); err != nil {
		return Memory{}, s.completeDamage(ctx, err)
	}
	return m, nil
}

// absent returns ErrNotExist instead of ErrNoStore for a store that is created on its
// first write.
func (s *Store) absent(op string, path Path, err error) error {
	if s.spec.Name != "" && errors.Is(err, ErrNoStore) {
		return &Error{Op: op, Path: path, Err: ErrNotExist}
	}
	return err
}

// List yields the memories below a directory, as [Memories.List] does. Below a
// directory that does not exist there is nothing.
//
// Errors: ErrInvalidPath.
func (s *Store) List(ctx context.Context, opts ListOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if opts.Dir == "" {
			opts.Dir = Root
		}
		if reason := pathFault(string(opts.Dir)); reason != "" && reason != reasonRoot {
			yield(Entry{}, &PathError{Path: string(opts.Dir), Reason: reason})
			return
		}
		id, err := s.ID(ctx)
		if err != nil {
			if err = s.absent("list", opts.Dir, err); !errors.Is(err, ErrNotExist) {
				yield(Entry{}, err)
			}
			return
		}
		seen := s.observe(ctx, "list", id)
		defer func() { seen(&err) }()
		for e, failed := range s.backend.List(ctx, id, opts) {
			err = s.completeDamage(ctx, failed)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Version returns a version with its contents. Errors: ErrNotExist, ErrDamaged.
func (s *Store) Version(ctx context.Context, id VersionID) (v Version, err error) {
	store, err := s.ID(ctx)
	if err != nil {
		return Version{}, s.absent("get version", "", err)
	}
	defer s.observe(ctx, "get version", store)(&err)
	if v, err = s.backend.GetVersion(ctx, store, id); err != nil {
		return Version{}, s.completeDamage(ctx, err)
	}
	return v, nil
}

// Versions yields the store's history; see [History.ListVersions].
func (s *Store) Versions(ctx context.Context, opts VersionListOptions) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) {
		id, err := s.ID(ctx)
		if err != nil {
			if err = s.absent("list versions", "", err); !errors.Is(err, ErrNotExist) {
				yield(Version{}, err)
			}
			return
		}
		seen := s.observe(ctx, "list versions", id)
		defer func() { seen(&err) }()
		for v, failed := range s.backend.ListVersions(ctx, id, opts) {
			err = s.completeDamage(ctx, failed)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Redact removes a version's path and contents for good; see [History.Redact].
func (s *Store) Redact(ctx context.Context, id VersionID, by Actor) (v Version, err error) {
	store, err := s.ID(ctx)
	if err != nil {
		return Version{}, s.absent("redact", "", err)
	}
	defer s.observe(ctx, "redact", store)(&err)
	return s.backend.Redact(ctx, store, id, by)
}

// Search returns the memories that match; see [Searcher].
//
// Errors: ErrUnsupported, ErrInvalidPath.
func (s *Store) Search(ctx context.Context, opts SearchOptions) (found []Match, err error) {
	if s.searcher == nil {
		return nil, &Error{Op: "search", Err: ErrUnsupported}
	}
	if opts.Dir == "" {
		opts.Dir = Root
	}
	if opts.Limit <= 0 {
		opts.Limit = 20
	}
	if reason := pathFault(string(opts.Dir)); reason != "" && reason != reasonRoot {
		return nil, &PathError{Path: string(opts.Dir), Reason: reason}
	}
	id, err := s.ID(ctx)
	if err != nil {
		if err = s.absent("search", "", err); errors.Is(err, ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer s.observe(ctx, "search", id)(&err)
	if found, err = s.searcher.Search(ctx, id, opts); err != nil {
		return nil, s.completeDamage(ctx, err)
	}
	return found, nil
}
