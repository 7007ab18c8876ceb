package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"memento"
)

// A lease says which handle holds it, and until when by the storage's clock.
type lease struct {
	Rev    string    `json:"rev"`
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// AcquireLease implements [backend.Leaser]. The lease is for ttl, and a second at least.
func (b *Backend) AcquireLease(ctx context.Context, name string, ttl time.Duration) (bool, error) {
	const op = "acquire lease"
	if err := b.open(ctx); err != nil {
		return false, b.failed(op, err)
	}
	key := leasesDir + hashed(name)
	data, etag, err := b.s3.get(ctx, key)
	now, known := b.transport.now()
	if !known {
		now = b.time()
	}
	cond := ifMatch(etag)
	switch {
	case errors.Is(err, errNotFound):
		cond = ifAbsent
	case err != nil:
		return false, b.failed(op, err)
	default:
		var l lease // one that cannot be decoded has ended
		if json.Unmarshal(data, &l) == nil && l.Holder != b.holder && now.Before(l.Until) {
			return false, nil
		}
	}
	data, err = json.Marshal(lease{random(), b.holder, now.Add(max(ttl, time.Second))})
	if err != nil {
		return false, b.failed(op, err)
	}
	_, err = b.s3.swap(ctx, key, data, cond)
	if errors.Is(err, errPrecondition) || errors.Is(err, memento.ErrUncertain) {
		return false, nil
	}
	return err == nil, b.failed(op, err)
}
