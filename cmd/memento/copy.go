package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"memento"
	"memento/storeurl"
	"memento/transfer"

	"github.com/spf13/cobra"
)

// A copying is what "copy" is asked to do.
type copying struct {
	from, to         string
	fromKeys, toKeys string
	stores           []string
	workspace        string
	keys             bool
	dryRun, verify   bool
}

func (a *app) copyCommand() *cobra.Command {
	var o copying
	c := &cobra.Command{
		Use:   "copy --to URL",
		Short: "Copy stores with their history to another backend",
		Long: `Copy makes copies of stores in another backend, of whatever kind either is: with their
IDs, their history, limits, settings, metadata and times, and archived if they are. Then
it compares both, contents included, and names what differs. What --to names has to have
nothing of a store, or the beginning of its history as an earlier copy left it: then it
goes on from there. So an interrupted copy is simply run again, and so is one after which
the source was written to. A store that somebody has written to in the target is refused.

The source can be in use meanwhile. A copy has what was there when the history of the
store was read to its end; to move without a gap, copy, stop what writes to the source,
and copy again, which only takes what is new.

Not the same are: the numbers that order versions, when the description was last changed
and the store archived, and when memories were last read. A memory of which versions were
pruned or redacted may seem to have been made later. With --keys, API keys are copied, so
that those who have one can go on using it.

To encrypt, decrypt or encrypt anew, name the keys of either side. A store that is
encrypted is copied as it is, and can be read with the same keys, if neither side has any.`,
		Example: `  memento copy --from sqlite:memento.db --to postgres://db.example/memento --keys
  memento copy --to dir:./plain --store notes --dry-run
  memento copy --from sqlite:memento.db --to sqlite:encrypted.db --to-encryption-keys keys.json
  memento copy --from dir:old --to s3://bucket/memento --verify-only`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.to == "" {
				return usage("name where to copy to with --to")
			}
			return a.copy(cmd.Context(), &o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "URL of the backend to copy from (default: that of --backend)")
	f.StringVar(&o.to, "to", "", "URL of the backend to copy to")
	f.StringVar(&o.fromKeys, "from-encryption-keys", "", "`file` with the keys that the source is encrypted with (default: those of --encryption-keys, without --from)")
	f.StringVar(&o.toKeys, "to-encryption-keys", "", "`file` with the keys to encrypt the target with")
	f.StringArrayVar(&o.stores, "store", nil, "name or ID of a store; can be repeated (default: all)")
	f.StringVar(&o.workspace, "workspace", "", "only stores of this workspace (default: all)")
	f.BoolVar(&o.keys, "keys", false, "copy API keys, too")
	f.BoolVar(&o.dryRun, "dry-run", false, "only say what would be copied, and write nothing")
	f.BoolVar(&o.verify, "verify-only", false, "only compare, and change nothing")
	_ = c.RegisterFlagCompletionFunc("store", completeStoresOf(&o.workspace, func(ctx context.Context) (memento.Backend, error) {
		url, keys, err := a.copySource(&o)
		if err != nil {
			return nil, err
		}
		return a.openSource(ctx, url, keys)
	}))
	c.MarkFlagsMutuallyExclusive("dry-run", "verify-only")
	c.MarkFlagsMutuallyExclusive("keys", "verify-only")
	return c
}

func (a *app) copy(ctx context.Context, o *copying) error {
	if o.workspace != "" {
		if err := memento.CheckWorkspace(memento.Workspace(o.workspace)); err != nil {
			return err
		}
	}
	fromURL, fromKeys, err := a.copySource(o)
	if err != nil {
		return err
	}
	toKeys, err := a.keysOf(o.to, o.toKeys, "--to-encryption-keys")
	if err != nil {
		return err
	}
	if toKeys.names, err = a.namesEncrypted(toKeys.ring != nil, "--to-encryption-keys"); err != nil {
		return err
	}
	switch same, err := storeurl.Same(fromURL, o.to); {
	case err != nil:
		return err
	case same:
		return hint(fmt.Errorf("%w: the source and the target are the same", memento.ErrInvalid), "name another place with --to")
	}
	from, err := a.openSource(ctx, fromURL, fromKeys)
	switch {
	case errors.Is(err, memento.ErrNotExist):
		return hint(fmt.Errorf("there is nothing to copy: source: %w", err), "check what --from names")
	case err != nil:
		return fmt.Errorf("source: %w", err)
	}
	defer from.Close() // which only was read
	to, err := a.copyTarget(ctx, o, toKeys)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return errors.Join(a.copyBetween(ctx, o, from, to, toKeys.ring != nil), to.Close())
}

// copySource is where to copy from, and how that is opened.
func (a *app) copySource(o *copying) (url string, e encryption, err error) {
	if o.from != "" && a.encryptionFile != "" {
		return url, e, usage("--encryption-keys is for --backend; name the keys of what --from names with --from-encryption-keys, and those of the target with --to-encryption-keys")
	}
	if o.from == "" && o.fromKeys == "" {
		if url, err = a.chosenBackend(); err == nil {
			e, err = a.givenKeys(url)
		}
		return url, e, err
	}
	if url = o.from; url == "" {
		if url, err = a.chosenBackend(); err != nil {
			return url, e, err
		}
	}
	e, err = a.keysOf(url, o.fromKeys, "--from-encryption-keys")
	return url, e, err
}

// openSource opens what is copied from. What is not there is not made.
func (a *app) openSource(ctx context.Context, url string, e encryption) (memento.Backend, error) {
	e.access = access{existing: true, asKept: true}
	return a.open(ctx, url, e)
}

// keysOf reads the file of keys for one side.
func (a *app) keysOf(url, file, flag string) (e encryption, err error) {
	switch {
	case file == "":
		return e, nil
	case isServerURL(url):
		return e, usage("%s is for where memories are kept; a server has its own keys", flag)
	}
	keys, err := openKeyFile(file)
	if err == nil {
		e.ring, e.flag = keys, flag
	}
	return e, err
}

// copyTarget opens what is copied to; for a look, what is not there is not made.
func (a *app) copyTarget(ctx context.Context, o *copying, e encryption) (memento.Backend, error) {
	e.access = access{existing: o.dryRun || o.verify, asKept: true}
	to, err := a.open(ctx, o.to, e)
	switch {
	case errors.Is(err, memento.ErrNotExist) && o.dryRun:
		return a.open(ctx, "mem:", encryption{}) // which has nothing
	case errors.Is(err, memento.ErrNotExist) && o.verify:
		return nil, hint(err, "check what --to names")
	}
	return to, err
}

func (a *app) copyBetween(ctx context.Context, o *copying, from, to memento.Backend, encrypts bool) error {
	c := transfer.Copier{From: from, To: to, Encrypts: encrypts}
	stores, err := c.Stores(ctx, memento.Workspace(o.workspace), o.stores...)
	if err != nil {
		return err
	}
	if len(stores) == 0 {
		a.say("there are no stores to copy")
	}
	var failed []error
	for i, info := range stores {
		end := a.copyProgress(&c, i, len(stores))
		do := c.Copy
		switch {
		case o.dryRun:
			do = c.Plan
		case o.verify:
			do = c.Verify
		}
		r, err := do(ctx, info)
		end()
		if ctx.Err() != nil {
			return hint(ctx.Err(), "run it again: it goes on where it was interrupted")
		}
		if told := a.tellCopied(o, &r, err); told != nil {
			return told
		}
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("store %s (%s): %w", line(info.Name), info.ID, err))
		case len(r.Differences) > 0:
			failed = append(failed, errCopyDiffers)
		}
	}
	if o.keys {
		if err := a.copyKeys(ctx, &c, o); err != nil {
			failed = append(failed, err)
		}
	}
	return copyFailure(failed)
}

// errCopyDiffers is of a copy with differences, which were told.
var errCopyDiffers = silence(exitFailure)

// copyFailure is how the command ends: with what went wrong first, the rest is told.
func copyFailure(failed []error) error {
	var errs []error
	for _, err := range failed {
		if !errors.Is(err, errCopyDiffers) {
			errs = append(errs, err)
		}
	}
	switch {
	case len(errs) > 0:
		return errors.Join(errs...)
	case len(failed) > 0:
		return errCopyDiffers
	}
	return nil
}

// A copiedJSON is what became of a store.
type copiedJSON struct {
	Type      string            `json:"type"` // "memory_store_copy"
	Store     memento.StoreID   `json:"memory_store_id"`
	Workspace memento.Workspace `json:"workspace"`
	Name      string            `json:"name"`
	Had       transfer.State    `json:"had"` // "absent", "partial" or "complete", before
	Versions  int64             `json:"versions"`
	Bytes     int64             `json:"bytes"`
	Present   int64             `json:"versions_present"`
	Pruned    int64             `json:"versions_pruned"`
	Redacted  int64             `json:"versions_redacted"`
	DryRun    bool              `json:"dry_run,omitempty"`
	Verified  bool              `json:"verified"`
	Newer     bool              `json:"source_is_newer"`
	Different []string          `json:"differences"`
	Error     *string           `json:"error,omitempty"`
}

func (a *app) tellCopied(o *copying, r *transfer.Result, failed error) error {
	if a.json {
		j := copiedJSON{
			Type: "memory_store_copy", Store: r.Store.ID, Workspace: r.Store.Workspace, Name: r.Store.Name,
			Had: r.Before, Versions: r.Versions, Bytes: r.Bytes, Present: r.Present, Pruned: r.Pruned, Redacted: r.Redacted,
			DryRun: o.dryRun, Verified: r.Verified && failed == nil, Newer: r.SourceChanged, Different: append([]string{}, r.Differences...),
		}
		if failed != nil {
			text := printable(failed.Error())
			j.Error = &text
		}
		return a.writeJSON(j)
	}
	if failed != nil {
		return nil // reported at the end
	}
	name := fmt.Sprintf("store %s (%s)", line(r.Store.Name), r.Store.ID)
	size := fmt.Sprintf("%s (%s)", plural(int(r.Versions), "version", "versions"), humanSize(r.Bytes))
	var more []string
	if r.Redacted > 0 {
		more = append(more, plural(int(r.Redacted), "version", "versions")+" redacted since")
	}
	if r.Pruned > 0 {
		more = append(more, plural(int(r.Pruned), "version", "versions")+" only the target still has")
	}
	if r.SourceChanged {
		more = append(more, "the source has been written to meanwhile: run it again for the rest")
	}
	if r.Store.Envelope != "" {
		more = append(more, "encrypted as it was")
	}
	details := ""
	if len(more) > 0 {
		details = "; " + strings.Join(more, "; ")
	}
	switch {
	case o.dryRun && r.Versions == 0 && r.Before == transfer.Complete:
		a.say("%s is there already%s", name, details)
	case o.dryRun:
		a.say("%s: %s would be copied%s", name, size, details)
	case o.verify && len(r.Differences) == 0:
		a.say("%s is the same in both%s", name, details)
	case o.verify:
	case len(r.Differences) > 0:
		a.say("copied %s: %s, which is not the same in both%s", name, size, details)
	case r.Versions == 0 && r.Before == transfer.Complete:
		a.say("%s was there already, and is verified%s", name, details)
	default:
		a.say("copied %s: %s, verified%s", name, size, details)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(a.stderr, "memento: %s: %s\n", name, printable(d))
	}
	return nil
}

// copyProgress shows how far the copy of a store is: as a line that changes on a
// terminal, and as a line now and then elsewhere.
func (a *app) copyProgress(c *transfer.Copier, n, of int) (end func()) {
	const lineEvery = 30 * time.Second
	if a.quiet {
		return func() {}
	}
	next, shown := a.now().Add(lineEvery), false
	if a.stderrTTY {
		next = a.now()
	}
	c.Progress = func(p transfer.Progress) {
		now := a.now()
		if now.Before(next) {
			return
		}
		text := fmt.Sprintf("%s store %s (%d of %d), versions: %d", p.Step, line(p.Store.Name), n+1, of, p.Done)
		if a.stderrTTY {
			next, shown = now.Add(100*time.Millisecond), true
			fmt.Fprintf(a.stderr, "\r%s\x1b[K", text)
			return
		}
		next = now.Add(lineEvery)
		fmt.Fprintln(a.stderr, text)
	}
	return func() {
		if shown {
			fmt.Fprint(a.stderr, "\r\x1b[K")
		}
	}
}

// A copiedKeysJSON is what became of API keys.
type copiedKeysJSON struct {
	Type    string `json:"type"` // "api_key_copy"
	Copied  int64  `json:"copied"`
	Present int64  `json:"present"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

func (a *app) copyKeys(ctx context.Context, c *transfer.Copier, o *copying) error {
	sum, err := c.Keys(ctx, memento.Workspace(o.workspace), o.dryRun)
	if err != nil {
		return fmt.Errorf("API keys: %w", err)
	}
	if a.json {
		return a.writeJSON(copiedKeysJSON{Type: "api_key_copy", Copied: sum.Copied, Present: sum.Present, DryRun: o.dryRun})
	}
	did := "copied"
	if o.dryRun {
		did = "would copy"
	}
	a.say("%s %s; %d there already", did, plural(int(sum.Copied), "API key", "API keys"), sum.Present)
	return nil
}
