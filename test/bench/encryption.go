package main

import (
	"context"
	"errors"
	"path/filepath"

	"memento/backend/cryptstore"
	"memento/backend/sqlitestore"
)

const encryptedFiles = 1000 // notes in the stores that are compared

// compareEncryption compares the embedded store with and without encryption.
func (b *bench) compareEncryption(ctx context.Context, r *report) (err error) {
	files := encryptedFiles
	if b.quick {
		files = 20
	}
	keys, err := cryptstore.NewKeys()
	if err != nil {
		return err
	}
	var comparisons []*comparison
	for _, callers := range b.callers {
		c, err := b.newComparison(files, callers, func(dir string, notes []note) ([]contender, error) {
			plain, err := openLibrary(ctx, filepath.Join(dir, "plain.db"), notes)
			if err != nil {
				return nil, err
			}
			plain.column = namePlain
			encrypted, err := openEncrypted(ctx, filepath.Join(dir, "encrypted.db"), keys, notes)
			if err != nil {
				return []contender{plain}, err
			}
			return []contender{plain, encrypted}, nil
		})
		if err != nil {
			for _, c := range comparisons {
				err = errors.Join(err, c.close())
			}
			return err
		}
		comparisons = append(comparisons, c)
	}
	r.encryption, _, err = b.compare(ctx, comparisons)
	return err
}

func openEncrypted(ctx context.Context, file string, keys cryptstore.KeyRing, notes []note) (*library, error) {
	inner, err := sqlitestore.Open(ctx, file, nil)
	if err != nil {
		return nil, err
	}
	backend, err := cryptstore.Wrap(ctx, inner, keys, nil)
	if err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return newLibrary(ctx, nameEncrypted, backend, inner, notes)
}
