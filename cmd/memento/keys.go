package main

import (
	"context"
	"iter"
	"time"

	"memento"
	"memento/backend/apikey"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) keysCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Manage API keys",
		Long: `An API key gives a client access to one workspace of a server. Its role is "read" (read
stores), "write" (also change them) or "admin" (also manage keys and settings). The
secret of a key is shown once, when the key is created; only its hash is stored.

With the backend of a server, these commands manage the keys of all workspaces. With
--backend https://HOST they manage the keys of the workspace that the given key belongs
to, which must be an admin key. A running server applies changes within seconds.`,
		Example: `  KEY=$(memento keys create ci --role write --expires 90d)
  memento keys list
  memento keys rotate apikey_01kb... --grace 24h
  memento --backend https://memory.example.com keys revoke apikey_01kb...`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.keysCreateCommand(), a.keysListCommand(), a.keysRevokeCommand(), a.keysRotateCommand())
	return c
}

// A keyring manages API keys. httpstore's backend implements it for the workspace of its
// own key.
type keyring interface {
	// Workspace is the workspace of new keys. Keys may also yield keys of other
	// workspaces.
	Workspace() memento.Workspace
	Keys(context.Context) iter.Seq2[apikey.Key, error]
	CreateKey(context.Context, apikey.Key) (apikey.Key, error)
	RevokeKey(context.Context, memento.KeyID) (apikey.Key, error)
	RotateKey(ctx context.Context, old memento.KeyID, grace time.Duration, next apikey.Key) (apikey.Key, error)
}

// withKeyring opens the keyring of the selected backend, calls do, and closes it.
func (a *app) withKeyring(ctx context.Context, how access, do func(keyring) error) error {
	return a.withAccess(ctx, how, func(b memento.Backend) error {
		switch b := b.(type) {
		case keyring:
			return do(b)
		case apikey.Keeper:
			return do(localKeys{b, a.givenWorkspace(), a.now})
		}
		return &memento.Error{Op: "keys", Err: memento.ErrUnsupported}
	})
}

// showKey prints a key without its secret.
func (a *app) showKey(k apikey.Key) error {
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

// keyState describes the expiry or revocation of a key; "" if it never expires.
func (a *app) keyState(k apikey.Key) string {
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

// printSecret prints the secret of a new key, and nothing else, to standard output, so that
// scripts can use it.
func (a *app) printSecret(k apikey.Key, secret string) error {
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
	a.say("created key %s (%s) in workspace %s with role %s%s; save it now, because it is not shown again", line(k.Name), k.ID, k.Workspace, k.Role, state)
	return nil
}

// completeKeys suggests the IDs of keys that are active.
func (a *app) completeKeys(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var found []string
	err := a.withKeyring(cmd.Context(), access{}, func(keys keyring) error {
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
