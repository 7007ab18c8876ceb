package main

import (
	"context"
	"fmt"
	"slices"

	"memento"
	"memento/cryptstore"

	"github.com/spf13/cobra"
)

func (a *app) keysInitEncryptionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init-encryption FILE",
		Short: "Make a file of keys for encryption at rest",
		Long: `Init-encryption makes a file with one new encryption key, which only its owner can
read. Nothing is ever overwritten.

With --encryption-keys FILE, or MEMENTO_ENCRYPTION_KEYS_FILE, what is kept from then on
is encrypted. What is there already, without encryption, is copied: "memento copy" with
--to-encryption-keys.

Keep a copy of the file where the memories are not. Without it nobody can read them.`,
		Example: `  memento keys init-encryption /etc/memento/encryption.json
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
			a.say("made encryption key %s in %s", keys.Primary(), line(args[0]))
			a.say("keep a copy of this file where the memories are not: without it nobody can read them, and memento cannot either")
			return nil
		},
	}
}

// An encryptionKeyJSON is a key for encryption, without what is secret.
type encryptionKeyJSON struct {
	Type    string `json:"type"` // "encryption_key"
	ID      string `json:"id"`
	Primary bool   `json:"primary"`
	Stores  *int   `json:"stores,omitempty"` // whose keys it wraps; of "list-encryption"
	File    string `json:"file,omitempty"`   // of "init-encryption"
	Missing bool   `json:"missing,omitempty"`
}

func (a *app) keysListEncryptionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list-encryption",
		Short: "List the keys for encryption at rest, and how many stores need each",
		Long: `List-encryption shows the keys that were given for encryption, oldest first: their IDs,
which of them is used for new stores, and for how many stores each is needed. A key that
no store needs can be removed, once there are no backups that need it.`,
		Example: `  memento --encryption-keys encryption.json keys list-encryption`,
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
		state = "  missing: nobody can read these stores without it"
	}
	return a.print("%-10s  %s%s\n", line(id), plural(stores, "store", "stores"), state)
}

// needEncryptionKeys is encryptionKeys for commands that make no sense without.
func (a *app) needEncryptionKeys() (*cryptstore.Keys, error) {
	keys, err := a.encryptionKeys()
	if err == nil && keys == nil {
		err = usage("name the file of the encryption keys with --encryption-keys, or in %s", encryptionFileVariable)
	}
	return keys, err
}

// withEncrypted opens the backend that the flags name, for the time of do.
func (a *app) withEncrypted(ctx context.Context, do func(*cryptstore.Backend) error) error {
	return a.withBackend(ctx, func(b memento.Backend) error {
		e, ok := cryptstore.Of(b)
		if !ok {
			return &memento.Error{Op: "encryption", Err: memento.ErrUnsupported}
		}
		return do(e)
	})
}

// A rotation is what "rotate-encryption" is asked to do.
type rotation struct {
	newKey, addKey, dataKeys, removeUnused bool
	olderThan                              span
}

func (a *app) keysRotateEncryptionCommand() *cobra.Command {
	var r rotation
	c := &cobra.Command{
		Use:   "rotate-encryption",
		Short: "Change the keys for encryption at rest, while others read and write",
		Long: `Every store has keys of its own, which are kept with it, wrapped by the primary key of
the file. Rotate-encryption wraps those of all stores by the primary key, whichever has
wrapped them. Contents are not touched, so it is quick, and others can read and write
meanwhile. What was interrupted is simply run again.

With --new-key another key becomes primary first: one that --add-key has made, or else
a new one. Servers that run must know a key before stores are wrapped by it. So with
servers: --add-key, give the file to all of them and start them anew, then --new-key.

With --data-keys every store also has a new key for what is written from then on.
With --remove-unused keys that no store needs are removed from the file; backups that
were made before still need them, so keep a copy.`,
		Example: `  memento --encryption-keys encryption.json keys rotate-encryption --new-key
  memento --encryption-keys encryption.json keys rotate-encryption --data-keys --older-than 365d
  memento --encryption-keys encryption.json keys rotate-encryption --remove-unused`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.rotateEncryption(cmd.Context(), &r) },
	}
	c.Flags().BoolVar(&r.newKey, "new-key", false, "make another key primary first: that of --add-key, or a new one")
	c.Flags().BoolVar(&r.addKey, "add-key", false, "only add a key to the file, which is not used yet")
	c.Flags().BoolVar(&r.dataKeys, "data-keys", false, "give every store a new key for what is written from then on")
	c.Flags().BoolVar(&r.removeUnused, "remove-unused", false, "remove keys that no store needs from the file, afterwards")
	c.Flags().Var(&r.olderThan, "older-than", "with --data-keys, leave out stores whose newest key is not as old, such as "+spanForms)
	for _, other := range []string{"new-key", "data-keys", "remove-unused"} {
		c.MarkFlagsMutuallyExclusive("add-key", other)
	}
	return c
}

// What "rotate-encryption --json" writes.
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
		return usage("to change the keys, name their file with --encryption-keys, or in %s", encryptionFileVariable)
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
		a.say(`added encryption key %s to %s; give the file to all servers, start them anew, then use it with --new-key`, done.Added, line(path))
		return nil
	case done.Added != "":
		a.say("added encryption key %s to %s; keep a copy of the file", done.Added, line(path))
	}
	a.say("key %s wraps the keys of every store (%d), of which %d had another before", done.Primary, done.Stores, done.Rewrapped)
	if r.dataKeys {
		a.say("%s a new key for what is written from now on", plural(done.DataKeys, "store has", "stores have"))
	}
	for _, id := range done.Removed {
		a.say("removed encryption key %s from %s", id, line(path))
	}
	return nil
}

// rewrap has all stores wrapped by the primary key.
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
			return hint(err, "run it again: what is done is not done again")
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
