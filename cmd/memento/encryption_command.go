package main

import (
	"context"
	"fmt"
	"slices"

	"memento"
	"memento/backend/cryptstore"

	"github.com/spf13/cobra"
)

func (a *app) encryptionCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "encryption",
		Short: "Manage the keys of encryption at rest",
		Long: `With encryption at rest, a backend stores the contents of memories encrypted, and with
--encrypt-names their paths, too. The encryption keys are in a file, which every process
gets with --encryption-keys or MEMENTO_ENCRYPTION_KEYS_FILE.`,
		Example: `  memento encryption init encryption.json
  memento serve --encryption-keys encryption.json
  memento --encryption-keys encryption.json encryption list
  memento --encryption-keys encryption.json encryption rotate --new-key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.encryptionInitCommand(), a.encryptionListCommand(), a.encryptionRotateCommand())
	return c
}

func (a *app) encryptionInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init FILE",
		Short: "Create a file with an encryption key",
		Long: `Init creates a key file with one new encryption key for encryption at rest.
Only its owner can read the file. An existing file is never overwritten.

With --encryption-keys FILE, or MEMENTO_ENCRYPTION_KEYS_FILE, a new backend is encrypted.
To encrypt an existing backend, copy it: "memento copy" with --to-encryption-keys.

Keep a copy of the key file in another place than the memories. Without it the memories
cannot be read.`,
		Example: `  memento encryption init /etc/memento/encryption.json
  memento serve --encryption-keys /etc/memento/encryption.json
  memento copy --from sqlite:memento.db --to sqlite:encrypted.db --to-encryption-keys /etc/memento/encryption.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := cryptstore.NewKeyFile(args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.writeJSON(encryptionKeyJSON{Type: "encryption_key", ID: keys.Primary(), Primary: true, File: args[0]})
			}
			a.say("created encryption key %s in %s", keys.Primary(), line(args[0]))
			a.say("keep a copy of this file in another place than the memories: without it they cannot be read")
			return nil
		},
	}
}

// An encryptionKeyJSON is an encryption key without its secret.
type encryptionKeyJSON struct {
	Type    string `json:"type"` // "encryption_key"
	ID      string `json:"id"`
	Primary bool   `json:"primary"`
	Stores  *int   `json:"stores,omitempty"` // number of stores whose keys it wraps; of "encryption list"
	File    string `json:"file,omitempty"`   // of "encryption init"
	Missing bool   `json:"missing,omitempty"`
}

func (a *app) encryptionListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the encryption keys and how many stores use each",
		Long: `List prints the given encryption keys, oldest first: the ID, the number of
stores that use the key, and which key is the primary key, used for new stores. A key that
no store and no backup uses can be removed.`,
		Example: `  memento --encryption-keys encryption.json encryption list`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := a.needEncryptionKeys()
			if err != nil {
				return err
			}
			return a.withEncrypted(cmd.Context(), func(b *cryptstore.Backend) error {
				use, err := b.KeysInUse(cmd.Context())
				if err != nil {
					return err
				}
				ids := keys.IDs()
				for id := range use {
					if !slices.Contains(ids, id) {
						ids = append(ids, id)
					}
				}
				for _, id := range ids {
					if err := a.showEncryptionKey(keys, id, use[id]); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (a *app) showEncryptionKey(keys *cryptstore.Keys, id string, stores int) error {
	missing := !slices.Contains(keys.IDs(), id)
	if a.json {
		return a.writeJSON(encryptionKeyJSON{Type: "encryption_key", ID: id, Primary: id == keys.Primary(), Stores: &stores, Missing: missing})
	}
	state := ""
	switch {
	case id == keys.Primary():
		state = "  primary"
	case missing:
		state = "  missing: these stores cannot be read without it"
	}
	return a.print("%-10s  %s%s\n", line(id), plural(stores, "store", "stores"), state)
}

// needEncryptionKeys is encryptionKeys for commands that require keys.
func (a *app) needEncryptionKeys() (*cryptstore.Keys, error) {
	keys, err := a.encryptionKeys()
	if err == nil && keys == nil {
		err = usage("give the key file with --encryption-keys or %s", encryptionFileVariable)
	}
	return keys, err
}

// withEncrypted opens the selected backend, which must be encrypted, and calls do.
func (a *app) withEncrypted(ctx context.Context, do func(*cryptstore.Backend) error) error {
	return a.withBackend(ctx, func(b memento.Backend) error {
		e, ok := cryptstore.Of(b)
		if !ok {
			return &memento.Error{Op: "encryption", Err: memento.ErrUnsupported}
		}
		return do(e)
	})
}

// A rotation has the flags of "encryption rotate".
type rotation struct {
	newKey, addKey, dataKeys, removeUnused bool
	olderThan                              span
}

func (a *app) encryptionRotateCommand() *cobra.Command {
	var r rotation
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Rotate the encryption keys while the backend is in use",
		Long: `Every store has its own data keys, which are stored with it, wrapped (encrypted) by the
primary key of the key file. Rotate wraps the data keys of all stores by the
current primary key. It does not rewrite contents, so it is fast, and the backend can be
in use. After an interruption, run it again.

With --new-key another key becomes the primary key first: the key that --add-key added,
or else a new one. Running servers must have a key before stores are wrapped by it. With
servers, therefore: run --add-key, give the key file to all servers, restart them, then
run --new-key.

With --data-keys every store also gets a new data key for future writes. With
--remove-unused, keys that no store uses are removed from the key file. Older backups
still need these keys, so keep a copy of the file.`,
		Example: `  memento --encryption-keys encryption.json encryption rotate --new-key
  memento --encryption-keys encryption.json encryption rotate --data-keys --older-than 365d
  memento --encryption-keys encryption.json encryption rotate --remove-unused`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rotateEncryption(cmd.Context(), &r) },
	}
	c.Flags().BoolVar(&r.newKey, "new-key", false, "first make another key the primary key: the one of --add-key, or a new one")
	c.Flags().BoolVar(&r.addKey, "add-key", false, "only add a key to the key file, without using it")
	c.Flags().BoolVar(&r.dataKeys, "data-keys", false, "give every store a new data key for future writes")
	c.Flags().BoolVar(&r.removeUnused, "remove-unused", false, "afterwards, remove keys that no store uses from the key file")
	c.Flags().Var(&r.olderThan, "older-than", "with --data-keys, only stores whose newest data key is older than this, such as "+spanForms)
	for _, other := range []string{"new-key", "data-keys", "remove-unused"} {
		c.MarkFlagsMutuallyExclusive("add-key", other)
	}
	return c
}

// The output of "encryption rotate --json".
type rotatedJSON struct {
	Type      string   `json:"type"` // "encryption_rotation"
	Primary   string   `json:"primary"`
	Added     string   `json:"added,omitempty"`
	Stores    int      `json:"stores"`
	Rewrapped int      `json:"rewrapped"`
	DataKeys  int      `json:"data_keys"`
	Removed   []string `json:"removed"`
}

func (a *app) rotateEncryption(ctx context.Context, r *rotation) error {
	done := rotatedJSON{Type: "encryption_rotation", Removed: []string{}}
	path := a.encryptionPath()
	if path == "" && (r.newKey || r.addKey || r.removeUnused) {
		return usage("to change keys, give the key file with --encryption-keys or %s", encryptionFileVariable)
	}
	keys, err := a.needEncryptionKeys()
	if err != nil {
		return err
	}
	if r.newKey || r.addKey {
		if keys, err = cryptstore.UpdateKeyFile(path, func(k *cryptstore.Keys) (*cryptstore.Keys, error) {
			ids := k.IDs()
			if newest := ids[len(ids)-1]; r.newKey && newest != k.Primary() {
				return k.SetPrimary(newest)
			}
			k, id, err := k.Add(r.newKey)
			done.Added = id
			return k, err
		}); err != nil {
			return err
		}
	}
	done.Primary = keys.Primary()
	if !r.addKey {
		if err := a.rewrap(ctx, r, path, keys, &done); err != nil {
			return err
		}
	}
	if a.json {
		return a.writeJSON(done)
	}
	switch {
	case r.addKey:
		a.say(`added encryption key %s to %s; give the file to all servers and restart them, then run --new-key`, done.Added, line(path))
		return nil
	case done.Added != "":
		a.say("added encryption key %s to %s; keep a copy of the file", done.Added, line(path))
	}
	a.say("key %s now wraps the keys of all %d stores; %d were changed", done.Primary, done.Stores, done.Rewrapped)
	if r.dataKeys {
		a.say("%s a new data key for future writes", plural(done.DataKeys, "store has", "stores have"))
	}
	for _, id := range done.Removed {
		a.say("removed encryption key %s from %s", id, line(path))
	}
	return nil
}

// rewrap wraps the data keys of all stores by the primary key.
func (a *app) rewrap(ctx context.Context, r *rotation, path string, keys *cryptstore.Keys, done *rotatedJSON) error {
	count, end := a.progress("rotating, stores:")
	defer end()
	var unused []string
	err := a.withEncrypted(ctx, func(b *cryptstore.Backend) error {
		opts := &cryptstore.RotateOptions{DataKeys: r.dataKeys, Progress: func(n, total int) {
			if count != nil {
				count(n)
			}
		}}
		if r.olderThan.value > 0 {
			opts.Before = a.now().Add(-r.olderThan.value)
		}
		sum, err := b.Rotate(ctx, opts)
		done.Stores, done.Rewrapped, done.DataKeys = sum.Stores, sum.Rewrapped, sum.DataKeys
		if err != nil {
			return hint(err, "run the command again to resume")
		}
		if !r.removeUnused {
			return nil
		}
		use, err := b.KeysInUse(ctx)
		for _, id := range keys.IDs() {
			if use[id] == 0 && id != keys.Primary() {
				unused = append(unused, id)
			}
		}
		return err
	})
	end()
	if err != nil || len(unused) == 0 {
		return err
	}
	_, err = cryptstore.UpdateKeyFile(path, func(k *cryptstore.Keys) (*cryptstore.Keys, error) {
		for _, id := range unused {
			var err error
			if k, err = k.Remove(id); err != nil {
				return nil, fmt.Errorf("remove encryption key: %w", err)
			}
		}
		return k, nil
	})
	if err == nil {
		done.Removed = unused
	}
	return err
}
