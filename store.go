package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"memento/internal/ids"
	"memento/internal/keyedlock"
	"memento/internal/textfield"
	"memento/internal/times"
)

// A Store is one store of a [Backend], with the rules that make it safe to
// share: paths are checked, and edits never lose one another. It is safe for
// concurrent use and needs no closing; closing the backend is its caller's.
type Store struct {
	backend      Backend
	workspace    Workspace
	spec         StoreSpec               // of a store opened by name, to make it from
	id           atomic.Pointer[StoreID] // nil until a store opened by name is found
	searcher     Searcher                // nil if there is none
	marker       ReadMarker              // nil if the backend is none
	cachedReader CachedReader            // nil if the backend is none
	detector     Detector                // nil if there is none
	observer     func(context.Context, Observation)
	settings     atomic.Pointer[cachedSettings] // cached; nil at first
	settingsRead atomic.Int64                   // when settings were read, in Unix nanoseconds
	editLocks    *keyedlock.Locks[Path]
}

// StoreOptions are the options of [OpenStore] and [OpenNamed]; nil means all defaults.
type StoreOptions struct {
	// Detector finds what the store's settings keep out: see [Settings].Sensitive.
	// Without one, contents can only be written to stores that have this set to
	// Off; others refuse them with ErrNoDetector. Package sensitive has one.
	Detector Detector

	// Searcher, if not nil, searches instead of the backend. Package backend/embedding has
	// one, which also finds by meaning.
	Searcher Searcher

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
		if opts.Searcher != nil {
			s.searcher = opts.Searcher
		}
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

// Info describes the store. The next write through this Store goes by the settings and
// limits that are returned. Errors: ErrNoStore.
func (s *Store) Info(ctx context.Context) (StoreInfo, error) {
	id, err := s.ID(ctx)
	if err != nil {
		return StoreInfo{}, err
	}
	info, err := s.backend.GetStore(ctx, s.workspace, id)
	if err == nil {
		s.cacheSettings(info.Limits, info.Settings)
	}
	return info, err
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

// Prune removes versions; see [History.Prune]. It trusts the times that it is given.
// Programs whose clock may be wrong, and those that apply a store's [Retention], use
// package maintenance.
func (s *Store) Prune(ctx context.Context, opts PruneOptions) (Pruned, error) {
	info, err := s.Info(ctx)
	if err != nil {
		return Pruned{}, err
	}
	return s.prune(ctx, info.ID, opts)
}

// prune removes versions; see [History.Prune].
func (s *Store) prune(ctx context.Context, id StoreID, opts PruneOptions) (sum Pruned, err error) {
	defer s.observe(ctx, "prune", id)(&err)
	return s.backend.Prune(ctx, id, opts)
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

// The bounds of a store's description. Source: Memory Stores API.
const (
	maxNameChars          = 255
	maxDescriptionChars   = 1024
	maxMetadataPairs      = 16
	maxMetadataKeyChars   = 64
	maxMetadataValueChars = 512
)

const (
	maxEnvelopeBytes = 64 << 10
	maxStoreIDChars  = 64 // after the prefix
)

// NewInfo returns the description of a new store, for backends to keep, or ErrInvalid
// if spec breaks a rule. Whether a unique name is free is for the backend to check.
func (spec StoreSpec) NewInfo(ws Workspace, at time.Time) (StoreInfo, error) {
	info := StoreInfo{
		ID:          StoreID(ids.Store(at)),
		Workspace:   ws,
		Name:        spec.Name,
		Description: spec.Description,
		Metadata:    map[string]string{},
		Limits:      spec.Limits.WithDefaults(),
		Settings:    DefaultSettings(),
		Envelope:    spec.Envelope,
		CreatedAt:   at,
		UpdatedAt:   at,
	}
	if spec.ID != "" {
		info.ID = spec.ID
	}
	if !spec.CreatedAt.IsZero() {
		info.CreatedAt = times.Stored(spec.CreatedAt)
	}
	maps.Copy(info.Metadata, spec.Metadata)
	if spec.Settings != nil {
		info.Settings = spec.Settings.Clone()
	}
	if err := info.check(); err != nil {
		return StoreInfo{}, &Error{Op: "create store", Err: err}
	}
	return info, nil
}

// Updated returns the description after u, for backends to keep. If u changes
// nothing it returns s as it is.
//
// Errors: ErrInvalid, ErrConflict, ErrArchived.
func (s StoreInfo) Updated(u StoreUpdate, at time.Time) (StoreInfo, error) {
	if !u.IfUpdatedAt.IsZero() && !u.IfUpdatedAt.Equal(s.UpdatedAt) {
		return StoreInfo{}, &Error{Op: "update store", Err: ErrConflict}
	}
	if u.IfEnvelope != nil && *u.IfEnvelope != s.Envelope {
		return StoreInfo{}, &Error{Op: "update store", Err: ErrConflict}
	}
	if u.Envelope != nil {
		s.Envelope = *u.Envelope
		if err := s.check(); err != nil {
			return StoreInfo{}, &Error{Op: "update store", Err: err}
		}
	}
	if !at.After(s.UpdatedAt) { // so that no two descriptions have the same time
		at = s.UpdatedAt.Add(time.Microsecond)
	}
	if u.Archive && u.Unarchive {
		return StoreInfo{}, &Error{Op: "update store", Err: fmt.Errorf("%w: a store is archived or taken into use, not both", ErrInvalid)}
	}
	if s.Archived() && !u.Unarchive {
		if u.Name != nil || u.Description != nil || u.Metadata != nil || u.Limits != nil || u.Settings != nil {
			return StoreInfo{}, &Error{Op: "update store", Err: ErrArchived}
		}
		return s, nil
	}
	next := s
	next.ArchivedAt = time.Time{}
	if u.Name != nil {
		next.Name = *u.Name
	}
	if u.Description != nil {
		next.Description = *u.Description
	}
	next.Metadata = maps.Clone(s.Metadata)
	for k, v := range u.Metadata {
		if v == nil {
			delete(next.Metadata, k)
		} else {
			next.Metadata[k] = *v
		}
	}
	if u.Limits != nil {
		next.Limits = u.Limits.WithDefaults()
	}
	if u.Settings != nil {
		next.Settings = u.Settings.Clone()
	}
	if u.Archive {
		next.ArchivedAt = at
	}
	if err := next.check(); err != nil {
		return StoreInfo{}, &Error{Op: "update store", Err: err}
	}
	if next.Name == s.Name && next.Description == s.Description && next.Limits == s.Limits &&
		next.Settings.Equal(&s.Settings) && maps.Equal(next.Metadata, s.Metadata) && next.ArchivedAt.Equal(s.ArchivedAt) {
		return s, nil
	}
	next.UpdatedAt = at
	return next, nil
}

// CheckStoreName returns an error, ErrInvalid, if no store can have the name.
func CheckStoreName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: a store must have a name", ErrInvalid)
	}
	return checkLine("name", name, maxNameChars)
}

func (s *StoreInfo) check() error {
	if err := CheckStoreName(s.Name); err != nil {
		return err
	}
	if err := checkText("description", s.Description, maxDescriptionChars); err != nil {
		return err
	}
	if n := len(s.Metadata); n > maxMetadataPairs {
		return fmt.Errorf("%w: metadata has %d pairs; at most %d are allowed", ErrInvalid, n, maxMetadataPairs)
	}
	for k, v := range s.Metadata {
		if k == "" {
			return fmt.Errorf("%w: a metadata key is empty", ErrInvalid)
		}
		if err := checkText("metadata key", k, maxMetadataKeyChars); err != nil {
			return err
		}
		if err := checkText("metadata value", v, maxMetadataValueChars); err != nil {
			return err
		}
	}
	switch {
	case len(s.Envelope) > maxEnvelopeBytes:
		return fmt.Errorf("%w: the envelope has %d bytes; at most %d are allowed", ErrInvalid, len(s.Envelope), maxEnvelopeBytes)
	case !isStoreID(s.ID):
		return fmt.Errorf("%w: a store's ID is memstore_ and at most %d letters and digits", ErrInvalid, maxStoreIDChars)
	case !times.IsWritable(s.CreatedAt):
		return fmt.Errorf("%w: a store's time must be in the years 1 to 9999", ErrInvalid)
	}
	if err := s.Limits.check(); err != nil {
		return err
	}
	return s.Settings.Check()
}

// isStoreID reports whether id has the form of a new store's, however long.
func isStoreID(id StoreID) bool {
	text, ok := strings.CutPrefix(string(id), ids.StorePrefix)
	if !ok || text == "" || len(text) > maxStoreIDChars {
		return false
	}
	for _, r := range text {
		if !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
			return false
		}
	}
	return true
}

// checkLine is checkText for what fits on a line.
func checkLine(what, text string, maxChars int) error {
	return invalidField(what, textfield.LineFault(text, maxChars))
}

func checkText(what, text string, maxChars int) error {
	return invalidField(what, textfield.Fault(text, maxChars))
}

func invalidField(what, fault string) error {
	if fault == "" {
		return nil
	}
	return fmt.Errorf("%w: the %s %s", ErrInvalid, what, fault)
}

// Matches reports whether ListStores with these options yields s, without
// After and Limit, which are for the backend.
func (o *StoreListOptions) Matches(s *StoreInfo) bool {
	return (o.Name == "" || o.Name == s.Name) &&
		(o.IncludeArchived || !s.Archived()) &&
		within(s.CreatedAt, o.CreatedFrom, o.CreatedTo)
}

// Matches reports whether ListVersions with these options yields v, without
// After and Limit, which are for the backend.
func (o *VersionListOptions) Matches(v *Version) bool {
	return (o.Memory == "" || o.Memory == v.Memory) &&
		(o.Path == "" || v.Path == o.Path || v.Path != "" && o.Path.Contains(v.Path)) &&
		(o.Operation == "" || o.Operation == v.Operation) &&
		(o.CreatedBy.Kind == "" || o.CreatedBy.Kind == v.CreatedBy.Kind) &&
		(o.CreatedBy.ID == "" || o.CreatedBy.ID == v.CreatedBy.ID) &&
		(o.CreatedBy.Key == "" || v.CreatedBy.Used(o.CreatedBy.Key)) &&
		within(v.CreatedAt, o.CreatedFrom, o.CreatedTo)
}

func within(t, from, to time.Time) bool {
	return (from.IsZero() || !t.Before(from)) && (to.IsZero() || !t.After(to))
}

// An Observation is one call of a [Store] to its backend about memories or their history.
// Calls that find, create or describe a store, or that record reads, are not observed.
type Observation struct {
	Op      string // "get", "list", "search", "apply", "import", "get version", "list versions", "redact" or "prune"
	Store   StoreID
	Start   time.Time
	Took    time.Duration // of a listing, including the work of its caller between entries
	Err     error         // the error of the backend
	Receipt Receipt       // of a successful apply; of a successful import, what was masked
}

// observe begins an observation, and returns the function to call with the error when
// the call has ended.
func (s *Store) observe(ctx context.Context, op string, id StoreID) func(*error) {
	if s.observer == nil {
		return func(*error) {}
	}
	o := Observation{Op: op, Store: id, Start: time.Now()}
	return func(err *error) {
		o.Err = *err
		s.observed(ctx, o)
	}
}

// observed reports a call that has ended.
func (s *Store) observed(ctx context.Context, o Observation) {
	if s.observer == nil {
		return
	}
	o.Took = time.Since(o.Start)
	if o.Err != nil {
		o.Receipt = Receipt{} // nothing was written
	}
	s.observer(ctx, o)
}
