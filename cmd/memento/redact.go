package main

import (
	"context"
	"errors"

	"memento"
	"memento/internal/wire"

	"github.com/spf13/cobra"
)

func (a *app) redactCommand() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "redact VERSION...",
		Short: "Permanently erase the contents and paths of versions",
		Long: `Redact permanently erases the contents and the path of versions. The ID, the time and the
actor of a version are kept. The newest version of a memory can only be redacted after
the memory was changed or removed. Several versions are redacted one after the other.`,
		Example: `  memento redact memver_01kb...
  memento redact --yes memver_01kb... memver_01kc...`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeVersions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(s *memento.Store) error {
				return a.redact(cmd.Context(), s, args, yes)
			})
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	return c
}

func (a *app) redact(ctx context.Context, s *memento.Store, ids []string, yes bool) error {
	// All versions must exist before the first is redacted.
	for i, typed := range ids {
		whole, err := versionID(ctx, s, typed)
		if err != nil {
			return err
		}
		id := string(whole)
		ids[i] = id
		v, err := s.Version(ctx, memento.VersionID(id))
		if damage, ok := errors.AsType[*memento.DamageError](err); ok { // a damaged version can be redacted
			v, err = withoutContents(ctx, s, damage)
		}
		if err != nil {
			return versionError(err, memento.VersionID(id))
		}
		if !yes && a.stdinTTY {
			if err := a.logLine(v, "", nil); err != nil {
				return err
			}
		}
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	if err := a.confirm(ctx, yes, "Permanently erase the contents of %s?", plural(len(ids), "version", "versions")); err != nil {
		return err
	}
	store, err := s.ID(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		v, err := s.Redact(ctx, memento.VersionID(id), person())
		switch {
		case errors.Is(err, memento.ErrNotExist):
			return versionError(err, memento.VersionID(id))
		case err != nil:
			return err
		case a.json:
			err = a.writeJSON(wire.FromVersion(store, v, false))
		default:
			a.say("redacted %s", v.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withoutContents returns a version with damaged contents, without these contents.
func withoutContents(ctx context.Context, s *memento.Store, damage *memento.DamageError) (memento.Version, error) {
	for v, err := range s.Versions(ctx, memento.VersionListOptions{Memory: damage.Memory}) {
		if err != nil || v.ID == damage.Version {
			return v, err
		}
	}
	return memento.Version{}, damage
}
