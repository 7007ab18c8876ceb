package pgstore

import (
	"context"
	"fmt"
	"iter"

	"memento"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// versionColumns are the columns of a version without its contents, in the order of
// versionRow.
const versionColumns = `v.seq, v.id, v.memory, v.operation, v.path, v.size, v.sha256, v.digest,
	v.actor_kind, v.actor_id, v.created_at, v.redacted_at, v.redactor_kind, v.redactor_id, v.content,
	v.actor_key, v.redactor_key`

// A versionRow receives a row of versionColumns.
type versionRow struct {
	seq, size, created, content               int64
	id, memory, operation, path, digest       string
	sha256, kind, actor, redactKind, redactBy []byte
	actorKey, redactKey                       []byte
	redacted                                  *int64
}

func (r *versionRow) targets(more ...any) []any {
	return append([]any{&r.seq, &r.id, &r.memory, &r.operation, &r.path, &r.size, &r.sha256, &r.digest,
		&r.kind, &r.actor, &r.created, &r.redacted, &r.redactKind, &r.redactBy, &r.content, &r.actorKey, &r.redactKey}, more...)
}

func (r *versionRow) version() memento.Version {
	return memento.Version{
		Seq:        r.seq,
		ID:         memento.VersionID(r.id),
		Memory:     memento.MemoryID(r.memory),
		Operation:  memento.Operation(r.operation),
		Path:       memento.Path(r.path),
		Size:       r.size,
		SHA256:     hashOf(r.sha256),
		Digest:     r.digest,
		CreatedBy:  memento.Actor{Kind: memento.ActorKind(r.kind), ID: string(r.actor), Key: memento.KeyID(r.actorKey)},
		CreatedAt:  timeOf(r.created),
		RedactedAt: timeOrZero(r.redacted),
		RedactedBy: memento.Actor{Kind: memento.ActorKind(r.redactKind), ID: string(r.redactBy), Key: memento.KeyID(r.redactKey)},
	}
}

const (
	withContents = ` LEFT JOIN memento.contents t ON t.store = v.store AND t.seq = v.content`

	// ofID finds a version by the seq in its ID. An imported version may have another seq,
	// and is found by an index.
	ofID         = `v.seq = $2 AND v.id = $3`
	ofImportedID = `v.imported AND v.id = $2`
)

// GetVersion implements [memento.History].
func (b *Backend) GetVersion(ctx context.Context, store memento.StoreID, id memento.VersionID) (memento.Version, error) {
	const op = "get version"
	const query = `SELECT ` + versionColumns + `, t.data FROM memento.versions v` + withContents + ` WHERE v.store = ` + ofStore + ` AND `
	return read(ctx, b, op, func(ctx context.Context, c *pgxpool.Conn) (memento.Version, error) {
		if !storable(string(store)) {
			return memento.Version{}, errNoStore(op)
		}
		var row versionRow
		var text []byte
		if storable(string(id)) {
			err := c.QueryRow(ctx, b.sql(query+ofID), string(store), id.SeqHint(), string(id)).Scan(row.targets(&text)...)
			if noRows(err) {
				err = c.QueryRow(ctx, b.sql(query+ofImportedID), string(store), string(id)).Scan(row.targets(&text)...)
			}
			if !noRows(err) {
				v := row.version()
				v.Content = string(text)
				if err == nil {
					err = v.CheckContent(op)
				}
				if err != nil {
					return memento.Version{}, err
				}
				return v, nil
			}
		}
		if err := b.exists(ctx, op, store); err != nil {
			return memento.Version{}, err
		}
		return memento.Version{}, errNotExist(op, "")
	})
}

// ListVersions implements [memento.History].
func (b *Backend) ListVersions(ctx context.Context, store memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	const op = "list versions"
	s := &stream[memento.Version]{b: b, op: op, args: []any{string(store)}}
	where := ` WHERE v.store = ` + ofStore
	and := func(condition string, args ...any) {
		var places []any
		for _, arg := range args {
			s.args = append(s.args, arg)
			places = append(places, fmt.Sprintf("$%d", len(s.args)))
		}
		where += ` AND ` + fmt.Sprintf(condition, places...)
	}
	if opts.Memory != "" {
		and(`v.memory = %s`, string(opts.Memory))
	}
	if opts.Path != "" {
		low, high := rangeBelow(opts.Path)
		and(`(v.path = %s OR v.path > %s AND v.path < %s)`, string(opts.Path), low, high)
	}
	if opts.Operation != "" {
		and(`v.operation = %s`, string(opts.Operation))
	}
	if opts.CreatedBy.Kind != "" {
		and(`v.actor_kind = %s`, []byte(opts.CreatedBy.Kind))
	}
	if opts.CreatedBy.ID != "" {
		and(`v.actor_id = %s`, []byte(opts.CreatedBy.ID))
	}
	if key := []byte(opts.CreatedBy.Key); len(key) > 0 {
		and(`(v.actor_key = %s OR v.actor_kind = %s AND v.actor_id = %s)`, key, []byte(memento.ActorAPIKey), key)
	}
	if !opts.CreatedFrom.IsZero() {
		and(`v.created_at >= %s`, ceilMicros(opts.CreatedFrom))
	}
	if !opts.CreatedTo.IsZero() {
		and(`v.created_at <= %s`, floorMicros(opts.CreatedTo))
	}
	switch {
	case opts.After == 0:
	case opts.OldestFirst:
		and(`v.seq > %s`, opts.After)
	default:
		and(`v.seq < %s`, opts.After)
	}
	where += ` ORDER BY v.seq`
	if !opts.OldestFirst {
		where += ` DESC`
	}
	var row versionRow
	var text []byte
	columns, from, targets := versionColumns, ` FROM memento.versions v`, row.targets()
	if opts.Contents {
		columns, from, targets = columns+`, t.data`, from+withContents, row.targets(&text)
	}
	s.query = `SELECT ` + columns + from + where
	s.limit(opts.Limit)
	s.scan = func(rows pgx.Rows) (memento.Version, error) {
		row, text = versionRow{}, nil
		err := rows.Scan(targets...)
		v := row.version()
		v.Content = string(text)
		if err == nil && opts.Contents {
			err = v.CheckContent(op)
		}
		return v, err
	}
	s.size = func(v *memento.Version) int { return 500 + len(v.Path) + len(v.Content) }
	s.noMatch = !storable(string(store)) || !storable(string(opts.Memory)) || !storable(string(opts.Path)) || !storable(string(opts.Operation))
	s.empty = func(ctx context.Context) error { return b.exists(ctx, op, store) }
	return s.all(ctx)
}

// Redact implements [memento.History]. The contents are removed from the tables and the
// search index. The package comment says when disk space is freed.
func (b *Backend) Redact(ctx context.Context, store memento.StoreID, id memento.VersionID, by memento.Actor) (v memento.Version, err error) {
	const op = "redact"
	err = b.withStore(ctx, op, store, func(k knownStore) error {
		return b.transact(ctx, func(ctx context.Context, t *tx) (err error) {
			v, err = b.redact(ctx, t, k.num, id, by)
			return err
		})
	})
	if err == nil {
		// The index may still have words of contents that are not current any more. Also if
		// it was redacted before: that process may have died before purging the index.
		err = b.purgeIndex(ctx, store)
	}
	if err != nil {
		return memento.Version{}, fail(op, err)
	}
	return v, nil
}

func (b *Backend) redact(ctx context.Context, t *tx, store int64, id memento.VersionID, by memento.Actor) (v memento.Version, err error) {
	const op = "redact"
	const query = `SELECT ` + versionColumns + `, EXISTS (SELECT 1 FROM memento.memories m WHERE m.store = v.store AND m.id = v.memory AND m.version = v.id)
		FROM memento.versions v WHERE v.store = $1 AND `
	if !storable(string(id)) {
		id = ""
	}
	var row versionRow
	var isHead bool
	first := t.begin()
	t.queueLock(first, store)
	found := func(r pgx.Row) error {
		if err := r.Scan(row.targets(&isHead)...); !noRows(err) {
			return err
		}
		return nil
	}
	first.Queue(b.sql(query+ofID), store, id.SeqHint(), string(id)).QueryRow(found)
	first.Queue(b.sql(query+ofImportedID), store, string(id)).QueryRow(found)
	if err := t.send(ctx, first); err != nil {
		return v, err
	}
	v = row.version()
	switch {
	case v.ID == "":
		return v, errNotExist(op, "")
	case v.Redacted():
		return v, nil
	case isHead:
		return v, &memento.Error{Op: op, Path: v.Path, Err: memento.ErrHead}
	}
	v.RedactedAt, v.RedactedBy = timeOf(t.now), by
	v.Path, v.Size, v.SHA256, v.Digest = "", 0, "", ""
	t.do(`UPDATE memento.versions SET path = '', content = 0, size = 0, sha256 = '', digest = '',
		redacted_at = $3, redactor_kind = $4, redactor_id = $5, redactor_key = $6 WHERE store = $1 AND seq = $2`,
		store, v.Seq, t.now, []byte(by.Kind), []byte(by.ID), []byte(by.Key))
	if row.content != 0 { // after a rename, two versions share contents
		t.do(`DELETE FROM memento.contents WHERE store = $1 AND seq = $2
			AND NOT EXISTS (SELECT 1 FROM memento.versions WHERE store = $1 AND memory = $3 AND content = $2)`, store, row.content, string(v.Memory))
	}
	t.requestPurge(store)
	return v, nil
}
