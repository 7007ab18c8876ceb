package transfer

import (
	"context"
	"errors"
	"fmt"

	"memento"
	"memento/backend/apikey"
)

// Keys counts API keys.
type Keys struct {
	Copied  int64 // that the target did not have
	Present int64 // that it had
}

// Keys copies the API keys of a workspace, or of all if ws is "": existing keys then also
// work on the target. Revoked keys stay revoked. With dryRun they are only counted.
//
// Errors: memento.ErrUnsupported if one of the backends keeps no keys; ErrDiffers if the
// target has another key with an ID of the source.
func (c *Copier) Keys(ctx context.Context, ws memento.Workspace, dryRun bool) (Keys, error) {
	var sum Keys
	from, ok := c.From.(apikey.Keeper)
	to, also := c.To.(apikey.Keeper)
	if !ok || !also {
		return sum, fmt.Errorf("%w: copying keys needs two backends that keep keys", memento.ErrUnsupported)
	}
	for k, err := range from.ListKeys(ctx, ws) {
		if err != nil {
			return sum, err
		}
		there, err := to.KeyByHash(ctx, k.Hash)
		switch {
		case err == nil && (there.ID != k.ID || there.Workspace != k.Workspace || there.Role != k.Role):
			return sum, fmt.Errorf("%w: key %s", ErrDiffers, k.ID)
		case err == nil:
			sum.Present++
			if !dryRun { // an update can only restrict a key
				if _, err := to.UpdateKey(ctx, k.Workspace, k.ID, apikey.Update{ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, UsedAt: k.UsedAt}); err != nil {
					return sum, err
				}
			}
			continue
		case !errors.Is(err, memento.ErrNotExist):
			return sum, err
		}
		if !dryRun {
			if err := to.AddKey(ctx, k); errors.Is(err, memento.ErrExist) {
				return sum, fmt.Errorf("%w: key %s", ErrDiffers, k.ID)
			} else if err != nil {
				return sum, err
			}
		}
		sum.Copied++
	}
	return sum, nil
}
