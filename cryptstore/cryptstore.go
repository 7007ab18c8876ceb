// Package cryptstore encrypts what another backend keeps: contents of memories and
// of their versions, and, if asked for, their names. The backend below sees
// ciphertext, and does all it did before: conditions, limits, history, moves.
//
//	ring, err := cryptstore.OpenKeyFile("keys.json")
//	backend, err := cryptstore.Wrap(ctx, inner, ring, nil)
//
// Every store has keys of its own, which are kept with it, wrapped by a key of the
// [KeyRing]: deleting a store deletes its keys with it. docs/encryption.md has the
// formats, and what they do and do not protect from. In short:
//
//   - Who can read the storage learns sizes, times, actors, how often what was
//     written, and which texts of one store are the same, but no text. Names,
//     descriptions, metadata and settings of stores are in clear, and so are the
//     names of memories unless [Options].EncryptNames is set.
//   - Who can write to it can remove things, and bring back a memory, or a whole
//     store, as it once was. They cannot make up a text, change one, or pass off one
//     for another: reading that fails with memento.ErrDecrypt.
//   - Listings without contents are not proven: sizes, hashes and times in them are
//     what the storage says. Contents prove theirs when they are read.
//
// # Cost
//
// Contents take a third more room. Up to 16 MiB of texts that were read or written lately
// are held in memory in clear; redacting and pruning, and deleting a store, by this handle
// forgets them. A search has no index: it decrypts every memory below its directory,
// and is refused above [Options].SearchBytes. With encrypted names, a listing reads
// everything below its directory and sorts it in memory, and paths can be about half as
// long.
package cryptstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"time"

	"memento"
)

// A Backend encrypts what another one keeps. See [Wrap] and [Of]. It is safe for
// concurrent use, also by several processes on one backend below.
type Backend struct {
	inner        memento.Backend
	ring         KeyRing
	opts         Options
	keyCache     keyCache
	checkedMoves moveCache
	texts        textCache
}

var (
	_ memento.Backend         = (*Backend)(nil)
	_ memento.Searcher        = (*Backend)(nil)
	_ memento.WorkspaceLister = (*Backend)(nil)
	_ memento.Clock           = (*Backend)(nil)
	_ memento.NoteKeeper      = (*Backend)(nil)
)

// Options are the options of [Wrap]; nil means all defaults.
type Options struct {
	// EncryptNames has the names of memories encrypted, too, in stores that are made
	// from now on; a store keeps what it was made with.
	EncryptNames bool

	// SearchBytes is how much a store may hold to be searched, in bytes; 0 means
	// 64 MiB.
	SearchBytes int64

	// Now tells the time; nil means time.Now.
	Now func() time.Time
}

const defaultSearchBytes = 64 << 20

// Wrap returns a backend that keeps what it is given in inner, encrypted. It also has
// those of ReadMarker, KeyKeeper, BackupWriter and Leaser that inner has, and is a
// Searcher, a Verifier if inner is one, and a WorkspaceLister, which inner must be. A
// backup has what the backend below keeps: whoever restores it needs the ring.
//
// Before it returns, the ring must prove itself on a store of each of a few
// workspaces, or on nothing if there are none. Nothing is written. Closing the
// returned backend closes inner; after an error inner is the caller's still.
//
// Errors: memento.ErrDecrypt if a key is wrong or missing, or a store was made without
// encryption; memento.ErrInvalid without a ring; memento.ErrUnsupported if inner cannot list its workspaces, or is
// encrypted already.
func Wrap(ctx context.Context, inner memento.Backend, ring KeyRing, opts *Options) (memento.Backend, error) {
	b := &Backend{inner: inner, ring: ring}
	if opts != nil {
		b.opts = *opts
	}
	if b.opts.SearchBytes == 0 {
		b.opts.SearchBytes = defaultSearchBytes
	}
	if b.opts.Now == nil {
		b.opts.Now = time.Now
	}
	_, lists := inner.(memento.WorkspaceLister)
	_, again := Of(inner)
	switch {
	case ring == nil:
		return nil, fmt.Errorf("open with encryption: %w: no key ring was given", memento.ErrInvalid)
	case !lists:
		return nil, fmt.Errorf("open with encryption: %w: it cannot list its workspaces", memento.ErrUnsupported)
	case again:
		return nil, fmt.Errorf("open with encryption: %w: it is encrypted already", memento.ErrUnsupported)
	}
	if err := b.checkRing(ctx); err != nil {
		return nil, fmt.Errorf("open with encryption: %w", err)
	}
	return b.withOptional(), nil
}

// Of returns the encryption of a backend that Wrap returned, for [Backend.Rotate].
func Of(b memento.Backend) (*Backend, bool) {
	c, ok := b.(interface{ encryption() *Backend })
	if !ok {
		return nil, false
	}
	return c.encryption(), true
}

func (b *Backend) encryption() *Backend { return b }

// provenIn is in how many workspaces Wrap and RequireKeys look for a store.
const checkedWorkspaces = 16

// RequireKeys returns ErrDecrypt if a backend that is about to be used without keys
// keeps encrypted stores: what is written to it would be in clear beside them. It looks
// at what Wrap looks at.
func RequireKeys(ctx context.Context, inner memento.Backend) error {
	lister, ok := inner.(memento.WorkspaceLister)
	if !ok {
		return nil
	}
	for info, err := range newestStores(ctx, inner, lister) {
		if err != nil {
			return err
		}
		if info.Envelope != "" {
			return fmt.Errorf("open: store %s is encrypted, and no keys were given: it %w", info.ID, memento.ErrDecrypt)
		}
	}
	return nil
}

// newest yields the newest store of each of a few workspaces.
func newestStores(ctx context.Context, b memento.Backend, lister memento.WorkspaceLister) iter.Seq2[memento.StoreInfo, error] {
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

// prove finds out whether the ring is that of the stores there are.
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
	// There is no store yet. What the ring wraps it must be able to unwrap.
	secret, ad := []byte(rand.Text()), []byte("memento proof")
	wrapped, id, err := b.ring.Wrap(ctx, secret, ad)
	if err != nil {
		return err
	}
	back, err := b.ring.Unwrap(ctx, id, wrapped, ad)
	if err == nil && string(back) != string(secret) {
		err = fmt.Errorf("%w: the key ring does not give back what it is given", memento.ErrDecrypt)
	}
	return err
}

// Close closes the backend below. What is known of keys and texts is forgotten.
func (b *Backend) Close() error {
	b.keyCache.clear()
	b.texts.clear()
	return b.inner.Close()
}

// fail is the failure of a call to the backend below, about a store whose keys are k,
// with paths as users know them.
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
