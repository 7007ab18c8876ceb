package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"memento"
	"memento/cryptstore"
	"memento/doctor"
	"memento/internal/wire"
	"memento/server"
	"memento/transfer"

	"github.com/spf13/cobra"
)

// A checkup is what "doctor" is asked to do.
type checkup struct {
	stores      []string
	workspace   string
	write, deep bool

	repair, dryRun bool
}

func (a *app) doctorCommand() *cobra.Command {
	var o checkup
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check that everything is sound, and say how to mend what is not",
		Long: `Doctor opens the backend and looks at every store: that every memory is explained by its
newest version, that contents have their hashes and sizes, that nothing is missing, twice
or out of order, and that the counters are right. It reads everything, and changes
nothing; others may use the backend meanwhile. With encryption it also says which keys
there are, and whether every store can be read. A database's tables are looked at, too,
unless --store or --workspace narrows it down.

With --write it makes a store of its own, tries there whether the storage keeps its
promises - conditions that hold, writes that happen wholly or not at all, one winner of
several at once, a clock like this machine's - and deletes it.

With --deep, a file or a folder is also copied to a temporary folder and checked there,
as "memento backup" does, which finds damage of the database itself.

With --repair it writes memories anew whose contents are damaged, as versions made by
"system repair": with exactly what they should have, if that is kept elsewhere, and
otherwise with the contents of their newest whole version. A damaged file of a folder is
written from the database. Versions that are damaged and not the newest stay as they are.
With --dry-run it only says what it would do.

The exit code is 7 if anything is wrong, or still wrong after --repair.`,
		Example: `  memento doctor
  memento --backend postgres://db.example/memento doctor --write
  memento doctor --repair --dry-run
  memento doctor --store notes --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.dryRun && !o.repair {
				return usage("--dry-run goes with --repair")
			}
			return a.checkUp(cmd.Context(), &o)
		},
	}
	c.Flags().StringArrayVar(&o.stores, "store", nil, "name or ID of a store; can be repeated (default: all)")
	c.Flags().StringVar(&o.workspace, "workspace", "", "only stores of this workspace (default: all)")
	c.Flags().BoolVar(&o.write, "write", false, "also try the storage's promises, in a store that is made and deleted")
	c.Flags().BoolVar(&o.repair, "repair", false, "write anew what is damaged, from what is whole")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "only show what --repair would do")
	c.Flags().BoolVar(&o.deep, "deep", false, "also copy a file or a folder to a temporary folder, and check the copy")
	_ = c.RegisterFlagCompletionFunc("store", completeStoresOf(&o.workspace, func(ctx context.Context) (memento.Backend, error) {
		b, _, err := a.openChosen(ctx, access{existing: true, asKept: true})
		return b, err
	}))
	return c
}

// What "doctor --json" writes: a line for each fault, and a last one.
type (
	storageFaultJSON struct {
		Type   string          `json:"type"` // "memento_fault"
		Store  memento.StoreID `json:"memory_store_id,omitempty"`
		Fault  string          `json:"fault"`
		Repair string          `json:"repair"`
		Damage *wire.Damage    `json:"damage,omitempty"` // of contents that are damaged
	}
	repairJSON struct {
		Type     string            `json:"type"` // "memento_repair"
		Store    memento.StoreID   `json:"memory_store_id,omitempty"`
		Memory   memento.MemoryID  `json:"memory_id,omitempty"`
		Damaged  memento.VersionID `json:"damaged_memory_version_id,omitempty"`
		From     memento.VersionID `json:"from_memory_version_id,omitempty"` // whose contents it has; absent if they come from elsewhere
		New      memento.VersionID `json:"memory_version_id,omitempty"`      // absent in a dry run
		Exact    bool              `json:"exact"`                            // whether it is, to the byte, what was damaged
		DryRun   bool              `json:"dry_run"`
		Repaired string            `json:"repaired"`
	}
	checkupJSON struct {
		Type       string         `json:"type"` // "memento_checkup"
		Backend    string         `json:"backend"`
		Sound      bool           `json:"sound"`
		Faults     int64          `json:"faults"`
		Stores     int64          `json:"stores"`
		Memories   int64          `json:"memories"`
		Bytes      int64          `json:"bytes"`
		Versions   int64          `json:"versions"`
		Repaired   int64          `json:"repaired,omitempty"` // things that were written anew
		Mended     int64          `json:"-"`                  // faults of which nothing is left
		Keys       int64          `json:"keys"`
		Written    bool           `json:"written"`                    // whether the promises were tried
		Restless   int64          `json:"restless_stores,omitempty"`  // written to all the time, so that not everything could be judged
		Encrypted  int64          `json:"encrypted_stores,omitempty"` // looked at without their keys
		Encryption map[string]int `json:"encryption_keys,omitempty"`
	}
)

func (a *app) checkUp(ctx context.Context, o *checkup) error {
	if o.workspace != "" {
		if err := memento.CheckWorkspace(memento.Workspace(o.workspace)); err != nil {
			return err
		}
	}
	url, err := a.chosenBackend()
	if err != nil {
		return err
	}
	shown, opened := (&server.Config{Backend: url}).ShownBackend(), false
	sum := checkupJSON{Type: "memento_checkup", Backend: shown}
	err = a.withAccess(ctx, access{existing: !o.write, asKept: true}, func(b memento.Backend) error { // to open it otherwise would make it
		opened = true
		if !a.json {
			if err := a.print("memories are in %s\n", line(shown)); err != nil {
				return err
			}
		}
		return a.examine(ctx, o, b, &sum)
	})
	switch {
	case errors.Is(err, memento.ErrNotExist) && !opened:
		return hint(fmt.Errorf("there is nothing to look at: %w", err), "check what --backend, or MEMENTO_BACKEND, names")
	case err != nil:
		return err
	}
	return a.tellCheckup(&sum)
}

func (a *app) examine(ctx context.Context, o *checkup, b memento.Backend, sum *checkupJSON) error {
	deep, ok := b.(memento.BackupWriter)
	if o.deep && !ok {
		return hint(&memento.Error{Op: "doctor", Err: memento.ErrUnsupported}, "--deep is for files and folders on this machine; leave it out")
	}
	count, end := a.progress("checking, versions and memories:")
	defer end()
	done := int64(0)
	var told error
	var damages []doctor.Damage // of the store that is looked at
	d := doctor.Doctor{Backend: b, Now: a.now,
		Report: func(f doctor.Fault) {
			end()
			sum.Faults++
			if f.Damage != nil {
				damages = append(damages, *f.Damage)
			}
			told = errors.Join(told, a.tellFault(f))
		},
		Progress: func(_ memento.StoreInfo, n int64) {
			if count != nil {
				count(int(done + n))
			}
		},
	}
	if err := a.checkEncryption(ctx, b, &d, sum); err != nil {
		return err
	}
	stores, err := storesToCheck(ctx, o, b, &d)
	if err != nil {
		return err
	}
	for _, info := range stores {
		damages = nil
		seen, err := d.Store(ctx, info)
		switch {
		case errors.Is(err, memento.ErrNoStore): // deleted meanwhile
			continue
		case err != nil:
			return fmt.Errorf("store %s (%s): %w", line(info.Name), info.ID, err)
		}
		done += seen.Memories + seen.Versions
		sum.Stores++
		sum.Memories += seen.Memories
		sum.Bytes += seen.Bytes
		sum.Versions += seen.Versions
		sum.Restless += seen.Busy
		if info.Envelope != "" {
			sum.Encrypted++
		}
		if o.repair {
			if err := a.mend(ctx, &d, info, damages, o.dryRun, sum); err != nil {
				return err
			}
		}
	}
	if len(o.stores) == 0 {
		if sum.Keys, _, err = d.Keys(ctx); err != nil {
			return err
		}
		if o.workspace == "" {
			if _, err := d.VerifyBackend(ctx); err != nil {
				return err
			}
			if o.repair {
				if err := a.restoreInside(ctx, &d, o.dryRun, sum); err != nil {
					return err
				}
			}
		}
	}
	if o.deep {
		if err := a.checkDeep(ctx, deep, &d); err != nil {
			return err
		}
	}
	if o.write {
		ws := memento.Workspace(o.workspace)
		if g, ok := b.(interface{ Workspace() memento.Workspace }); ok {
			ws = g.Workspace()
		}
		if ws == "" {
			ws = workspace
		}
		sum.Written = true
		if _, err := d.TryWrites(ctx, ws); err != nil {
			return fmt.Errorf("the storage cannot be tried: %w", err)
		}
	}
	return told
}

// storesToCheck are the stores that the flags name, also those whose descriptions
// cannot be read.
func storesToCheck(ctx context.Context, o *checkup, b memento.Backend, d *doctor.Doctor) (stores []memento.StoreInfo, err error) {
	spaces := []memento.Workspace{memento.Workspace(o.workspace)}
	if o.workspace == "" {
		if spaces, err = transfer.Workspaces(ctx, b); err != nil {
			return nil, err
		}
	}
	for _, ws := range spaces {
		more, err := d.Stores(ctx, ws)
		if err != nil {
			return nil, err
		}
		stores = append(stores, more...)
	}
	named, err := transfer.Select(stores, o.stores...)
	if err != nil {
		err = &memento.Error{Op: "doctor", Err: err}
		if i := slices.IndexFunc(stores, func(s memento.StoreInfo) bool { return s.Name == "" }); i >= 0 {
			err = hint(err, "the name of %s, for one, cannot be read; give IDs with --store", stores[i].ID)
		}
	}
	return named, err
}

// checkEncryption says which keys are in use, unless that cannot be read: then what is
// said of stores tells why.
func (a *app) checkEncryption(ctx context.Context, b memento.Backend, d *doctor.Doctor, sum *checkupJSON) error {
	e, ok := cryptstore.Of(b)
	if !ok {
		return nil
	}
	keys, err := a.encryptionKeys()
	if err != nil || keys == nil {
		return err
	}
	switch sum.Encryption, err = e.KeysInUse(ctx); {
	case doctor.IsDamage(err):
		return nil
	case err != nil:
		return err
	}
	if _, used := sum.Encryption[keys.Primary()]; !used {
		sum.Encryption[keys.Primary()] = 0
	}
	for id, stores := range sum.Encryption {
		switch {
		case id == "":
			d.Report(doctor.Fault{Text: plural(stores, "store was", "stores were") + " made without encryption, and cannot be read with it", Repair: `open it without keys, and "memento copy" what is in it to another place with --to-encryption-keys`})
		case !slices.Contains(keys.IDs(), id):
			d.Report(doctor.Fault{Text: fmt.Sprintf("encryption key %s is missing, which %s", id, plural(stores, "store needs", "stores need")), Repair: "find the file of keys that has it, in backups for example; without it nobody can read them"})
		}
	}
	if a.json {
		return nil
	}
	return a.print("encrypted; the primary key is %s\n", keys.Primary())
}

// checkDeep checks a copy, with what the engine has for that.
func (a *app) checkDeep(ctx context.Context, w memento.BackupWriter, d *doctor.Doctor) error {
	dir, err := os.MkdirTemp("", "memento-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, err = w.Backup(ctx, filepath.Join(dir, "copy.db"), nil)
	if damage, ok := errors.AsType[*memento.BackupError](err); ok {
		for _, fault := range damage.Faults {
			d.Report(doctor.Fault{Text: fault, Repair: `restore a backup, or "memento copy" to a new backend, which reports what is lost`})
		}
		return nil
	}
	return err
}

func (a *app) tellFault(f doctor.Fault) error {
	if a.json {
		fault := storageFaultJSON{Type: "memento_fault", Store: f.Store, Fault: f.Text, Repair: f.Repair}
		if d := f.Damage; d != nil {
			fault.Damage = &wire.Damage{Memory: d.Version.Memory, Version: d.Version.ID, Whole: d.Whole}
		}
		return a.writeJSON(fault)
	}
	where := ""
	if f.Store != "" {
		where = "store " + string(f.Store) + ": "
	}
	return a.print("%s %s%s\n       %s\n", a.paint(red, "fault:"), where, printable(f.Text), printable(f.Repair))
}

func (a *app) tellCheckup(sum *checkupJSON) error {
	sum.Sound = sum.Faults == sum.Mended
	if a.json {
		if err := a.writeJSON(sum); err != nil {
			return err
		}
	} else {
		text := fmt.Sprintf("looked at %s with %s (%s), %s and %s", plural(int(sum.Stores), "store", "stores"),
			plural(int(sum.Memories), "memory", "memories"), humanSize(sum.Bytes),
			plural(int(sum.Versions), "version", "versions"), plural(int(sum.Keys), "key", "keys"))
		if sum.Written {
			text += ", and tried the storage's promises"
		}
		if sum.Encrypted > 0 {
			text += fmt.Sprintf("; %s encrypted, and looked at without keys", plural(int(sum.Encrypted), "store is", "stores are"))
		}
		if sum.Restless > 0 {
			text += fmt.Sprintf("; %s written to all the time: look again when they are at rest", plural(int(sum.Restless), "store was", "stores were"))
		}
		state := "everything is sound"
		if sum.Faults > 0 {
			state = plural(int(sum.Faults), "fault", "faults") + " found"
		}
		if sum.Repaired > 0 {
			state += fmt.Sprintf(", %d repaired", sum.Repaired)
		}
		if err := a.print("%s: %s\n", text, state); err != nil {
			return err
		}
	}
	if !sum.Sound {
		return silence(exitStorage)
	}
	return nil
}
