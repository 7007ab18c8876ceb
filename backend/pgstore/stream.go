package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A stream is a listing: the rows of one statement, and so of one instant. Up to
// streamBytes are read before the first row is yielded, so that a slow caller, or one that
// uses the backend in between, holds no connection. For more rows the connection is taken
// out of the pool, which opens another one when necessary.
type stream[T any] struct {
	b       *Backend
	op      string
	query   string
	args    []any
	noMatch bool // whether no row can match, because an argument is not valid text
	scan    func(pgx.Rows) (T, error)
	size    func(*T) int                // approximate size of a row in memory
	empty   func(context.Context) error // called if there are no rows; may be nil
}

const streamBytes = 8 << 20

// limit limits the statement to n rows; 0 means no limit. Common numbers are part of the
// statement's text, so that the server keeps its plan: with a parameter it makes a new plan
// each time.
func (s *stream[T]) limit(n int) {
	switch {
	case n <= 0:
	case n <= 128, n == usualRows:
		s.query += fmt.Sprintf(` LIMIT %d`, n)
	default:
		s.args = append(s.args, n)
		s.query += fmt.Sprintf(` LIMIT $%d`, len(s.args))
	}
}

// all yields the rows. The last element may be an error.
func (s *stream[T]) all(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		buffered, rest, err := s.open(ctx)
		if err == nil && rest != nil {
			defer rest.close()
		}
		if err == nil && len(buffered) == 0 && s.empty != nil {
			err = s.empty(ctx)
		}
		for n := range buffered {
			if n%256 == 255 && ctx.Err() != nil {
				err = ctx.Err()
				break
			}
			if !yield(buffered[n], nil) {
				return
			}
			buffered[n] = none
		}
		for err == nil && rest != nil && rest.rows.Next() {
			var row T
			if row, err = s.scan(rest.rows); err == nil && !yield(row, nil) {
				return
			}
		}
		if err == nil && rest != nil {
			if err = rest.rows.Err(); err != nil && ctx.Err() != nil {
				err = ctx.Err()
			}
		}
		if err != nil {
			yield(none, fail(s.op, err))
		}
	}
}

// openRows are the rows that did not fit into memory, on a connection of their own.
type openRows struct {
	conn *pgx.Conn
	rows pgx.Rows
}

// close closes the connection: reading the remaining rows may take longer than opening
// another connection.
func (r *openRows) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.conn.Close(ctx)
	r.rows.Close()
}

// open reads up to streamBytes. rest is nil unless there are more rows.
func (s *stream[T]) open(ctx context.Context) (buffered []T, rest *openRows, err error) {
	err = s.b.retry(ctx, func(ctx context.Context) error {
		buffered, rest = nil, nil
		if s.noMatch {
			return nil
		}
		conn, err := s.b.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		buffered, rest, err = s.readBuffered(ctx, conn)
		return err
	})
	return buffered, rest, err
}

// readBuffered reads up to streamBytes. It releases conn, or passes it on in rest.
func (s *stream[T]) readBuffered(ctx context.Context, conn *pgxpool.Conn) (buffered []T, rest *openRows, err error) {
	g := s.b.watch(conn.Conn())
	rows, err := conn.Query(ctx, s.b.sql(s.query), s.args...)
	if err == nil {
		for bytes := 0; rows.Next(); {
			var row T
			if row, err = s.scan(rows); err != nil {
				break
			}
			buffered = append(buffered, row)
			if bytes += s.size(&row); bytes >= streamBytes && g.timer.Stop() { // if Stop fails, the watchdog is closing the connection
				return buffered, &openRows{conn: conn.Hijack(), rows: rows}, nil
			}
		}
		rows.Close()
		err = cmp.Or(err, rows.Err())
	}
	err = g.stop(err)
	conn.Release()
	return buffered, nil, err
}

// Times are stored in whole microseconds, but a query may have any time. Times at or after
// t are at or after ceilMicros(t); times at or before t are at or before floorMicros(t).

func floorMicros(t time.Time) int64 {
	switch year := t.Year(); {
	case year < -200_000:
		return math.MinInt64
	case year > 200_000:
		return math.MaxInt64
	}
	return t.Truncate(time.Microsecond).UnixMicro()
}

func ceilMicros(t time.Time) int64 {
	floor := floorMicros(t)
	if floor < math.MaxInt64 && timeOf(floor).Before(t) {
		floor++
	}
	return floor
}
