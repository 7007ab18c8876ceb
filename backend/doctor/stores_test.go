package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"memento"
	"memento/backend/doctor"
	"memento/backend/memstore"
)

// damaged is a backend that cannot read the descriptions of some stores, whose memories
// it has. A listing fails at the first of them, or with all that would be read at once.
type damaged struct {
	memento.Backend
	words  map[memento.StoreID]string // that it fails with
	atOnce bool
	asked  *int
}

func (d damaged) fault(id memento.StoreID) error {
	if words, bad := d.words[id]; bad {
		return &memento.Error{Op: "list stores", Err: fmt.Errorf("%w: %s", memento.ErrFormat, words)}
	}
	return nil
}

func (d damaged) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		*d.asked++
		all := collect(d.Backend.ListStores(ctx, ws, opts))
		if d.atOnce {
			for _, info := range all {
				if err := d.fault(info.ID); err != nil {
					yield(memento.StoreInfo{}, err)
					return
				}
			}
		}
		for _, info := range all {
			if err := d.fault(info.ID); err != nil {
				yield(memento.StoreInfo{}, err)
				return
			}
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (d damaged) GetStore(ctx context.Context, ws memento.Workspace, id memento.StoreID) (memento.StoreInfo, error) {
	info, err := d.Backend.GetStore(ctx, ws, id)
	if fault := d.fault(id); err == nil && fault != nil {
		return memento.StoreInfo{}, fault
	}
	return info, err
}

// The stores beside those whose descriptions cannot be read are found, and these, too.
func TestUnreadableDescriptions(t *testing.T) {
	for name, bad := range map[string]map[int]string{
		"none":                             {},
		"the newest":                       {7: "metadata"},
		"the oldest":                       {0: "metadata"},
		"one":                              {3: "metadata"},
		"two":                              {2: "metadata of this", 5: "metadata of that"},
		"two, one after the other":         {2: "metadata of this", 3: "metadata of that"},
		"the same, one after the other":    {2: "settings", 3: "settings", 4: "settings"},
		"all":                              {0: "0", 1: "1", 2: "2", 3: "3", 4: "4", 5: "5", 6: "6", 7: "7"},
		"those whose IDs differ in length": {5: "5", 6: "6", 7: "7"},
	} {
		for _, atOnce := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", at once ", atOnce), func(t *testing.T) {
				b := memstore.New(nil)
				d := damaged{b, map[memento.StoreID]string{}, atOnce, new(int)}
				var made []memento.StoreID
				for i, id := range []memento.StoreID{"", "", "", "", "", "memstore_z", "memstore_zz", "memstore_zz0"} {
					info, err := b.CreateStore(t.Context(), "ws", memento.StoreSpec{ID: id, Name: fmt.Sprint("store ", i)})
					if err != nil {
						t.Fatal(err)
					}
					made = append(made, info.ID)
				}
				slices.Sort(made) // as they are listed, the other way round
				for i, words := range bad {
					d.words[made[i]] = words
				}
				stores, err := (&doctor.Doctor{Backend: d}).Stores(t.Context(), "ws")
				var found, want []memento.StoreID
				for _, info := range stores {
					found = append(found, info.ID)
					if info.Workspace != "ws" || (info.Name == "") != (d.fault(info.ID) != nil) {
						t.Errorf("%+v", info)
					}
				}
				want = made
				if name == "the same, one after the other" { // of which one may hide the others
					want = slices.DeleteFunc(slices.Clone(made), func(id memento.StoreID) bool { return d.words[id] != "" && !slices.Contains(found, id) })
					if len(want) < 6 {
						t.Error("none of the same is found")
					}
				}
				if err != nil || !slices.Equal(found, want) {
					t.Errorf("found %q, %v; want %q", found, err, want)
				}
				if most := 2 + len(bad)*420 + len(made); *d.asked > most {
					t.Errorf("%d listings", *d.asked)
				}
			})
		}
	}
}

// What else the store has is looked at, and what cannot be read is told once.
func TestUnreadableStore(t *testing.T) {
	b := memstore.New(nil)
	info := fill(t, b)
	d := damaged{b, map[memento.StoreID]string{info.ID: "metadata"}, false, new(int)}
	stores, err := (&doctor.Doctor{Backend: d}).Stores(t.Context(), info.Workspace)
	if err != nil || len(stores) != 1 {
		t.Fatalf("%+v, %v", stores, err)
	}
	seen, faults := look(t, d, stores[0])
	want := doctor.Counts{Stores: 1, Memories: 2, Versions: 6, Bytes: 8, Faults: 1}
	if seen != want || len(faults) != 1 || faults[0].Store != info.ID || !strings.HasPrefix(faults[0].Text, "its description cannot be read: ") || faults[0].Repair == "" {
		t.Errorf("%+v, %+v", seen, faults)
	}
	// Nothing of it can be read.
	seen, faults = look(t, locked{d}, stores[0])
	var said []string
	for _, f := range faults {
		what, _, _ := strings.Cut(f.Text, ":")
		said = append(said, what)
	}
	if all := []string{"its history cannot be read", "its memories cannot be listed", "its description cannot be read"}; seen.Faults != 3 || !slices.Equal(said, all) {
		t.Errorf("%+v, %q", seen, said)
	}
}

// locked is a backend of which nothing can be read.
type locked struct{ memento.Backend }

func (locked) ListVersions(context.Context, memento.StoreID, memento.VersionListOptions) iter.Seq2[memento.Version, error] {
	return func(yield func(memento.Version, error) bool) { yield(memento.Version{}, memento.ErrDecrypt) }
}

func (locked) List(context.Context, memento.StoreID, memento.ListOptions) iter.Seq2[memento.Entry, error] {
	return func(yield func(memento.Entry, error) bool) { yield(memento.Entry{}, memento.ErrDecrypt) }
}

// A listing that fails as a whole is not blamed on a store.
func TestUnreadableCatalogue(t *testing.T) {
	b := memstore.New(nil)
	fill(t, b)
	for _, fault := range []error{memento.ErrFormat, memento.ErrUnavailable, context.Canceled} {
		d := doctor.Doctor{Backend: noListing{b, fault}}
		if stores, err := d.Stores(t.Context(), memento.DefaultWorkspace); !errors.Is(err, fault) || stores != nil {
			t.Errorf("%v: %+v, %v", fault, stores, err)
		}
	}
}

// A server fails with other words each time, and is not asked again and again.
func TestUnreadableBehindServer(t *testing.T) {
	b := memstore.New(nil)
	info := fill(t, b)
	asked := 0
	d := damaged{b, map[memento.StoreID]string{info.ID: "internal error"}, false, &asked}
	if stores, err := (&doctor.Doctor{Backend: wordy{d}}).Stores(t.Context(), info.Workspace); !errors.Is(err, memento.ErrFormat) || stores != nil || asked > 3 {
		t.Errorf("%+v, %v, after %d listings", stores, err, asked)
	}
}

// wordy adds a number to what listings fail with.
type wordy struct{ damaged }

func (w wordy) ListStores(ctx context.Context, ws memento.Workspace, opts memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) {
		for info, err := range w.damaged.ListStores(ctx, ws, opts) {
			if err != nil {
				err = fmt.Errorf("%w (request %d)", err, *w.asked)
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

type noListing struct {
	memento.Backend
	fault error
}

func (n noListing) ListStores(context.Context, memento.Workspace, memento.StoreListOptions) iter.Seq2[memento.StoreInfo, error] {
	return func(yield func(memento.StoreInfo, error) bool) { yield(memento.StoreInfo{}, n.fault) }
}
