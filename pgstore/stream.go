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

// A stream is a listing: the rows of one statement, and so of one instant. What
// fits into streamBytes is read before the first row is yielded, so that a caller
// who takes his time, or uses the backend meanwhile, holds no connection. For the
// rest the connection leaves the pool, which makes another when it needs one.
type stream[T any] struct {
	b       *Backend
	op      string
	query   string
	args    []any
	noMatch bool // whether no row can match, since an argument is no text
	scan    func(pgx.Rows) (T, error)
	size    func(*T) int                // of a row in memory, roughly
	empty   func(context.Context) error // called if there was no row; may be nil
}

const streamBytes = 8 << 20

// limit ends the statement after n rows, unless n is 0. Usual numbers are part of
// its text, so that the server keeps its plan: with an unknown number it makes one
// anew each time.
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

// A remainder is rows that did not fit, on a connection of their own.
type openRows struct {
	conn *pgx.Conn
	rows pgx.Rows
}

// close closes the connection: to read what nobody wants may take longer than to
// make another.
func (r *openRows) close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.conn.Close(ctx)
	r.rows.Close()
}

// open reads what fits, and returns the rest, if there is any.
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

// take reads what fits, and gives conn back or makes it the rest's.
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
			if bytes += s.size(&row); bytes >= streamBytes && g.timer.Stop() { // else there is no connection any more
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

// Times are kept in whole microseconds, and asked for in any: those at or after t
// are at or after ceilMicros, those at or before t at or before floorMicros.

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
