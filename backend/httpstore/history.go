package httpstore

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"memento"
	"memento/internal/wire"
)

// GetVersion returns a version with its contents.
func (b *Backend) GetVersion(ctx context.Context, id memento.StoreID, version memento.VersionID) (memento.Version, error) {
	return b.version(ctx, id, version, request{op: "get version", method: http.MethodGet, safe: true}, "")
}

// Redact removes a version's path and contents permanently.
func (b *Backend) Redact(ctx context.Context, id memento.StoreID, version memento.VersionID, by memento.Actor) (memento.Version, error) {
	return b.version(ctx, id, version, request{op: "redact", method: http.MethodPost, by: &by}, "/redact")
}

// version makes a request about a version. The response is the version.
func (b *Backend) version(ctx context.Context, id memento.StoreID, version memento.VersionID, r request, below string) (memento.Version, error) {
	if !isID(string(version), "memver_") { // no version has such an ID
		if err := b.exists(ctx, r.op, id); err != nil {
			return memento.Version{}, err
		}
		return memento.Version{}, &memento.Error{Op: r.op, Err: memento.ErrNotExist}
	}
	r.path = "/memory_versions/" + string(version) + below
	var answer wire.Version
	if err := b.in(ctx, id, r, &answer); err != nil {
		return memento.Version{}, err
	}
	v := answer.Version()
	if err := v.CheckContent(r.op); err != nil {
		return memento.Version{}, err
	}
	return v, nil
}

// A versionLine is a line of a history.
type versionLine struct {
	wire.Version
	control
}

// ListVersions yields versions, newest first unless asked otherwise.
func (b *Backend) ListVersions(ctx context.Context, id memento.StoreID, opts memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	const op = "list versions"
	return func(yield func(memento.Version, error) bool) {
		if err := b.listVersions(ctx, op, id, opts, yield); err != nil {
			yield(memento.Version{}, err)
		}
	}
}

func (b *Backend) listVersions(ctx context.Context, op string, id memento.StoreID, opts memento.VersionListOptions, yield func(memento.Version, error) bool) error {
	path, ok := storePath(id, "/history")
	if !ok {
		return b.absent(ctx, op, noStore(op))
	}
	query := url.Values{}
	for name, text := range map[string]string{
		"memory_id": string(opts.Memory), "path": string(opts.Path),
		"actor_kind": string(opts.CreatedBy.Kind), "actor_id": opts.CreatedBy.ID,
		"actor_key_id": string(opts.CreatedBy.Key),
	} {
		if !utf8.ValidString(text) { // no version has such a value
			return b.exists(ctx, op, id)
		}
		set(query, name, text)
	}
	switch opts.Operation {
	case "", memento.Created, memento.Modified, memento.Deleted:
		set(query, "operation", string(opts.Operation))
	default:
		return b.exists(ctx, op, id)
	}
	setTime(query, "created_at[gte]", opts.CreatedFrom)
	setTime(query, "created_at[lte]", opts.CreatedTo)
	if opts.After > 0 {
		query.Set("after", strconv.FormatInt(opts.After, 10))
	}
	setNumber(query, "limit", int64(opts.Limit))
	setTrue(query, "oldest_first", opts.OldestFirst)
	setTrue(query, "contents", opts.Contents)
	var damaged error
	err := each(ctx, b, request{op: op, method: http.MethodGet, path: path, query: query, safe: true},
		func(l *versionLine) (string, *control) { return l.Type, &l.control },
		func(l *versionLine) bool {
			v := l.Version.Version()
			if opts.Contents {
				damaged = v.CheckContent(op)
			}
			return damaged == nil && yield(v, nil)
		})
	return cmp.Or(err, damaged)
}

// Prune removes versions permanently. It requires the role admin.
func (b *Backend) Prune(ctx context.Context, id memento.StoreID, opts memento.PruneOptions) (memento.Pruned, error) {
	const op = "prune"
	if opts.Memory != "" && !utf8.ValidString(string(opts.Memory)) {
		return memento.Pruned{}, b.exists(ctx, op, id)
	}
	body := struct {
		Before time.Time        `json:"before"`
		Keep   int              `json:"keep,omitempty"`
		Memory memento.MemoryID `json:"memory_id,omitempty"`
		DryRun bool             `json:"dry_run,omitempty"`
		Force  bool             `json:"force,omitempty"`
	}{opts.Before, opts.Keep, opts.Memory, opts.DryRun, !opts.DryRun} // the caller of a backend has already decided to prune
	var answer struct {
		Versions int64 `json:"versions"`
		Bytes    int64 `json:"bytes"`
	}
	// Prune is idempotent: it leaves the same versions when repeated.
	err := b.in(ctx, id, request{op: op, method: http.MethodPost, path: "/prune", body: body}, &answer)
	return memento.Pruned{Versions: answer.Versions, Bytes: answer.Bytes}, err
}
