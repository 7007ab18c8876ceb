package main

import (
	"context"
	"fmt"
	"iter"
	"time"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) keysCommand() *cobra.Command {
	var ws string
	c := &cobra.Command{
		Use:   "keys",
		Short: "Make, list and end the keys of a server; keys for encryption",
		Long: `A key lets a program into one workspace of a server: with the role "read" to look at
stores, with "write" to change them, with "admin" to do everything, keys included. It is
shown when it is made, and never again: only its hash is kept.

On a file or a folder, these commands manage the keys of all its workspaces, for
"memento serve" to know. With --backend https://HOST they manage those of the workspace
that the key belongs to, which must be an admin's. A server that runs notices within
seconds what was changed in its file.

Keys for encryption at rest are something else: see init-encryption.`,
		Example: `  KEY=$(memento keys create ci --role write --expires 90d)
  memento keys list
  memento keys rotate apikey_01kb... --grace 24h
  memento --backend https://memory.example.com keys revoke apikey_01kb...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.PersistentFlags().StringVar(&ws, "workspace", "", "the workspace (default: \"default\", or that of the server's key; of \"list\", all)")
	c.AddCommand(a.keysCreateCommand(&ws), a.keysListCommand(&ws), a.keysRevokeCommand(&ws), a.keysRotateCommand(&ws),
		a.keysInitEncryptionCommand(), a.keysRotateEncryptionCommand(), a.keysListEncryptionCommand())
	return c
}

// A keyring manages keys. A server is one for the workspace that its user's key
// belongs to.
type keyring interface {
	// Workspace is that of the keys which are made; Keys yields those of others, too,
	// if it can reach them.
	Workspace() memento.Workspace
	Keys(context.Context) iter.Seq2[memento.Key, error]
	CreateKey(context.Context, memento.Key) (memento.Key, error)
	RevokeKey(context.Context, memento.KeyID) (memento.Key, error)
	RotateKey(ctx context.Context, old memento.KeyID, grace time.Duration, next memento.Key) (memento.Key, error)
}

// withKeyring opens the keyring of the backend that the flags name, for the time of do.
func (a *app) withKeyring(ctx context.Context, ws string, do func(keyring) error) error {
	if ws != "" {
		if err := memento.CheckWorkspace(memento.Workspace(ws)); err != nil {
			return err
		}
	}
	return a.withBackend(ctx, func(b memento.Backend) error {
		switch b := b.(type) {
		case keyring:
			if own := b.Workspace(); ws != "" && ws != string(own) {
				return hint(&memento.Error{Op: "keys", Err: fmt.Errorf("%w: the key for this server belongs to the workspace %q", memento.ErrDenied, own)},
					"leave out --workspace, or give a key of that workspace")
			}
			return do(b)
		case memento.KeyKeeper:
			return do(localKeys{b, memento.Workspace(ws), a.now})
		}
		return &memento.Error{Op: "keys", Err: memento.ErrUnsupported}
	})
}

// showKey writes what there is to know of a key, but its secret.
func (a *app) showKey(k memento.Key) error {
	if a.json {
		return a.writeJSON(wire.FromKey(k))
	}
	used := "never used"
	if !k.UsedAt.IsZero() {
		used = "used " + minute(k.UsedAt)
	}
	name := a.paint(bold, line(k.Name))
	if state := a.keyState(k); state != "" {
		name += " (" + state + ")"
	}
	return a.print("%s  %s  %-5s  %-8s  …%-4s  %-21s  %s\n", k.ID, a.paint(dim, minute(k.CreatedAt)), k.Role, k.Workspace, line(k.Hint), used, name)
}

// keyState says when a key ends, or that it has; "" if it never does.
func (a *app) keyState(k memento.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked " + minute(k.RevokedAt)
	case k.ExpiresAt.IsZero():
		return ""
	case !k.Active(a.now()):
		return "expired " + minute(k.ExpiresAt)
	}
	return "until " + minute(k.ExpiresAt)
}

// tellSecret writes the secret of a new key, alone, so that a script can take it.
func (a *app) tellSecret(k memento.Key, secret string) error {
	if a.json {
		j := wire.FromKey(k)
		j.Secret = secret
		return a.writeJSON(j)
	}
	if err := a.print("%s\n", secret); err != nil {
		return err
	}
	state := a.keyState(k)
	if state != "" {
		state = ", " + state
	}
	a.say("made key %s (%s) of workspace %s, role %s%s; keep it now, since it is not shown again", line(k.Name), k.ID, k.Workspace, k.Role, state)
	return nil
}

// completeKeys suggests the IDs of keys that are active.
func (a *app) completeKeys(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	err := a.withKeyring(cmd.Context(), "", func(keys keyring) error {
		for k, err := range keys.Keys(cmd.Context()) {
			if err != nil || len(found) == maxSuggestions {
				return err
			}
			if id := string(k.ID); k.Active(a.now()) && len(typed) <= len(id) && id[:len(typed)] == typed {
				found = append(found, cobra.CompletionWithDesc(id, string(k.Role)+" "+string(k.Workspace)+" "+line(k.Name)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
