package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"memento"
	"memento/backend"
	"memento/backend/cryptstore"
	"memento/backend/doctor"
	"memento/exchange/transfer"
	"memento/internal/wire"
	"memento/server"

	"github.com/spf13/cobra"
)

// doctorOptions are the flags of "doctor".
type doctorOptions struct {
	stores      []string
	write, deep bool

	repair, dryRun bool
}

func (a *app) doctorCommand() *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check stores for damage and suggest repairs",
		Long: `Doctor reads every store and checks it: each memory must match its newest version,
contents must match their hashes and sizes, nothing may be missing, duplicate or out of
order, and the counters must be right. It changes nothing, and the backend can be in use.
With encryption it also lists the keys and checks that every store can be decrypted.
Without --store and --workspace it also checks the tables of a database. Paths that look
alike, such as /policies and /Policies, are reported as notices, not as faults.

With --write it creates a temporary store and tests the guarantees of the storage there:
conditional writes, atomic writes, a single winner of concurrent writes, and a clock that
agrees with the clock of this machine. Then it deletes the store.

With --deep it also copies a file or folder to a temporary folder and verifies the copy,
as "memento backup verify" does. This finds damage in the database file itself.

With --repair it restores memories whose contents are damaged, as new versions by the
actor "system repair": with the exact contents if they are stored elsewhere, otherwise
with the contents of the newest undamaged version. A damaged file of a dir: backend is
written again from the database. Damaged versions in the history stay as they are. With
--dry-run it only shows what it would do.

The exit code is 7 if there are faults, or if faults remain after --repair.`,
		Example: `  memento doctor
  memento --backend postgres://db.example/memento doctor --write
  memento doctor --repair --dry-run
  memento doctor --store notes --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.dryRun && !o.repair {
				return usage("--dry-run needs --repair")
			}
			return a.checkUp(cmd.Context(), &o)
		},
	}
	c.Flags().StringArrayVarP(&o.stores, "store", "s", nil, "`NAME` or ID of a store; can be repeated (default: all)")
	c.Flags().BoolVar(&o.write, "write", false, "also test the guarantees of the storage, in a temporary store")
	c.Flags().BoolVar(&o.repair, "repair", false, "restore damaged memories from undamaged copies")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what --repair would do, and change nothing")
	c.Flags().BoolVar(&o.deep, "deep", false, "also copy the database to a temporary folder, and verify the copy")
	_ = c.RegisterFlagCompletionFunc("store", a.completeStoresOf(func(ctx context.Context) (memento.Backend, error) {
		b, _, err := a.openChosen(ctx, access{asKept: true})
		return b, err
	}))
	return c
}

// The output of "doctor --json": one line for each fault and repair, and a summary.
type (
	storageFaultJSON struct {
		Type   string          `json:"type"` // "memento_fault"
		Store  memento.StoreID `json:"memory_store_id,omitempty"`
		Fault  string          `json:"fault"`
		Repair string          `json:"repair"`
		Damage *wire.Damage    `json:"damage,omitempty"` // if contents are damaged
	}
	noticeJSON struct {
		Type     string             `json:"type"` // "memento_notice"
		Store    memento.StoreID    `json:"memory_store_id"`
		Memories []memento.MemoryID `json:"memory_ids"`
		Notice   string             `json:"notice"`
		Advice   string             `json:"advice"`
	}
	repairJSON struct {
		Type     string            `json:"type"` // "memento_repair"
		Store    memento.StoreID   `json:"memory_store_id,omitempty"`
		Memory   memento.MemoryID  `json:"memory_id,omitempty"`
		Damaged  memento.VersionID `json:"damaged_memory_version_id,omitempty"`
		From     memento.VersionID `json:"from_memory_version_id,omitempty"` // the source of the contents; absent if they come from elsewhere
		New      memento.VersionID `json:"memory_version_id,omitempty"`      // absent in a dry run
		Exact    bool              `json:"exact"`                            // whether the contents are those that were damaged, byte for byte
		DryRun   bool              `json:"dry_run"`
		Repaired string            `json:"repaired"`
	}
	doctorJSON struct {
		Type       string         `json:"type"` // "memento_checkup"
		Backend    string         `json:"backend"`
		Sound      bool           `json:"sound"`
		Faults     int64          `json:"faults"`
		Notices    int64          `json:"notices,omitempty"` // paths that look alike
		Stores     int64          `json:"stores"`
		Workspaces []string       `json:"workspaces"` // those of the stores
		Memories   int64          `json:"memories"`
		Bytes      int64          `json:"bytes"`
		Versions   int64          `json:"versions"`
		Repaired   int64          `json:"repaired,omitempty"` // memories and files that were written again
		Resolved   int64          `json:"-"`                  // faults that are fully repaired
		Keys       int64          `json:"keys"`
		Written    bool           `json:"written"`                    // whether --write was given
		Restless   int64          `json:"restless_stores,omitempty"`  // changed during all attempts, so not everything was checked
		Encrypted  int64          `json:"encrypted_stores,omitempty"` // checked without their keys
		Encryption map[string]int `json:"encryption_keys,omitempty"`
	}
)

func (a *app) checkUp(ctx context.Context, o *doctorOptions) error {
	url, err := a.chosenBackend()
	if err != nil {
		return err
	}
	shown := (&server.Config{Backend: url}).ShownBackend()
	sum := doctorJSON{Type: "memento_checkup", Backend: shown, Workspaces: []string{}}
	err = a.withAccess(ctx, access{create: o.write, asKept: true}, func(b memento.Backend) error { // --write may create it
		if !a.json {
			if err := a.print("backend: %s\n", line(shown)); err != nil {
				return err
			}
		}
		return a.examine(ctx, o, b, &sum)
	})
	if err != nil {
		return err
	}
	return a.printSummary(&sum)
}

func (a *app) examine(ctx context.Context, o *doctorOptions, b memento.Backend, sum *doctorJSON) error {
	deep, ok := b.(backend.BackupWriter)
	if o.deep && !ok {
		return hint(&memento.Error{Op: "doctor", Err: memento.ErrUnsupported}, "--deep works for sqlite: and dir: backends only; leave it out")
	}
	count, end := a.progress("checking, versions and memories:")
	defer end()
	done := int64(0)
	var printed error
	var damages []doctor.Damage // in the current store
	d := doctor.Doctor{Backend: b, Now: a.now,
		Report: func(f doctor.Fault) {
			end()
			sum.Faults++
			if f.Damage != nil {
				damages = append(damages, *f.Damage)
			}
			printed = errors.Join(printed, a.printFault(f))
		},
		Notice: func(n doctor.Notice) {
			end()
			printed = errors.Join(printed, a.printNotice(n))
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
	stores, err := a.storesToCheck(ctx, o, b, &d)
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
		if ws := string(info.Workspace); ws != "" && !slices.Contains(sum.Workspaces, ws) {
			sum.Workspaces = append(sum.Workspaces, ws)
		}
		sum.Memories += seen.Memories
		sum.Bytes += seen.Bytes
		sum.Versions += seen.Versions
		sum.Notices += seen.Notices
		sum.Restless += seen.Busy
		if info.Envelope != "" {
			sum.Encrypted++
		}
		if o.repair {
			if err := a.repair(ctx, &d, info, damages, o.dryRun, sum); err != nil {
				return err
			}
		}
	}
	if len(o.stores) == 0 {
		if sum.Keys, _, err = d.Keys(ctx); err != nil {
			return err
		}
		if a.givenWorkspace() == "" {
			if _, err := d.VerifyBackend(ctx); err != nil {
				return err
			}
			if o.repair {
				if err := a.repairBackend(ctx, &d, o.dryRun, sum); err != nil {
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
		ws := a.workspace()
		if g, ok := b.(interface{ Workspace() memento.Workspace }); ok {
			ws = g.Workspace()
		}
		sum.Written = true
		if _, err := d.TryWrites(ctx, ws); err != nil {
			return fmt.Errorf("the storage could not be tested: %w", err)
		}
	}
	return printed
}

// storesToCheck returns the stores selected by the flags, including stores whose
// descriptions cannot be read.
func (a *app) storesToCheck(ctx context.Context, o *doctorOptions, b memento.Backend, d *doctor.Doctor) (stores []memento.StoreInfo, err error) {
	spaces := []memento.Workspace{a.givenWorkspace()}
	if spaces[0] == "" {
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
			err = hint(err, "the names of some stores cannot be read, such as that of %s; give IDs with --store", stores[i].ID)
		}
	}
	return named, err
}

// checkEncryption reports which keys are in use. If damage prevents reading them, the
// check of the stores reports that.
func (a *app) checkEncryption(ctx context.Context, b memento.Backend, d *doctor.Doctor, sum *doctorJSON) error {
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
			d.Report(doctor.Fault{Text: plural(stores, "store was", "stores were") + " created without encryption, and cannot be opened with keys", Repair: `open it without keys; to encrypt it, use "memento copy" with --to-encryption-keys`})
		case !slices.Contains(keys.IDs(), id):
			d.Report(doctor.Fault{Text: fmt.Sprintf("encryption key %s is missing; %s it", id, plural(stores, "store needs", "stores need")), Repair: "find a key file that contains it, for example in backups; without it these stores cannot be read"})
		}
	}
	if a.json {
		return nil
	}
	return a.print("encrypted with primary key %s\n", keys.Primary())
}

// checkDeep writes a temporary backup, which verifies the database.
func (a *app) checkDeep(ctx context.Context, w backend.BackupWriter, d *doctor.Doctor) error {
	dir, err := os.MkdirTemp("", "memento-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, err = w.Backup(ctx, filepath.Join(dir, "copy.db"), nil)
	if damage, ok := errors.AsType[*backend.BackupError](err); ok {
		for _, fault := range damage.Faults {
			d.Report(doctor.Fault{Text: fault, Repair: `restore a backup, or "memento copy" to a new backend, which reports what is lost`})
		}
		return nil
	}
	return err
}

func (a *app) printFault(f doctor.Fault) error {
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

func (a *app) printNotice(n doctor.Notice) error {
	if a.json {
		return a.writeJSON(noticeJSON{Type: "memento_notice", Store: n.Store, Memories: n.Memories, Notice: n.Text, Advice: n.Advice})
	}
	return a.print("%s store %s: %s\n        %s\n", a.paint(bold, "notice:"), n.Store, printable(n.Text), printable(n.Advice))
}

func (a *app) printSummary(sum *doctorJSON) error {
	sum.Sound = sum.Faults == sum.Resolved
	if a.json {
		if err := a.writeJSON(sum); err != nil {
			return err
		}
	} else {
		text := fmt.Sprintf("checked %s with %s (%s), %s and %s", plural(int(sum.Stores), "store", "stores"),
			plural(int(sum.Memories), "memory", "memories"), humanSize(sum.Bytes),
			plural(int(sum.Versions), "version", "versions"), plural(int(sum.Keys), "key", "keys"))
		if len(sum.Workspaces) > 1 || len(sum.Workspaces) == 1 && sum.Workspaces[0] != string(memento.DefaultWorkspace) {
			text += " in " + plural(len(sum.Workspaces), "workspace", "workspaces") + " (" + strings.Join(sum.Workspaces, ", ") + ")"
		}
		if sum.Written {
			text += ", and tested the storage with writes"
		}
		if sum.Encrypted > 0 {
			text += fmt.Sprintf("; %s encrypted and checked without keys", plural(int(sum.Encrypted), "store is", "stores are"))
		}
		if sum.Restless > 0 {
			text += fmt.Sprintf("; %s written to during the check: run it again when there are no writers", plural(int(sum.Restless), "store was", "stores were"))
		}
		state := "no faults found"
		if sum.Faults > 0 {
			state = plural(int(sum.Faults), "fault", "faults") + " found"
		}
		if sum.Notices > 0 {
			state += ", " + plural(int(sum.Notices), "notice", "notices")
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
