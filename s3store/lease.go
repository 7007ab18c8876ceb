package s3store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"memento"
)

// A lease says which handle has a job, and until when by the storage's clock.
type lease struct {
	Rev    string    `json:"rev"`
	Holder string    `json:"holder"`
	Until  time.Time `json:"until"`
}

// AcquireLease reports whether this handle has a duty for a term from now on.
func (b *Backend) AcquireLease(ctx context.Context, duty string, term time.Duration) (bool, error) {
	const op = "elect"
	if err := b.open(ctx); err != nil {
		return false, b.failed(op, err)
	}
	key := dutiesDir + hashed(duty)
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
	data, err = json.Marshal(lease{random(), b.holder, now.Add(max(term, time.Second))})
	if err != nil {
		return false, b.failed(op, err)
	}
	_, err = b.s3.swap(ctx, key, data, cond)
	if errors.Is(err, errPrecondition) || errors.Is(err, memento.ErrUncertain) {
		return false, nil
	}
	return err == nil, b.failed(op, err)
}
