// Package s3store keeps memories in a bucket of an S3-compatible object storage. Any
// number of servers may use one bucket at once, without a coordinator.
//
//	backend, err := s3store.Open(ctx, s3store.Location{Bucket: "agents", Region: "eu-central-1"}, nil)
//
// Each store is a log. A commit writes one object, a record, at the next number of the
// log, on condition that none is there (If-None-Match: *). This is the instant at which
// an Apply happens; a writer that loses the race plans again. Writes of one process
// that wait for the same store share a record. Every process holds the state of the
// stores it uses in memory: their memories without contents. Before each read it checks
// with one request whether there is a next record; concurrent readers of a process share
// that request if it began after their call. A record carries the random name of its
// commit, so that a writer that got no answer can read the record back and recognise it.
//
// The log is compacted regularly: its records are rewritten as larger objects. A process
// loads a store from those and the last records of the log. Redact and Prune compact at
// once, and leave nothing of what they remove in the bucket.
//
// A write that a method has reported as done is as durable as the object storage makes
// an acknowledged PUT. The storage must honour If-None-Match: * and If-Match on PUT,
// and be strongly consistent. Open tests the conditions, and fails if the storage
// ignores them.
//
// docs/s3.md describes the versioned format, how to set up a bucket, and the number of
// requests and the cost of each operation.
package s3store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"memento"
	"memento/backend"
	"memento/backend/apikey"
	"memento/backend/commitqueue"
	"memento/backend/readnotes"
	"memento/backend/textindex"
	"memento/internal/keyedlock"
	"memento/internal/lru"
)

// A Location says where to keep stores.
type Location struct {
	Bucket   string
	Prefix   string // of all keys; backends with different prefixes share nothing
	Endpoint string // a URL; "" means Amazon S3
	Region   string // "" means that the storage is asked for it

	// PathStyle says whether requests name the bucket in the path ("true") or in the
	// host ("false"). "" or "auto" decides by the endpoint: the host for Amazon and
	// similar services, the path for others.
	PathStyle string
}

// Options are the options of [Open]; nil means all defaults.
type Options struct {
	// Credentials sign the requests. nil means the first that is found of: the
	// environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), the
	// shared credentials file, the role of the machine.
	Credentials *credentials.Credentials

	// InlineBytes is the maximum size of contents that are stored in the record of
	// their commit. Larger contents are an object of their own, which takes one more
	// request. Default 16 KiB; negative means none are stored in the record.
	InlineBytes int

	// CacheBytes is the size of the cache of contents and history, in bytes. Default
	// 256 MiB.
	CacheBytes int64

	// StateBytes is the approximate size of the cache of states (descriptions and
	// lists of memories of the stores in use), in bytes. Default 256 MiB.
	StateBytes int64

	// RetryTimeout is for how long a failing request is repeated. Default 20 seconds.
	RetryTimeout time.Duration

	// CompactEvery is the number of records in a log after which it is compacted.
	// Default 256.
	CompactEvery int

	// Existing makes Open fail with ErrNotExist if the prefix has never been used. Open
	// then writes nothing, and so does not test whether the storage honours conditions.
	Existing bool

	// MakeBucket creates the bucket if there is none, for tests.
	MakeBucket bool

	// Transport sends the requests; nil means a transport of the backend's own.
	Transport http.RoundTripper

	// Now returns the current time; nil means time.Now. Times are stored in UTC and
	// whole microseconds, as [backend.NextTime] returns them.
	Now func() time.Time
}

const (
	defaultInlineBytes  = 16 << 10
	defaultCacheBytes   = 256 << 20
	defaultStateBytes   = 256 << 20
	defaultRetryTimeout = 20 * time.Second
	attemptTimeout      = 30 * time.Second
)

// A Backend keeps stores in a bucket. It is safe for concurrent use. Use [Open].
type Backend struct {
	s3           *client
	transport    *statsTransport
	cache        *cache
	inline       int
	maxStates    int64
	compactEvery int64
	keepLog      time.Duration // see the constant
	maxAge       time.Duration // see the constant
	now          func() time.Time
	holder       string // of leases: a random name of this handle

	ctx          context.Context // ends with the backend
	cancel       context.CancelFunc
	tasks        sync.WaitGroup
	ownTransport *http.Transport // nil if the caller has given one

	mu        sync.Mutex                       // guards what follows
	stores    lru.Map[memento.StoreID, *store] // empty once the backend is closed
	stateUsed int64                            // bytes of states, approximately
	closed    bool

	nameLocks *keyedlock.Locks[uniqueName]
	reads     *readnotes.Notes
	indexes   *searchIndexes
	index     *textindex.Live // on indexes
}

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.ReadMarker      = (*Backend)(nil)
	_ memento.CachedReader    = (*Backend)(nil)
	_ apikey.Keeper           = (*Backend)(nil)
	_ backend.WorkspaceLister = (*Backend)(nil)
	_ backend.Leaser          = (*Backend)(nil)
	_ backend.Clock           = (*Backend)(nil)
	_ backend.NoteKeeper      = (*Backend)(nil)
)

var errNoBucket = fmt.Errorf("%w: the bucket does not exist; create it, or name another", memento.ErrInvalid)

// Open opens the stores of a bucket. It writes and deletes an object to find out
// whether the storage honours conditions. The caller closes the Backend.
//
// Errors: ErrInvalid (the location is wrong, or the bucket does not exist),
// ErrUnsupported (the storage does not honour conditions), ErrNotExist (see
// Options.Existing), ErrDenied, ErrReadOnly, ErrUnavailable, ErrFormat (a newer memento
// has written to the bucket).
func Open(ctx context.Context, at Location, opts *Options) (*Backend, error) {
	b, err := open(ctx, at, opts)
	if err != nil {
		return nil, &memento.Error{Op: "open s3 store", Err: err}
	}
	return b, nil
}

func open(ctx context.Context, at Location, opts *Options) (*Backend, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if at.Bucket == "" {
		return nil, fmt.Errorf("%w: the location names no bucket", memento.ErrInvalid)
	}
	endpoint, secure, err := parseEndpoint(at.Endpoint)
	if err != nil {
		return nil, err
	}
	lookup := minio.BucketLookupAuto
	switch at.PathStyle {
	case "", "auto":
	case "true":
		lookup = minio.BucketLookupPath
	case "false":
		lookup = minio.BucketLookupDNS
	default:
		return nil, fmt.Errorf("%w: path style is true, false or auto", memento.ErrInvalid)
	}
	prefix, err := parsePrefix(at.Prefix)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		cache:  newCache(cmp.Or(o.CacheBytes, defaultCacheBytes)),
		inline: cmp.Or(o.InlineBytes, defaultInlineBytes), maxStates: cmp.Or(o.StateBytes, defaultStateBytes),
		compactEvery: int64(cmp.Or(o.CompactEvery, compactEvery)), keepLog: keepLog, maxAge: maxAge, now: time.Now, holder: random(),
		nameLocks: keyedlock.New[uniqueName](),
	}
	if o.Now != nil {
		b.now = o.Now
	}
	inner := o.Transport
	if inner == nil {
		b.ownTransport = newTransport()
		inner = b.ownTransport
	}
	if o.Credentials == nil {
		o.Credentials = standardCredentials(inner)
	}
	b.transport = &statsTransport{base: inner}
	core, err := minio.NewCore(endpoint, &minio.Options{
		Creds: o.Credentials, Secure: secure, Transport: b.transport, Region: at.Region, BucketLookup: lookup, MaxRetries: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint of the object storage", memento.ErrInvalid)
	}
	core.SetAppInfo("memento", "1")
	b.s3 = &client{core: core, bucket: at.Bucket, prefix: prefix, secure: secure, attemptTimeout: attemptTimeout, retryTimeout: cmp.Or(o.RetryTimeout, defaultRetryTimeout)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.reads = readnotes.New(readTiming, b.writeReads)
	b.indexes = &searchIndexes{b: b, maxStored: maxStoredIndex, exchanging: keyedlock.New[memento.StoreID]()}
	b.index = textindex.NewLive(b.indexes)
	b.index.GiveWay(indexingRest)
	if err := b.probe(ctx, &o, at.Region); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// parseEndpoint returns host and port of a URL, and whether it is https.
func parseEndpoint(endpoint string) (host string, secure bool, err error) {
	if endpoint == "" {
		return "s3.amazonaws.com", true, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", false, fmt.Errorf("%w: an endpoint is a URL such as https://host:port", memento.ErrInvalid)
	}
	if u.User != nil {
		return "", false, fmt.Errorf("%w: credentials have no place in an endpoint; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", memento.ErrInvalid)
	}
	return u.Host, u.Scheme == "https", nil
}

func parsePrefix(prefix string) (string, error) {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return "", nil
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return "", fmt.Errorf("%w: a part of the prefix is empty or a dot", memento.ErrInvalid)
		}
	}
	if len(prefix) > 256 {
		return "", fmt.Errorf("%w: the prefix has more than 256 bytes", memento.ErrInvalid)
	}
	return prefix + "/", nil
}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 256
	t.ResponseHeaderTimeout = attemptTimeout
	t.DisableCompression = true // objects are returned as they are stored
	return t
}

func standardCredentials(transport http.RoundTripper) *credentials.Credentials {
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Transport: transport, Timeout: 5 * time.Second}},
	})
}

// Close completes the calls that have begun, and writes the read times.
func (b *Backend) Close() error {
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	b.mu.Unlock()
	if !first {
		return nil
	}
	stop := time.AfterFunc(b.s3.retryTimeout, b.cancel)
	defer stop.Stop()
	b.index.Close()
	b.reads.Close()
	b.tasks.Wait()
	b.cancel()
	if b.ownTransport != nil {
		b.ownTransport.CloseIdleConnections()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stores = lru.Map[memento.StoreID, *store]{}
	return nil
}

// runBackground runs f in the background; Close waits for it. It returns false if the
// backend is closed.
func (b *Backend) runBackground(f func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.tasks.Go(func() { f(b.ctx) })
	return true
}

// time returns the current time in UTC and whole microseconds.
func (b *Backend) time() time.Time { return backend.StoredTime(b.now()) }

// use returns the in-memory store with this ID, and keeps it until done is called.
func (b *Backend) use(ctx context.Context, id memento.StoreID) (s *store, done func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, nil, memento.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !isStoreID(id) {
		return nil, nil, memento.ErrNoStore
	}
	s, ok := b.stores.Get(id)
	if !ok {
		s = &store{b: b, id: id, writes: commitqueue.New[*op](cancelGrace)}
		b.stores.Put(id, s)
	}
	s.users++
	return s, func() { b.unuse(s) }, nil
}

func (b *Backend) unuse(s *store) {
	s.mu.RLock()
	var weight int64
	gone := s.st == nil || s.st.deleted
	if !gone {
		weight = s.st.size()
	}
	s.mu.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	s.users--
	if b.closed {
		return
	}
	b.stores.Get(s.id) // a use ends now
	b.stateUsed += weight - s.weight
	s.weight = weight
	if gone && s.users == 0 {
		b.stateUsed -= s.weight
		b.removeLocked(s.id)
	}
	if b.stateUsed > b.maxStates {
		b.evictStates()
	}
}

// evictStates evicts the least recently used states, until a tenth of the space is free.
// b.mu is held.
func (b *Backend) evictStates() {
	for id, s := range b.stores.Oldest() {
		if b.stateUsed <= b.maxStates/10*9 {
			return
		}
		if s.users == 0 {
			b.stateUsed -= s.weight
			b.removeLocked(id)
		}
	}
}

// removeLocked drops what is in memory of a store, with its search index, which refers to
// the state. b.mu is held.
func (b *Backend) removeLocked(id memento.StoreID) {
	b.stores.Remove(id)
	b.indexes.remove(id)
	b.index.Forget(id)
}

func (b *Backend) stateBytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stateUsed
}

// bytesOf returns the size of the contents of a store in memory; 0 if it is not.
func (b *Backend) bytesOf(id memento.StoreID) int64 {
	b.mu.Lock()
	s, _ := b.stores.Peek(id)
	b.mu.Unlock()
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.st == nil {
		return 0
	}
	return s.st.info.Usage.Bytes
}

// read refreshes a store and runs f on its state.
func (b *Backend) read(ctx context.Context, op string, id memento.StoreID, f func(*store, *state) error) error {
	s, done, err := b.use(ctx, id)
	if err == nil {
		defer done()
		err = s.view(ctx, func(st *state) error { return f(s, st) })
	}
	return b.failed(op, err)
}

// failed translates an error of the storage to one that callers know, and adds the
// operation to it.
func (b *Backend) failed(op string, err error) error {
	switch {
	case err == nil, backend.IsTranslated(err):
	case errors.Is(err, context.Canceled) && b.ctx.Err() != nil:
		err = memento.ErrClosed
	case errors.Is(err, errNotFound), errors.Is(err, errPrecondition):
		err = fmt.Errorf("%w: another program removed or changed objects", memento.ErrFormat)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return backend.Failure(op, err)
}
