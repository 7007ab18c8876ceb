package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"memento"
)

const (
	batchVersions = 1000
	batchBytes    = 8 << 20
	wide          = 1 << 50 // a limit that no store reaches
)

// Plan returns what Copy would do to a store of the source, and changes nothing.
//
// Errors: those of Copy.
func (c *Copier) Plan(ctx context.Context, info memento.StoreInfo) (Result, error) {
	r := Result{Store: info}
	if err := c.checkTarget(ctx, info); err != nil {
		return r, err
	}
	target, err := c.To.GetStore(ctx, info.Workspace, info.ID)
	if errors.Is(err, memento.ErrNoStore) {
		r.Before = Absent
		for v, err := range c.From.ListVersions(ctx, info.ID, memento.VersionListOptions{}) {
			if err != nil {
				return r, err
			}
			r.Versions++
			r.Bytes += v.Size
		}
		return r, nil
	}
	if err != nil {
		return r, err
	}
	_, err = c.compare(ctx, info, target, &r)
	return r, err
}

// Copy makes the target's store a copy of the source's, or brings it up to date, and
// compares the two.
//
// Errors: ErrDiffers; ErrEncrypted; ErrDamaged; memento.ErrNoStore if the store was
// deleted in the source (if this call has made the store in the target, it is deleted
// there too); memento.ErrExist if the target has another store of its name; those of the
// backends. What was copied before an error stays, and the next call continues from
// there.
func (c *Copier) Copy(ctx context.Context, info memento.StoreInfo) (Result, error) {
	r := Result{Store: info}
	if err := c.checkTarget(ctx, info); err != nil {
		return r, err
	}
	target, err := c.To.GetStore(ctx, info.Workspace, info.ID)
	made := errors.Is(err, memento.ErrNoStore)
	if made {
		r.Before = Absent
		target, err = c.make(ctx, info)
	}
	if err != nil {
		return r, err
	}
	last, err := c.fill(ctx, &r, target, made)
	if errors.Is(err, memento.ErrNoStore) && made {
		if _, gone := c.From.GetStore(ctx, info.Workspace, info.ID); errors.Is(gone, memento.ErrNoStore) {
			err = errors.Join(err, c.To.DeleteStore(ctx, info.Workspace, info.ID))
		}
	}
	if err != nil {
		return r, err
	}
	return r, c.verify(ctx, &r, last)
}

// make makes an empty store with limits and settings that accept any history.
func (c *Copier) make(ctx context.Context, info memento.StoreInfo) (memento.StoreInfo, error) {
	settings := openSettings()
	target, err := c.To.CreateStore(ctx, info.Workspace, memento.StoreSpec{
		ID: info.ID, CreatedAt: info.CreatedAt, Envelope: info.Envelope,
		Name: info.Name, Description: info.Description, Metadata: info.Metadata,
		Limits: openLimits(), Settings: &settings,
	})
	switch {
	case err == nil && target.ID != info.ID:
		return target, errors.Join(
			fmt.Errorf("%w: the target gives its own IDs to stores", memento.ErrUnsupported),
			c.To.DeleteStore(ctx, info.Workspace, target.ID))
	case errors.Is(err, memento.ErrExist):
		return target, fmt.Errorf("%w: another workspace of the target has a store of this ID", ErrDiffers)
	}
	return target, err
}

// openLimits and openSettings are those of an incomplete copy: it may be larger than the
// store's limits allow today, nothing in it is protected yet, and maintenance must not
// remove anything.
func openLimits() memento.Limits {
	return memento.Limits{MemoryBytes: wide, Memories: wide, Bytes: wide}
}

func openSettings() memento.Settings {
	return memento.Settings{
		Sensitive: memento.Sensitive{Mode: memento.Off},
		Retention: memento.Retention{Age: memento.Forever},
	}
}

// compare finds out what the target lacks, and returns ErrDiffers if it is not a copy.
func (c *Copier) compare(ctx context.Context, info, target memento.StoreInfo, r *Result) (alignment, error) {
	if target.Envelope != "" && info.Envelope == "" {
		return alignment{}, fmt.Errorf("%w: it is encrypted, and the target was opened without its keys", ErrDiffers)
	}
	first := ""
	a, err := c.align(ctx, info, 0, false, Comparing, func(difference string) { first = cmp.Or(first, difference) })
	if err != nil {
		return a, err
	}
	r.Present, r.Pruned, r.Redacted = a.both, a.pruned, int64(len(a.redacted))
	r.Versions, r.Bytes = a.lacking, a.bytes
	r.Before = Partial
	if a.lacking == 0 {
		r.Before = Complete
	}
	switch {
	case a.beyond > 0:
		return a, fmt.Errorf("%w: its newest %d versions are not in the source", ErrDiffers, a.beyond)
	case first != "":
		return a, fmt.Errorf("%w: %s", ErrDiffers, first)
	case target.Archived() && !info.Archived():
		return a, fmt.Errorf("%w: it is archived", ErrDiffers)
	case target.Archived() && a.lacking > 0:
		return a, fmt.Errorf("%w: it is archived, and the source has %d newer versions", ErrDiffers, a.lacking)
	}
	return a, nil
}

// fill brings the target up to date, and returns the Seq, in the source, of the newest
// version that was copied.
func (c *Copier) fill(ctx context.Context, r *Result, target memento.StoreInfo, made bool) (last int64, err error) {
	info := r.Store
	var a alignment
	if !made {
		if a, err = c.compare(ctx, info, target, r); err != nil {
			return 0, err
		}
		r.Versions, r.Bytes = 0, 0
		if a.lacking > 0 {
			limits, settings := openLimits(), openSettings()
			u := memento.StoreUpdate{Limits: &limits, Settings: &settings}
			if !c.Encrypts && info.Envelope != target.Envelope {
				u.Envelope = &info.Envelope
			}
			if target, err = c.To.UpdateStore(ctx, info.Workspace, info.ID, u); err != nil {
				return 0, err
			}
		}
	}
	if last, err = c.versions(ctx, r, a.last); err != nil {
		return 0, err
	}
	for i, id := range a.redacted {
		if _, err := c.To.Redact(ctx, info.ID, id, a.by[i]); err != nil {
			return 0, err
		}
	}
	if err := c.marks(ctx, info); err != nil {
		return 0, err
	}
	if r.Store, err = c.From.GetStore(ctx, info.Workspace, info.ID); err != nil {
		return 0, err
	}
	if u, any := changed(target, r.Store, !c.Encrypts); any {
		_, err = c.To.UpdateStore(ctx, info.Workspace, info.ID, u)
	}
	return last, err
}

// versions copies the versions after a Seq until there are no more, and returns the Seq
// of the last one.
func (c *Copier) versions(ctx context.Context, r *Result, after int64) (last int64, err error) {
	info, most := r.Store, cmp.Or(c.BatchVersions, batchVersions)
	for {
		var batch []memento.Version
		var size int64
		var damaged error
		opts := memento.VersionListOptions{OldestFirst: true, After: after, Limit: most, Contents: true}
		for v, err := range c.From.ListVersions(ctx, info.ID, opts) {
			if err == nil {
				err = v.CheckContent("copy") // also if the backend does not check contents as it should
			}
			if d, ok := errors.AsType[*memento.DamageError](err); ok {
				damaged = fmt.Errorf("%w: %w", ErrDamaged, d)
				break
			}
			if err != nil {
				return after, err
			}
			batch = append(batch, v)
			if size += int64(len(v.Content)); size >= cmp.Or(c.BatchBytes, batchBytes) {
				break
			}
		}
		if len(batch) == 0 {
			return after, damaged
		}
		if err := c.To.Import(ctx, info.ID, batch); err != nil {
			if errors.Is(err, memento.ErrExist) || errors.Is(err, memento.ErrConflict) {
				err = fmt.Errorf("%w: another process writes to it: %v", ErrDiffers, err)
			}
			return after, err
		}
		after = batch[len(batch)-1].Seq
		r.Versions += int64(len(batch))
		for i := range batch {
			r.Bytes += batch[i].Size
		}
		c.report(info, Copying, r.Versions)
	}
}

// marks marks memories as read now if they were read since they were written, in stores
// with expiry: otherwise copying could make them expire.
func (c *Copier) marks(ctx context.Context, info memento.StoreInfo) error {
	marker, ok := c.To.(memento.ReadMarker)
	if !ok || info.Settings.Expiry.After == 0 {
		return nil
	}
	for e, err := range c.From.List(ctx, info.ID, memento.ListOptions{}) {
		if err != nil {
			return err
		}
		if e.Memory.ReadAt.After(e.Memory.UpdatedAt) {
			marker.MarkRead(info.ID, e.Memory.ID)
		}
	}
	return marker.SyncReads(ctx)
}

// changed returns the update that turns one description into another, including the
// envelope if envelope is set. any says whether there is anything to update.
func changed(from, to memento.StoreInfo, envelope bool) (u memento.StoreUpdate, any bool) {
	if envelope && from.Envelope != to.Envelope {
		u.Envelope, any = &to.Envelope, true
	}
	if from.Archived() { // then the target is archived too, and cannot have changed since
		return u, any
	}
	if from.Name != to.Name {
		u.Name, any = &to.Name, true
	}
	if from.Description != to.Description {
		u.Description, any = &to.Description, true
	}
	if !maps.Equal(from.Metadata, to.Metadata) {
		u.Metadata, any = map[string]*string{}, true
		for k := range from.Metadata {
			u.Metadata[k] = nil
		}
		for _, k := range slices.Collect(maps.Keys(to.Metadata)) {
			v := to.Metadata[k]
			u.Metadata[k] = &v
		}
	}
	if from.Limits != to.Limits {
		u.Limits, any = &to.Limits, true
	}
	if !from.Settings.Equal(&to.Settings) {
		u.Settings, any = &to.Settings, true
	}
	if to.Archived() {
		u.Archive, any = true, true
	}
	return u, any
}
