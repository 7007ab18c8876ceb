package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"memento"
)

// scratch is the prefix of the name of the store that is written to.
const scratch = "memento-doctor-"

// by is the actor of what is written there.
var by = memento.Actor{Kind: memento.ActorSystem, ID: "doctor"}

// TryWrites makes a store in a workspace, tries there whether the backend keeps its
// guarantees, and deletes it.
//
// Errors: those of the backend that say that it cannot be written to.
func (d *Doctor) TryWrites(ctx context.Context, ws memento.Workspace) (faults int64, err error) {
	settings := memento.DefaultSettings()
	settings.Sensitive.Mode = memento.Off
	name := scratch + strings.ToLower(rand.Text())
	info, err := d.Backend.CreateStore(ctx, ws, memento.StoreSpec{Name: name, Settings: &settings, UniqueName: true, Limits: memento.Limits{MemoryBytes: 100}})
	if err != nil {
		return 0, err
	}
	defer func() { // even after an interruption
		gone := d.Backend.DeleteStore(context.WithoutCancel(ctx), ws, info.ID)
		err = errors.Join(err, gone)
	}()
	t := trial{doctor: d, info: info}
	if off := info.CreatedAt.Sub(d.now()).Abs(); off > ahead {
		t.fault(fmt.Sprintf("the clocks of this machine and of the storage are %v apart", off.Round(1e9)), repairClock)
	}
	for _, try := range []func(context.Context) error{t.conditions, t.atomic, t.limits, t.races} {
		if err := try(ctx); err != nil {
			return t.faults, err
		}
	}
	if _, err := d.Backend.CreateStore(ctx, ws, memento.StoreSpec{Name: name, UniqueName: true}); !errors.Is(err, memento.ErrExist) {
		t.fault("two stores were made with a name that should be unique", repairPromise)
	}
	return t.faults, nil
}

// A trial tries one store.
type trial struct {
	doctor *Doctor
	info   memento.StoreInfo
	faults int64
}

func (t *trial) fault(what, repair string) {
	t.faults++
	t.doctor.Report(Fault{Text: what, Repair: repair})
}

// expect makes changes, the last of which must fail with the error want; nil means that
// none must fail.
func (t *trial) expect(ctx context.Context, want error, what string, changes ...memento.Change) ([]memento.Version, error) {
	done, err := t.doctor.Backend.Apply(ctx, t.info.ID, by, changes)
	switch {
	case err != nil && !IsDamage(err):
		return nil, err
	case want == nil && err != nil:
		return nil, err // the store cannot be written to
	case want != nil && err == nil, !errors.Is(err, want):
		t.fault("a write was not refused as it should be: one "+what, repairPromise)
	}
	return done.Versions, nil
}

func (t *trial) conditions(ctx context.Context) error {
	made, err := t.expect(ctx, nil, "", memento.Put{Path: "/a", Content: "one\r\n\u00e9", If: memento.IfAbsent()})
	if err != nil || len(made) != 1 {
		return errors.Join(err, ctx.Err())
	}
	for _, try := range []struct {
		want   error
		what   string
		change memento.Change
	}{
		{memento.ErrExist, "that requires that the memory does not exist", memento.Put{Path: "/a", Content: "two", If: memento.IfAbsent()}},
		{memento.ErrConflict, "on condition of a version that does not exist", memento.Put{Path: "/a", Content: "two", If: memento.IfVersion("memver_none")}},
		{memento.ErrConflict, "on condition of other contents", memento.Remove{Path: "/a", If: memento.IfSHA256(memento.HashContent("other"))}},
		{nil, "", memento.Put{Path: "/a", Content: "two", If: memento.IfVersion(made[0].ID)}},
		{memento.ErrConflict, "on condition of a version that is no longer the newest", memento.Put{Path: "/a", Content: "three", If: memento.IfVersion(made[0].ID)}},
		{memento.ErrNotDir, "to a path below a memory", memento.Put{Path: "/a/b", Content: "x"}},
	} {
		if _, err := t.expect(ctx, try.want, try.what, try.change); err != nil {
			return err
		}
	}
	m, err := t.doctor.Backend.Get(ctx, t.info.ID, memento.ByPath("/a"))
	if err == nil && m.Content != "two" {
		t.fault("a memory is read with other contents than were written", repairPromise)
	}
	v, verr := t.doctor.Backend.GetVersion(ctx, t.info.ID, made[0].ID)
	if verr == nil && v.Content != "one\r\n\u00e9" {
		t.fault("a version is read with other contents than were written", repairPromise)
	}
	return errors.Join(err, verr)
}

// atomic tries a write of two changes of which the second fails.
func (t *trial) atomic(ctx context.Context) error {
	if _, err := t.expect(ctx, memento.ErrNotExist, "that removes what does not exist",
		memento.Put{Path: "/half", Content: "x"}, memento.Remove{Path: "/none"}); err != nil {
		return err
	}
	if _, err := t.doctor.Backend.Get(ctx, t.info.ID, memento.ByPath("/half")); !errors.Is(err, memento.ErrNotExist) {
		t.fault("a write that failed was carried out in part", repairPromise)
	}
	return nil
}

func (t *trial) limits(ctx context.Context) error {
	_, err := t.expect(ctx, memento.ErrTooLarge, "beyond a limit", memento.Put{Path: "/large", Content: strings.Repeat("x", 101)})
	return err
}

// racers is the number of concurrent writes, rounds is how often they are tried.
const (
	racers = 8
	rounds = 3
)

// races tries several concurrent writes over the same version: exactly one must succeed.
func (t *trial) races(ctx context.Context) error {
	made, err := t.expect(ctx, nil, "", memento.Put{Path: "/race", Content: "start"})
	if err != nil || len(made) != 1 {
		return errors.Join(err, ctx.Err())
	}
	head := made[0].ID
	for round := range rounds {
		var won atomic.Int32
		var mu sync.Mutex
		var next memento.VersionID
		var failed error
		var wg sync.WaitGroup
		for i := range racers {
			wg.Go(func() {
				done, err := t.doctor.Backend.Apply(ctx, t.info.ID, by, []memento.Change{
					memento.Put{Path: "/race", Content: fmt.Sprintf("%d by %d", round, i), If: memento.IfVersion(head)},
				})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && len(done.Versions) == 1:
					won.Add(1)
					next = done.Versions[0].ID
				case !errors.Is(err, memento.ErrConflict):
					failed = errors.Join(failed, err)
				}
			})
		}
		wg.Wait()
		if failed != nil {
			return failed
		}
		if n := won.Load(); n != 1 {
			t.fault(fmt.Sprintf("of %d concurrent writes over the same version, %d succeeded instead of one", racers, n), repairPromise)
			return nil
		}
		head = next
	}
	return nil
}
