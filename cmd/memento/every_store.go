package main

import (
	"context"
	"errors"
	"fmt"

	"memento"

	"github.com/spf13/cobra"
)

// addAllStores adds the flag --all-stores.
func addAllStores(c *cobra.Command, all *bool) {
	c.Flags().BoolVar(all, "all-stores", false, "all stores, including archived ones")
}

// eachStore calls do with the selected store or, with all, with one store after the other,
// newest first. An error in one store does not stop the others; the errors are joined.
func (a *app) eachStore(ctx context.Context, all bool, do func(memento.Backend, *memento.Store, memento.StoreInfo) error) error {
	if all && a.storeName != "" {
		return usage("give --store or --all-stores, not both")
	}
	return a.withBackend(ctx, func(b memento.Backend) error {
		if !all {
			s, err := a.openExisting(ctx, b)
			if err != nil {
				return err
			}
			info, err := s.Info(ctx)
			if err != nil {
				return err
			}
			return do(b, s, info)
		}
		var stores []memento.StoreInfo
		for info, err := range b.ListStores(ctx, a.workspace(), memento.StoreListOptions{IncludeArchived: true}) {
			if err != nil {
				return err
			}
			stores = append(stores, info)
		}
		if len(stores) == 0 {
			if err := a.noStores(ctx, b); err != nil {
				return err
			}
		}
		var failed []error
		for _, info := range stores {
			s, err := memento.OpenStore(ctx, b, a.workspace(), info.ID, a.storeOptions())
			if err == nil {
				err = do(b, s, info)
			}
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, memento.ErrNoStore): // deleted meanwhile
			case err != nil:
				failed = append(failed, fmt.Errorf("store %s (%s): %w", info.Name, info.ID, err))
			}
		}
		return errors.Join(failed...)
	})
}
