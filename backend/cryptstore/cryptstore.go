// Package cryptstore encrypts what another backend stores: contents of memories and of
// their versions and, optionally, their names. The inner backend sees ciphertext, and still
// does everything else: conditions, limits, history, moves.
//
//	ring, err := cryptstore.OpenKeyFile("keys.json")
//	backend, err := cryptstore.Wrap(ctx, inner, ring, nil)
//
// Every store has its own keys, which are stored with it, wrapped with a key of the
// [KeyRing]: deleting a store deletes its keys. docs/encryption.md describes the formats,
// and what they do and do not protect against. In short:
//
//   - An attacker who can read the storage learns sizes, times, actors, how often
//     something was written, and which texts of one store are equal, but no text. Names,
//     descriptions, metadata and settings of stores are in plaintext, and so are the names
//     of memories unless [Options].EncryptNames is set.
//   - An attacker who can write to the storage can remove data, and restore an earlier
//     state of a memory or a whole store. They cannot create a text, change one, or
//     substitute one for another: reading that fails with memento.ErrDecrypt.
//   - Listings without contents are not authenticated: their sizes, hashes and times are
//     what the storage says. They are authenticated when contents are read.
//
// # Cost
//
// Contents take a third more space. Up to 16 MiB of recently used texts are cached in
// memory in plaintext; redacting, pruning or deleting a store with this handle clears the
// cache. A search has no index: it decrypts every memory below its directory, and is
// refused above [Options].SearchBytes. With encrypted names, a listing reads everything
// below its directory and sorts it in memory, and paths can be about half as long.
package cryptstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"time"

	"memento"
	"memento/backend"
)

// A Backend encrypts what another backend stores. See [Wrap] and [Of]. It is safe for
// concurrent use, and several processes may use the same inner backend.
type Backend struct {
	inner        memento.Backend
	importer     backend.SealedImporter // inner
	ring         KeyRing
	opts         Options
	keyCache     keyCache
	checkedMoves moveCache
	texts        *textCache
}

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ backend.WorkspaceLister = (*Backend)(nil)
	_ backend.Clock           = (*Backend)(nil)
	_ backend.NoteKeeper      = (*Backend)(nil)
	_ backend.PositionLister  = (*Backend)(nil)
)

// Options are the options of [Wrap]; nil means all defaults.
type Options struct {
	// EncryptNames also encrypts the names of memories, in stores that are created from now
	// on. It does not change existing stores.
	EncryptNames bool

	// SearchBytes is the size, in bytes, up to which a store can be searched; 0 means 64
	// MiB.
	SearchBytes int64

	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

const defaultSearchBytes = 64 << 20

// Wrap returns a backend that encrypts everything it is given, and stores it in inner,
// which must be a WorkspaceLister. The result is also a Searcher, and a ReadMarker,
// KeyKeeper, BackupWriter, Leaser or Verifier if inner is one. A backup has the encrypted
// data of inner: to use it after a restore, the ring is needed.
//
// Before it returns, Wrap checks that the ring can unwrap the keys of one store in each of
// the first 16 workspaces, if there are any. It writes nothing. Closing the returned
// backend closes inner. After an error, the caller still has to close inner.
//
// Errors: memento.ErrDecrypt if a key is wrong or missing, or a store is not encrypted;
// memento.ErrInvalid without a ring; memento.ErrUnsupported if inner cannot list its
// workspaces, or is encrypted already.
func Wrap(ctx context.Context, inner memento.Backend, ring KeyRing, opts *Options) (memento.Backend, error) {
	b := &Backend{inner: inner, ring: ring, texts: newTextCache()}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.SearchBytes == 0 {
		b.opts.SearchBytes = defaultSearchBytes
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	_, lists := inner.(backend.WorkspaceLister)
	importer, seals := inner.(backend.SealedImporter)
	b.importer = importer
	_, again := Of(inner)
	switch {
	case ring == nil:
		return nil, fmt.Errorf("open with encryption: %w: no key ring was given", memento.ErrInvalid)
	case !lists:
		return nil, fmt.Errorf("open with encryption: %w: the backend cannot list its workspaces", memento.ErrUnsupported)
	case !seals:
		return nil, fmt.Errorf("open with encryption: %w: the backend cannot store encrypted contents", memento.ErrUnsupported)
	case again:
		return nil, fmt.Errorf("open with encryption: %w: the backend is encrypted already", memento.ErrUnsupported)
	}
	if err := b.checkRing(ctx); err != nil {
		return nil, fmt.Errorf("open with encryption: %w", err)
	}
	return b.withOptional(), nil
}

// Of returns the encryption of a backend that Wrap has returned, for [Backend.Rotate].
func Of(b memento.Backend) (*Backend, bool) {
	c, ok := b.(interface{ encryption() *Backend })
	if !ok {
		return nil, false
	}
	return c.encryption(), true
}

func (b *Backend) encryption() *Backend { return b }

// checkedWorkspaces is the number of workspaces in which Wrap and RequireKeys check a
// store.
const checkedWorkspaces = 16

// RequireKeys returns ErrDecrypt if a backend that is about to be used without keys has
// encrypted stores: otherwise plaintext would be written beside them. It checks the same
// stores as Wrap.
func RequireKeys(ctx context.Context, inner memento.Backend) error {
	lister, ok := inner.(backend.WorkspaceLister)
	if !ok {
		return nil
	}
	for info, err := range newestStores(ctx, inner, lister) {
		if err != nil {
			return err
		}
		if info.Envelope != "" {
			return fmt.Errorf("open: store %s is encrypted, but no keys were given: it %w", info.ID, memento.ErrDecrypt)
		}
	}
	return nil
}

// newestStores yields the newest store of each of the first checkedWorkspaces workspaces.
func newestStores(ctx context.Context, b memento.Backend, lister backend.WorkspaceLister) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		workspaces, err := lister.Workspaces(ctx)
		if err != nil {
			yield(memento.StoreInfo{}, err)
			return
		}
		for _, ws := range workspaces[:min(checkedWorkspaces, len(workspaces))] {
			for info, err := range b.ListStores(ctx, ws, memento.StoreListOptions{IncludeArchived: true, Limit: 1}) {
				info.Workspace = ws // whatever the storage says
				if !yield(info, err) {
					return
				}
			}
		}
	}
}

// checkRing checks that the ring can unwrap the keys of existing stores.
func (b *Backend) checkRing(ctx context.Context) error {
	proven := false
	for info, err := range newestStores(ctx, b.inner, b) {
		if err != nil {
			return err
		}
		if _, err := b.unwrap(ctx, info.Workspace, info.ID, info.Envelope); err != nil {
			return err
		}
		proven = true
	}
	if proven {
		return nil
	}
	// There is no store yet. Check that the ring can unwrap what it wraps.
	secret, ad := []byte(rand.Text()), []byte("memento proof")
	wrapped, id, err := b.ring.Wrap(ctx, secret, ad)
	if err != nil {
		return err
	}
	back, err := b.ring.Unwrap(ctx, id, wrapped, ad)
	if err == nil && string(back) != string(secret) {
		err = fmt.Errorf("%w: the key ring does not unwrap what it has wrapped", memento.ErrDecrypt)
	}
	return err
}

// Close closes the inner backend, and clears the cached keys and texts.
func (b *Backend) Close() error {
	b.keyCache.clear()
	b.texts.Clear()
	return b.inner.Close()
}

// fail returns an error of the inner backend, about a store with the keys k, with decrypted
// paths.
func (b *Backend) fail(k *keys, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, memento.ErrNoStore) {
		b.keyCache.remove(k.store)
	}
	if k.names == nil {
		return err
	}
	if at, ok := errors.AsType[*memento.Error](err); ok && at.Path != "" {
		return &memento.Error{Op: at.Op, Path: k.displayPath(at.Path), Err: at.Err}
	}
	if at, ok := errors.AsType[*memento.PathError](err); ok {
		return &memento.PathError{Path: string(k.displayPath(memento.Path(at.Path))), Reason: at.Reason}
	}
	return err
}
