package doctor

import (
	"context"
	"errors"

	"memento"
)

func asError(err error) (*memento.Error, bool) { return errors.AsType[*memento.Error](err) }

// maxSamples is how many memories are also read one by one.
const maxSamples = 100

// memories checks the present memories and sums them up. whole says whether usage covers
// all of them.
func (x *examination) memories(ctx context.Context) (usage memento.Usage, whole bool, err error) {
	files := map[memento.Path]bool{}
	var last memento.Path
	var samples []memento.Memory
	opts := memento.ListOptions{Contents: true}
	for {
		var failed error
		for e, err := range x.doctor.Backend.List(ctx, x.info.ID, opts) {
			if err != nil {
				failed = err
				break
			}
			if e.Foreign {
				continue
			}
			x.step()
			m := e.Memory
			if !opts.Contents {
				m = x.one(ctx, m)
			}
			x.memory(&m, last)
			x.lookalike(&m)
			// A memory that could not be read was reported.
			if usage.Memories++; usage.Memories%97 == 1 && len(samples) < maxSamples && m.SHA256 != "" {
				samples = append(samples, m)
			}
			usage.Bytes += m.Size
			last, files[m.Path] = m.Path, true
			opts.After = string(m.Path)
		}
		if failed == nil {
			break
		}
		if !IsDamage(failed) {
			return usage, false, failed
		}
		if !opts.Contents {
			x.faultf(repairStore, "its memories cannot be listed: %v", withoutPath(failed))
			return usage, false, nil
		}
		opts.Contents = false // read them one by one, to find those that cannot be read
	}
	x.seen.Memories, x.seen.Bytes = usage.Memories, usage.Bytes
	for p := range files {
		for dir := range p.Ancestors() {
			if files[dir] {
				x.fault("a path is both a memory and a directory", repairCopy)
			}
		}
	}
	return usage, true, x.sample(ctx, samples)
}

// one returns a memory with its contents, if they can be read.
func (x *examination) one(ctx context.Context, m memento.Memory) memento.Memory {
	full, err := x.doctor.Backend.Get(ctx, x.info.ID, memento.ByID(m.ID))
	if errors.Is(err, memento.ErrDamaged) {
		if !x.damaged[m.Version] { // its version is not damaged, but has other contents or another hash
			x.damage(Damage{Version: memento.Version{ID: m.Version, Memory: m.ID, Path: m.Path, SHA256: m.SHA256}, Newest: true, Whole: m.Version})
		}
		m.SHA256 = ""
		return m
	}
	if err != nil {
		x.faultf(repairOf(err), "memory %s cannot be read: %v", m.ID, withoutPath(err))
		m.SHA256 = "" // says that it was checked
		return m
	}
	return full
}

// memory checks one memory. last is the path before it in the listing.
func (x *examination) memory(m *memento.Memory, last memento.Path) {
	if _, err := memento.ParsePath(string(m.Path)); err != nil {
		x.faultf(repairMemory, "memory %s has a path that is not valid", m.ID)
	}
	if last != "" && m.Path <= last {
		x.faultf(repairCopy, "memory %s is out of order in the listing, or listed twice", m.ID)
	}
	if m.SHA256 != "" && (m.SHA256 != memento.HashContent(m.Content) || m.Digest == "" && m.Size != int64(len(m.Content))) {
		x.faultf(repairContents, "memory %s has contents that do not match its hash or its size", m.ID)
	}
	if x.heads == nil {
		return
	}
	v, living := x.heads[m.ID]
	if !living {
		x.faultf(repairMemory, "memory %s exists, but not according to the history", m.ID)
		return
	}
	delete(x.heads, m.ID)
	if v.ID != m.Version || v.Path != m.Path || m.SHA256 != "" && v.SHA256 != m.SHA256 || v.Size != m.Size || v.Digest != m.Digest || !v.CreatedAt.Equal(m.UpdatedAt) {
		x.faultf(repairMemory, "memory %s differs from its newest version %s", m.ID, v.ID)
	}
}

// sample reads memories by path and by ID.
func (x *examination) sample(ctx context.Context, samples []memento.Memory) error {
	for _, m := range samples {
		for how, ref := range map[string]memento.Ref{"path": memento.ByPath(m.Path), "ID": memento.ByID(m.ID)} {
			got, err := x.doctor.Backend.Get(ctx, x.info.ID, ref)
			switch {
			case err != nil && !IsDamage(err):
				return err
			case err != nil:
				x.faultf(repairCopy, "memory %s is listed, but cannot be read by its %s: %v", m.ID, how, withoutPath(err))
			case got.ID != m.ID || got.Path != m.Path || got.Version != m.Version:
				x.faultf(repairCopy, "memory %s is listed, but reading it by its %s returns another memory or version", m.ID, how)
			}
		}
	}
	return nil
}

// rolledUp compares the sums that listings give for directories with the memories in
// them.
func (x *examination) rolledUp(ctx context.Context, want memento.Usage) error {
	var sum memento.Usage
	for e, err := range x.doctor.Backend.List(ctx, x.info.ID, memento.ListOptions{Depth: 1}) {
		if err != nil {
			if IsDamage(err) {
				x.faultf(repairCopy, "its directories cannot be listed: %v", withoutPath(err))
				return nil
			}
			return err
		}
		if !e.Foreign {
			sum.Memories += e.Usage.Memories
			sum.Bytes += e.Usage.Bytes
		}
	}
	if sum != want {
		x.faultf(repairCopy, "the sums for its directories are %d memories with %d bytes, but there are %d with %d", sum.Memories, sum.Bytes, want.Memories, want.Bytes)
	}
	return nil
}
