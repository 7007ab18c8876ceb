package pgstore

import (
	"context"
	"crypto/rand"
	"time"

	"memento"

	"github.com/jackc/pgx/v5/pgxpool"
)

// newLeaseHolder returns a unique name for this handle.
func newLeaseHolder() string { return rand.Text() }

// AcquireLease implements [backend.Leaser]. Leases expire by the database's clock.
func (b *Backend) AcquireLease(ctx context.Context, name string, ttl time.Duration) (bool, error) {
	const op = "acquire lease"
	if !storable(name) || name == "" {
		return false, &memento.Error{Op: op, Err: invalid("a lease needs a name without U+0000")}
	}
	return read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (bool, error) {
		// The statement is idempotent, so a lost answer does no harm.
		tag, err := c.Exec(ctx, b.sql(`INSERT INTO memento.leases AS l (duty, holder, until)
			VALUES ($1, $2, clock_timestamp() + $3::bigint * interval '1 microsecond')
			ON CONFLICT (duty) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE l.holder = excluded.holder OR l.until <= clock_timestamp()`), name, b.holder, max(ttl, time.Second).Microseconds())
		return tag.RowsAffected() == 1, err
	})
}
