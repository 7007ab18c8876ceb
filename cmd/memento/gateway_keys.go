package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"memento"
	"memento/backend/cryptstore"
	"memento/gateway"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) gatewayKeysCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Manage the keys for the upstream that the server holds",
		Long: `A gateway can hold one key for its upstream for each workspace, so that applications only
have a key of memento. These commands keep such keys in the backend of the server,
encrypted: they need the encryption keys of the backend (see "memento encryption"). Without
encryption, use a file, with --gateway-key-file. A held key comes before the file.

A running server notices changes after a few seconds. A key that was replaced or removed
is erased, but backups that were made before still have it: revoke it at the upstream.`,
		Example: `  memento --encryption-keys encryption.json gateway keys set < key.txt
  memento --encryption-keys encryption.json gateway keys set --workspace team
  memento --encryption-keys encryption.json gateway keys list`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.gatewayKeysSetCommand(), a.gatewayKeysListCommand(), a.gatewayKeysRemoveCommand())
	return c
}

// An upstreamKeyJSON is a held key without its secret.
type upstreamKeyJSON struct {
	Type      string            `json:"type"` // "memento_upstream_key"
	Workspace memento.Workspace `json:"workspace"`
	Hint      string            `json:"hint,omitempty"` // the last characters
	SetAt     *time.Time        `json:"set_at,omitempty"`
	Removed   bool              `json:"removed,omitempty"`
}

// withUpstreamKeys opens the keys in the selected backend, which must be encrypted.
func (a *app) withUpstreamKeys(ctx context.Context, how access, do func(*gateway.Keys) error) error {
	return a.withAccess(ctx, how, func(b memento.Backend) error {
		if _, ok := cryptstore.Of(b); !ok {
			return hint(fmt.Errorf("%w: keys for the upstream are only kept in an encrypted backend", memento.ErrUnsupported),
				`give its encryption keys with --encryption-keys; "memento copy" with --to-encryption-keys encrypts an existing backend; without encryption, use serve --gateway-key-file`)
		}
		return do(gateway.NewKeys(b))
	})
}

func (a *app) gatewayKeysSetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set",
		Short: "Store the key of a workspace, read from standard input",
		Long: `Set stores the key for the upstream of the workspace that --workspace selects. It reads
the key from standard input, so that it is in no list of processes and no history of a
shell. On a terminal it asks for the key, without showing it. A key that was stored before
is replaced and erased.`,
		Example: `  memento --encryption-keys encryption.json gateway keys set < key.txt
  memento --encryption-keys encryption.json gateway keys set --workspace team`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withUpstreamKeys(cmd.Context(), creating, func(keys *gateway.Keys) error {
				key, err := a.readUpstreamKey(cmd.Context())
				if err != nil {
					return err
				}
				ws := a.workspace()
				if err := keys.Set(cmd.Context(), person(), ws, key); err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(upstreamKeyJSON{Type: "memento_upstream_key", Workspace: ws})
				}
				a.say("stored the key for the upstream of the workspace %s", ws)
				return nil
			})
		},
	}
}

// readUpstreamKey reads a key from standard input, on a terminal without showing it.
func (a *app) readUpstreamKey(ctx context.Context) (string, error) {
	const most = 64 << 10 // bytes; the longest key is shorter
	if f, ok := a.stdin.(*os.File); ok && a.stdinTTY {
		fmt.Fprint(a.stderr, "key for the upstream: ")
		key, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.stderr)
		return strings.TrimSpace(string(key)), err
	}
	text, err := io.ReadAll(io.LimitReader(a.input(ctx), most))
	return strings.TrimSpace(string(text)), err
}

func (a *app) gatewayKeysListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the workspaces that have a key for the upstream",
		Long: `List prints the workspaces of all held keys, with the end of each key and the time at
which it was set.`,
		Example: `  memento --encryption-keys encryption.json gateway keys list
  memento --encryption-keys encryption.json gateway keys list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withUpstreamKeys(cmd.Context(), reading, func(keys *gateway.Keys) error {
				none := true
				for k, err := range keys.List(cmd.Context()) {
					if err != nil {
						return err
					}
					none = false
					if a.json {
						err = a.writeJSON(upstreamKeyJSON{Type: "memento_upstream_key", Workspace: k.Workspace, Hint: k.Hint, SetAt: &k.SetAt})
					} else {
						err = a.print("%-20s  …%-4s  %s\n", k.Workspace, line(k.Hint), minute(k.SetAt))
					}
					if err != nil {
						return err
					}
				}
				if none && !a.json {
					a.say("no keys for the upstream are held")
				}
				return nil
			})
		},
	}
}

func (a *app) gatewayKeysRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "remove",
		Aliases: []string{"rm"},
		Short:   "Erase the key of a workspace",
		Long: `Remove erases the key for the upstream of the workspace that --workspace selects. Running
servers may use it for a few more seconds.`,
		Example: `  memento --encryption-keys encryption.json gateway keys remove --workspace team`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withUpstreamKeys(cmd.Context(), access{}, func(keys *gateway.Keys) error {
				ws := a.workspace()
				err := keys.Remove(cmd.Context(), person(), ws)
				if errors.Is(err, memento.ErrNotExist) {
					return hint(reworded(err, "the workspace %s has no key for the upstream", ws), `"memento gateway keys list" lists the workspaces that have one`)
				}
				if err != nil {
					return err
				}
				if a.json {
					return a.writeJSON(upstreamKeyJSON{Type: "memento_upstream_key", Workspace: ws, Removed: true})
				}
				a.say("removed the key for the upstream of the workspace %s", ws)
				return nil
			})
		},
	}
}
