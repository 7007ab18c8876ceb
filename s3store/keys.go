package s3store

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"memento"
)

// A key is an object by its hash, which is what is asked for; another, by its ID, says
// which hash that is.

type keyForm struct {
	Rev       string            `json:"rev"`
	ID        memento.KeyID     `json:"id"`
	Workspace memento.Workspace `json:"workspace"`
	Name      string            `json:"name"`
	Role      memento.Role      `json:"role"`
	Hash      string            `json:"hash"`
	Hint      string            `json:"hint,omitempty"`
	Created   stamp             `json:"created"`
	Expires   stamp             `json:"expires,omitempty"`
	Revoked   stamp             `json:"revoked,omitempty"`
	Used      stamp             `json:"used,omitempty"`
}

type keyIDForm struct {
	Rev  string `json:"rev"`
	Hash string `json:"hash"`
}

func encodeKey(k memento.Key) ([]byte, error) {
	return json.Marshal(keyForm{
		random(), k.ID, k.Workspace, k.Name, k.Role, hex.EncodeToString(k.Hash[:]), k.Hint,
		stampOf(k.CreatedAt), stampOf(k.ExpiresAt), stampOf(k.RevokedAt), stampOf(k.UsedAt),
	})
}

func decodeKey(data []byte) (memento.Key, error) {
	var f keyForm
	err := json.Unmarshal(data, &f)
	hash, hexErr := hex.DecodeString(f.Hash)
	if err != nil || hexErr != nil || len(hash) != len(memento.KeyHash{}) {
		return memento.Key{}, fmt.Errorf("%w: a key is damaged", memento.ErrFormat)
	}
	return memento.Key{
		ID: f.ID, Workspace: f.Workspace, Name: f.Name, Role: f.Role, Hash: memento.KeyHash(hash), Hint: f.Hint,
		CreatedAt: f.Created.time(), ExpiresAt: f.Expires.time(), RevokedAt: f.Revoked.time(), UsedAt: f.Used.time(),
	}, nil
}

func keyIDKey(id memento.KeyID) string { return keyIDsDir + hashed(string(id)) }

// AddKey keeps a new key.
func (b *Backend) AddKey(ctx context.Context, k memento.Key) error {
	const op = "add key"
	if err := b.open(ctx); err != nil {
		return b.failed(op, err)
	}
	if err := k.Check(); err != nil {
		return err
	}
	return b.failed(op, b.addKey(ctx, k))
}

func (b *Backend) addKey(ctx context.Context, k memento.Key) error {
	hash := hex.EncodeToString(k.Hash[:])
	if _, _, err := b.s3.get(ctx, keysDir+hash); !errors.Is(err, errMissing) {
		return cmp.Or(err, memento.ErrExist)
	}
	entry, err := json.Marshal(keyIDForm{random(), hash})
	if err != nil {
		return err
	}
	cond := ifAbsent
	for {
		_, err := b.s3.swap(ctx, keyIDKey(k.ID), entry, cond)
		if err == nil {
			break
		}
		if !errors.Is(err, errRefused) {
			return err
		}
		// The ID is taken, unless who wanted it never came to keep its key.
		known, etag, err := b.keyByID(ctx, k.ID)
		switch {
		case err == nil && known.ID == k.ID:
			return memento.ErrExist
		case err != nil && !errors.Is(err, errMissing):
			return err
		case etag == "":
			cond = ifAbsent
		default:
			cond = ifMatch(etag)
		}
	}
	data, err := encodeKey(k)
	if err != nil {
		return err
	}
	if _, err := b.s3.swap(ctx, keysDir+hash, data, ifAbsent); err != nil {
		if errors.Is(err, errRefused) {
			return memento.ErrExist
		}
		return err
	}
	// Another may have taken the ID for one of a key that never came.
	now, _, err := b.s3.get(ctx, keyIDKey(k.ID))
	if err != nil {
		return lost(err)
	}
	if string(now) != string(entry) {
		if err := b.s3.remove(ctx, keysDir+hash); err != nil {
			return lost(err)
		}
		return memento.ErrExist
	}
	return nil
}

// keyByID returns the key that an ID's entry names, and the entry's ETag, "" if there
// is none. Errors: errMissing.
func (b *Backend) keyByID(ctx context.Context, id memento.KeyID) (k memento.Key, etag string, err error) {
	data, etag, err := b.s3.get(ctx, keyIDKey(id))
	if err != nil {
		return k, "", err
	}
	var f keyIDForm
	if err := json.Unmarshal(data, &f); err != nil {
		return k, etag, fmt.Errorf("%w: a key's entry is damaged", memento.ErrFormat)
	}
	data, _, err = b.s3.get(ctx, keysDir+f.Hash)
	if err != nil {
		return k, etag, err
	}
	k, err = decodeKey(data)
	return k, etag, err
}

// KeyByHash returns the key whose secret has this hash.
func (b *Backend) KeyByHash(ctx context.Context, hash memento.KeyHash) (memento.Key, error) {
	const op = "find key"
	if err := b.open(ctx); err != nil {
		return memento.Key{}, b.failed(op, err)
	}
	data, _, err := b.s3.get(ctx, keysDir+hex.EncodeToString(hash[:]))
	if errors.Is(err, errMissing) {
		err = memento.ErrNotExist
	}
	if err != nil {
		return memento.Key{}, b.failed(op, err)
	}
	k, err := decodeKey(data)
	return k, b.failed(op, err)
}

// ListKeys yields the keys of a workspace, or all, oldest first.
func (b *Backend) ListKeys(ctx context.Context, ws memento.Workspace) iter.Seq2[memento.Key, error] {
	return func(yield func(memento.Key, error) bool) {
		keys, err := b.keysOf(ctx, ws)
		yieldAll(ctx, keys, b.failed("list keys", err), yield)
	}
}

func (b *Backend) keysOf(ctx context.Context, ws memento.Workspace) ([]memento.Key, error) {
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	found, err := b.s3.list(ctx, keysDir, "", 0, true)
	if err != nil {
		return nil, err
	}
	all := make([]memento.Key, len(found))
	err = parallel(ctx, len(found), func(ctx context.Context, i int) error {
		data, _, err := b.s3.get(ctx, found[i].key)
		if errors.Is(err, errMissing) {
			return nil
		}
		if err == nil {
			all[i], err = decodeKey(data)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	keys := slices.DeleteFunc(all, func(k memento.Key) bool { return k.ID == "" || ws != "" && k.Workspace != ws })
	slices.SortFunc(keys, func(x, y memento.Key) int {
		return cmp.Or(x.CreatedAt.Compare(y.CreatedAt), cmp.Compare(x.ID, y.ID))
	})
	return keys, nil
}

// UpdateKey changes a key of the workspace.
func (b *Backend) UpdateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u memento.KeyUpdate) (memento.Key, error) {
	const op = "update key"
	if err := b.open(ctx); err != nil {
		return memento.Key{}, b.failed(op, err)
	}
	for {
		k, err := b.updateKey(ctx, ws, id, u)
		if errors.Is(err, errRefused) {
			continue // another changed it meanwhile
		}
		if errors.Is(err, errMissing) {
			err = memento.ErrNotExist
		}
		if err != nil {
			return memento.Key{}, b.failed(op, err)
		}
		return k, nil
	}
}

func (b *Backend) updateKey(ctx context.Context, ws memento.Workspace, id memento.KeyID, u memento.KeyUpdate) (memento.Key, error) {
	known, _, err := b.keyByID(ctx, id)
	if err != nil {
		return known, err
	}
	if known.ID != id || known.Workspace != ws {
		return known, errMissing
	}
	key := keysDir + hex.EncodeToString(known.Hash[:])
	data, etag, err := b.s3.get(ctx, key)
	if err != nil {
		return known, err
	}
	k, err := decodeKey(data)
	if err != nil {
		return k, err
	}
	after := k.Updated(u)
	if after == k {
		return k, nil
	}
	if data, err = encodeKey(after); err == nil {
		_, err = b.s3.swap(ctx, key, data, ifMatch(etag))
	}
	return after, err
}
