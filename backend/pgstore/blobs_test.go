package pgstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"memento/backend/storetest"
	"memento/test/services"

	"github.com/jackc/pgx/v5"
)

// blobs returns the columns of all rows that texts and history are in.
func blobs(ctx context.Context, dir string) (found []storetest.Blob, err error) {
	c, err := pgx.Connect(ctx, os.Getenv(services.PostgresVariable))
	if err != nil {
		return nil, err
	}
	defer c.Close(ctx)
	for _, table := range []string{"contents", "memories", "versions", "stores", "counters", "vectors"} {
		name := pgx.Identifier{schemaOf(dir), table}.Sanitize()
		rows, err := c.Query(ctx, `SELECT ctid::text, * FROM `+name)
		if err != nil {
			return nil, err
		}
		fields := rows.FieldDescriptions()
		for rows.Next() {
			values, err := rows.Values()
			if err != nil {
				return nil, err
			}
			at := values[0].(string) // moves with each update
			for i, value := range values[1:] {
				column := fields[i+1].Name
				data, back := asBytes(value)
				if back == nil {
					continue
				}
				found = append(found, storetest.Blob{Name: table + "." + column, Data: data, Write: func(ctx context.Context, data []byte) error {
					c, err := pgx.Connect(ctx, os.Getenv(services.PostgresVariable))
					if err != nil {
						return err
					}
					defer c.Close(ctx)
					query := fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE ctid = $2::text::tid RETURNING ctid::text`, name, pgx.Identifier{column}.Sanitize())
					return c.QueryRow(ctx, query, back(data), at).Scan(&at)
				}})
			}
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	if found == nil {
		return nil, errors.New("the schema has no rows")
	}
	return found, nil
}

// asBytes returns a value as bytes, and what makes one of bytes; nil for what has none.
func asBytes(value any) (data []byte, back func([]byte) any) {
	switch v := value.(type) {
	case []byte:
		return v, func(data []byte) any { return data }
	case string:
		return []byte(v), func(data []byte) any { return string(data) }
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(v)), func(data []byte) any { return int64(binary.BigEndian.Uint64(data)) }
	case bool:
		data := []byte{0}
		if v {
			data[0] = 1
		}
		return data, func(data []byte) any { return data[0]&1 == 1 }
	}
	return nil, nil
}
