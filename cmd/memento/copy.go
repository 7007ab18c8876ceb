package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"memento"
	"memento/backend/storeurl"
	"memento/exchange/transfer"

	"github.com/spf13/cobra"
)

// copyOptions are the flags of "copy".
type copyOptions struct {
	from, to         string
	fromKeys, toKeys string
	stores           []string
	keys             bool
	dryRun, verify   bool
}

func (a *app) copyCommand() *cobra.Command {
	var o copyOptions
	c := &cobra.Command{
		Use:   "copy --to URL",
		Short: "Copy stores and their history to another backend",
		Long: `Copy copies stores from one backend to another. The backends can be of different kinds.
A copy has the same IDs, history, limits, settings, metadata and times, and is archived if
the source is. After copying, the command compares source and target, contents included,
and reports differences.

A store must be absent from the target, or be an earlier incomplete copy, which is
resumed. After an interruption, or after new writes to the source, run the same command
again. A store that was written to in the target is refused.

The source can be in use while it is copied. A copy contains everything that was written
before the history was read to its end. To move without losing writes: copy, stop all
writers of the source, and copy again; the second run copies only what is new.

A copy differs from its source in: the sequence numbers of versions, the times of the last
description change and of archiving, and the times of the last reads. If versions of a
memory were pruned or redacted, its copy may have a later creation time. With --keys, API
keys are copied too, so that existing keys also work on the target.

To encrypt, decrypt or re-encrypt, give the keys of the source and of the target. If
neither side has keys, an encrypted store is copied in its encrypted form, and can be read
with the same keys.`,
		Example: `  memento copy --from sqlite:memento.db --to postgres://db.example/memento --keys
  memento copy --to dir:./plain --store notes --dry-run
  memento copy --from sqlite:memento.db --to sqlite:encrypted.db --to-encryption-keys keys.json
  memento copy --from dir:old --to s3://bucket/memento --verify-only`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.to == "" {
				return usage("--to is required: the URL of the target")
			}
			return a.copy(cmd.Context(), &o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.from, "from", "", "URL of the source backend (default: that of --backend)")
	f.StringVar(&o.to, "to", "", "URL of the target backend")
	f.StringVar(&o.fromKeys, "from-encryption-keys", "", "`file` with the encryption keys of the source (without --from, the default is --encryption-keys)")
	f.StringVar(&o.toKeys, "to-encryption-keys", "", "`file` with the encryption keys of the target")
	f.StringArrayVarP(&o.stores, "store", "s", nil, "`NAME` or ID of a store; can be repeated (default: all)")
	f.BoolVar(&o.keys, "keys", false, "also copy API keys")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be copied, and write nothing")
	f.BoolVar(&o.verify, "verify-only", false, "compare source and target, and change nothing")
	_ = c.RegisterFlagCompletionFunc("from", completeBackends)
	_ = c.RegisterFlagCompletionFunc("to", completeBackends)
	_ = c.RegisterFlagCompletionFunc("store", a.completeStoresOf(func(ctx context.Context) (memento.Backend, error) {
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

func (a *app) copy(ctx context.Context, o *copyOptions) error {
	if ws := a.givenWorkspace(); ws != "" {
		if err := ws.Check(); err != nil {
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
		return hint(fmt.Errorf("%w: the source and the target are the same", memento.ErrInvalid), "choose another target with --to")
	}
	from, err := a.openSource(ctx, fromURL, fromKeys)
	switch {
	case errors.Is(err, memento.ErrNotExist):
		return hint(fmt.Errorf("there is nothing to copy: source: %w", err), "check --from")
	case err != nil:
		return fmt.Errorf("source: %w", err)
	}
	defer from.Close() // it was only read; its error does not matter
	to, err := a.copyTarget(ctx, o, toKeys)
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	return errors.Join(a.copyBetween(ctx, o, from, to, toKeys.ring != nil), to.Close())
}

// copySource returns the URL of the source and how to open it.
func (a *app) copySource(o *copyOptions) (url string, e encryption, err error) {
	if o.from != "" && a.encryptionFile != "" {
		return url, e, usage("--encryption-keys belongs to --backend; use --from-encryption-keys for the source and --to-encryption-keys for the target")
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

// openSource opens the source. It does not create it.
func (a *app) openSource(ctx context.Context, url string, e encryption) (memento.Backend, error) {
	e.access = access{asKept: true}
	return a.open(ctx, url, e)
}

// keysOf reads the key file of the source or the target.
func (a *app) keysOf(url, file, flag string) (e encryption, err error) {
	switch {
	case file == "":
		return e, nil
	case isServerURL(url):
		return e, usage("%s cannot be used with a server, which has its own encryption keys", flag)
	}
	keys, err := openKeyFile(file)
	if err == nil {
		e.ring, e.flag = keys, flag
	}
	return e, err
}

// copyTarget opens the target. With --dry-run and --verify-only it does not create it.
func (a *app) copyTarget(ctx context.Context, o *copyOptions, e encryption) (memento.Backend, error) {
	e.access = access{create: !o.dryRun && !o.verify, asKept: true}
	to, err := a.open(ctx, o.to, e)
	switch {
	case errors.Is(err, memento.ErrNotExist) && o.dryRun:
		return a.open(ctx, "mem:", encryption{}) // an empty backend
	case errors.Is(err, memento.ErrNotExist) && o.verify:
		return nil, hint(err, "check --to")
	}
	return to, err
}

func (a *app) copyBetween(ctx context.Context, o *copyOptions, from, to memento.Backend, encrypts bool) error {
	c := transfer.Copier{From: from, To: to, Encrypts: encrypts}
	stores, err := c.Stores(ctx, a.givenWorkspace(), o.stores...)
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
			return hint(ctx.Err(), "run the command again to resume")
		}
		if err := a.printCopied(o, &r, err); err != nil {
			return err
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

// errCopyDiffers means that a copy has differences, which were already printed.
var errCopyDiffers = silence(exitFailure)

// copyFailure joins the errors of all stores; differences alone are errCopyDiffers.
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

// A copiedJSON is the result for one store.
type copiedJSON struct {
	Type      string            `json:"type"` // "memory_store_copy"
	Store     memento.StoreID   `json:"memory_store_id"`
	Workspace memento.Workspace `json:"workspace"`
	Name      string            `json:"name"`
	Had       transfer.State    `json:"had"` // state of the target before: "absent", "partial" or "complete"
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

// printCopied reports the result for a store.
func (a *app) printCopied(o *copyOptions, r *transfer.Result, failed error) error {
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
		more = append(more, plural(int(r.Redacted), "version", "versions")+" redacted in the meantime")
	}
	if r.Pruned > 0 {
		more = append(more, plural(int(r.Pruned), "version", "versions")+" that only the target still has")
	}
	if r.SourceChanged {
		more = append(more, "the source has new versions: run the command again to copy them")
	}
	if r.Store.Envelope != "" {
		more = append(more, "still encrypted")
	}
	details := ""
	if len(more) > 0 {
		details = "; " + strings.Join(more, "; ")
	}
	switch {
	case o.dryRun && r.Versions == 0 && r.Before == transfer.Complete:
		a.say("%s is already in the target%s", name, details)
	case o.dryRun:
		a.say("%s: %s would be copied%s", name, size, details)
	case o.verify && len(r.Differences) == 0:
		a.say("%s is identical in source and target%s", name, details)
	case o.verify:
	case len(r.Differences) > 0:
		a.say("copied %s: %s, with differences%s", name, size, details)
	case r.Versions == 0 && r.Before == transfer.Complete:
		a.say("%s was already in the target, verified%s", name, details)
	default:
		a.say("copied %s: %s, verified%s", name, size, details)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(a.stderr, "memento: %s: %s\n", name, printable(d))
	}
	return nil
}

// copyProgress reports the progress of copying a store: on a terminal in one line that is
// updated, elsewhere as a new line every 30 seconds.
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

// A copiedKeysJSON is the result of copying API keys.
type copiedKeysJSON struct {
	Type    string `json:"type"` // "api_key_copy"
	Copied  int64  `json:"copied"`
	Present int64  `json:"present"`
	DryRun  bool   `json:"dry_run,omitempty"`
}

func (a *app) copyKeys(ctx context.Context, c *transfer.Copier, o *copyOptions) error {
	sum, err := c.Keys(ctx, a.givenWorkspace(), o.dryRun)
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
	a.say("%s %s; %d already in the target", did, plural(int(sum.Copied), "API key", "API keys"), sum.Present)
	return nil
}
