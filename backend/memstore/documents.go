package memstore

import (
	"context"

	"memento"
	"memento/backend"
)

// Get returns a memory with its contents.
func (b *Backend) Get(ctx context.Context, id memento.StoreID, ref memento.Ref) (m memento.Memory, err error) {
	const op = "get"
	err = b.read(ctx, op, id, func(s *store) error {
		found := s.byPath[ref.Path]
		if ref.Path == "" {
			found = s.byID[ref.ID]
		}
		switch {
		case found != nil:
			m = *found
			return nil
		case ref.Path == memento.Root, ref.Path != "" && len(s.below(ref.Path)) > 0:
			return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrIsDir}
		}
		return &memento.Error{Op: op, Path: ref.Path, Err: memento.ErrNotExist}
	})
	return m, err
}

// Apply makes all changes, or none.
func (b *Backend) Apply(ctx context.Context, id memento.StoreID, by memento.Actor, changes []memento.Change) (done memento.Applied, err error) {
	err = b.write(ctx, "apply", id, func(s *store) error {
		p := backend.Planner{Info: s.info, By: by, At: b.time(s.latest), Seq: s.seq}
		t := s.begin()
		for _, change := range changes {
			effects, err := p.Plan(s, change)
			if err != nil {
				t.undo()
				return err
			}
			t.carryOut(effects)
		}
		s.info.Usage = p.Info.Usage
		var made []memento.Version
		for _, v := range s.versions[t.versions:] {
			v.Content = ""
			made = append(made, v)
		}
		done = p.Applied(made)
		return nil
	})
	return done, err
}

// Import appends versions as they are, with times in UTC and whole microseconds.
func (b *Backend) Import(ctx context.Context, id memento.StoreID, versions []memento.Version) error {
	return b.importVersions(ctx, id, versions, nil)
}

// ImportSealed implements [backend.SealedImporter].
func (b *Backend) ImportSealed(ctx context.Context, id memento.StoreID, versions []memento.Version, by backend.Sealing) error {
	return b.importVersions(ctx, id, versions, &by)
}

func (b *Backend) importVersions(ctx context.Context, id memento.StoreID, versions []memento.Version, by *backend.Sealing) error {
	const op = "import"
	return b.write(ctx, op, id, func(s *store) error {
		p := backend.Planner{Info: s.info, Seq: s.seq, Imported: by}
		t := s.begin()
		for _, v := range versions {
			effects, err := s.planImport(&p, v)
			if err != nil {
				t.undo()
				return err
			}
			t.carryOut(effects)
		}
		if err := p.PlanImported(); err != nil {
			t.undo()
			return err
		}
		s.info.Usage = p.Info.Usage
		return nil
	})
}

func (s *store) planImport(p *backend.Planner, v memento.Version) ([]backend.Effect, error) {
	if _, exists := s.byVID[v.ID]; exists {
		return nil, &memento.Error{Op: "import", Path: v.Path, Err: memento.ErrExist}
	}
	v.CreatedAt = backend.StoredTime(v.CreatedAt)
	if v.Redacted() {
		v.RedactedAt = backend.StoredTime(v.RedactedAt)
	}
	return p.PlanImport(s, v)
}
