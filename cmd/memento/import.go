package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"memento"
	"memento/backend/storeurl"
	"memento/exchange/archive"
	"memento/exchange/importer"
	"memento/internal/notefiles"

	"github.com/spf13/cobra"
)

type importFlags struct {
	contentsOnly bool
	overwrite    bool
	hidden       bool
	partial      bool
	dryRun       bool
	sensitiveOff bool
	maxBytes     byteSize
	format       string
	into         string
	exclude      []string
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE|DIR|-",
		Short: "Read notes from a folder or a file, or a store from an archive",
		Long: `Import reads an archive of "memento export" with its history into a store without a
history. If the store does not exist, it is created with the settings of the exported
store. It looks for secrets even if that one did not, unless --sensitive-off is given.

From everything else, and from an archive with --contents-only, it imports contents, as
your changes, into any store:

  a folder        such as an Obsidian vault or the notes of a coding agent
  tar, tar.gz     a packed folder; also from standard input, as "-"
  zip
  a single note
  memory-tool     the folder of a local memory tool of Anthropic's SDKs
  assistant       what an assistant writes down when asked for its memories: entries
                  such as "[2026-03-01] - text"; or Claude's memories.json
  mem0            the JSON of mem0's memories
  server-memory   the file of MCP's server "memory", with entities and relations

Formats are detected; --format chooses one, and --format notes takes files as they are.

Hidden files and folders (.git, .obsidian, .trash), links and files that are not text,
such as images, are left alone and counted. Names get Unicode form NFC. Notes that the
store has with the same contents are skipped. Secrets are masked or rejected, depending
on the store settings.

An import is atomic. If some files cannot be imported, all of them are listed and nothing
is changed; --partial imports the rest, and exits with 9. Memories with other contents
are not replaced unless --overwrite is given.`,
		Example: `  memento --store copy import backup.tar.gz
  memento import --contents-only --overwrite backup.tar.gz
  memento import ~/vault --exclude templates/ --into /vault --dry-run
  tar cz notes | memento import -
  memento import memory.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.importFrom(cmd.Context(), args[0], f)
		},
	}
	c.Flags().BoolVar(&f.contentsOnly, "contents-only", false, "import the contents of an archive as changes, without the history")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace memories that have other contents")
	c.Flags().BoolVar(&f.hidden, "hidden", false, "include hidden files and folders, except .memento")
	c.Flags().BoolVar(&f.partial, "partial", false, "import what can be imported although some files cannot; the exit code is then 9")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be imported, and change nothing")
	c.Flags().BoolVar(&f.sensitiveOff, "sensitive-off", false, "let the settings in an archive that you trust turn off the detection of secrets in a new store")
	c.Flags().Var(&f.maxBytes, "max-bytes", "maximum unpacked size, such as 500M (default 1G)")
	c.Flags().StringVar(&f.format, "format", "", "`format` of the source: notes, memory-tool, assistant, mem0 or server-memory (default: detected)")
	c.Flags().StringVar(&f.into, "into", "", "import into this `directory` of the store")
	c.Flags().StringArrayVar(&f.exclude, "exclude", nil, "leave out what matches a `pattern` such as *.tmp, drafts/ or work/**/old; can be repeated")
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"notes", "memory-tool", "assistant", "mem0", "server-memory"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// options returns the options that the flags describe.
func (f *importFlags) options() (*importer.Options, error) {
	opts := &importer.Options{
		Format: importer.Format(f.format), Hidden: f.hidden, Overwrite: f.overwrite, Partial: f.partial,
		DryRun: f.dryRun, MaxBytes: int64(f.maxBytes),
	}
	if f.format != "" && !slices.Contains(importer.Formats(), opts.Format) {
		return nil, usage("there is no format %q", f.format)
	}
	if f.into != "" {
		into, err := memento.ParseDir("/" + strings.TrimLeft(f.into, "/"))
		if err != nil {
			return nil, err
		}
		opts.Into = into
	}
	for _, text := range f.exclude {
		g, err := notefiles.ParsePattern(text)
		if err != nil {
			return nil, err
		}
		opts.Exclude = append(opts.Exclude, g)
	}
	return opts, nil
}

// onlyNotes reports whether flags are given that need contents, not a history.
func (f *importFlags) onlyNotes() bool {
	return f.overwrite || f.hidden || f.partial || f.into != "" || f.format != "" || len(f.exclude) > 0
}

func (a *app) importFrom(ctx context.Context, name string, f importFlags) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	var src *importer.Source
	switch {
	case name == "-" && a.stdinTTY:
		return usage("standard input is a terminal; give a file")
	case name == "-":
		src = importer.OpenReader(a.input(ctx), "")
	default:
		if src, err = importer.Open(name); err != nil {
			return err
		}
	}
	defer src.Close()
	if r, ok := src.Archive(); ok {
		if !f.contentsOnly && f.onlyNotes() {
			return usage("this is an archive with its own paths and history; the other flags need --contents-only")
		}
		err = a.importArchive(ctx, r, f, opts)
	} else {
		err = a.importNotes(ctx, src, opts)
	}
	if inPath(err) {
		return hint(err, `a path cannot be masked: rename the memory in the source, with "memento scan --fix" and "memento mv" if that is a store; or allow the text with "memento stores create --allow"`)
	}
	return err
}

// withTarget opens the backend to import to, which is created if it does not exist. A dry
// run creates nothing: it is then made with an empty store in memory.
func (a *app) withTarget(ctx context.Context, dryRun bool, do func(memento.Backend) error) (err error) {
	if !dryRun {
		return a.withAccess(ctx, creating, do)
	}
	opened := false
	err = a.withBackend(ctx, func(b memento.Backend) error {
		opened = true
		return do(b)
	})
	if opened || !errors.Is(err, memento.ErrNotExist) {
		return err
	}
	b, err := storeurl.Open(ctx, "mem:", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	return do(b)
}

// importNotes imports notes and reports what was done.
func (a *app) importNotes(ctx context.Context, src *importer.Source, opts *importer.Options) error {
	return a.withTarget(ctx, opts.DryRun, func(b memento.Backend) error {
		s, err := a.openStore(ctx, b, memento.StoreSpec{})
		if err != nil {
			return err
		}
		return a.importInto(ctx, s, src, opts)
	})
}

func (a *app) importInto(ctx context.Context, s *memento.Store, src *importer.Source, opts *importer.Options) error {
	show, end := a.progressOf("importing")
	opts.Progress = show
	res, err := src.Import(ctx, s, person(), opts)
	end()
	if err == nil || errors.Is(err, importer.ErrProblems) {
		if reported := a.imported(&res, opts, err == nil); reported != nil {
			return reported
		}
	}
	switch {
	case errors.Is(err, importer.ErrProblems):
		return hint(err, "%s", a.problemsHint(&res))
	case err != nil:
		return err
	case len(res.Problems) > 0:
		return silence(exitPartial)
	}
	return nil
}

// inPath reports whether a write was rejected because of a sensitive path.
func inPath(err error) bool {
	refused, ok := errors.AsType[*memento.SensitiveError](err)
	return ok && slices.ContainsFunc(refused.Found, func(f memento.FindingLocation) bool { return f.Line == 0 })
}

func (a *app) importArchive(ctx context.Context, r io.Reader, f importFlags, opts *importer.Options) error {
	show, end := a.progressOf("importing")
	read := &archive.ReadOptions{ContentsOnly: f.contentsOnly, MaxBytes: int64(f.maxBytes)}
	if show != nil {
		read.Progress = func(done int) { show(done, 0) }
	}
	loaded, err := archive.Load(ctx, r, read)
	end()
	if err != nil {
		return err
	}
	var sum archive.Summary
	err = a.withTarget(ctx, f.dryRun, func(b memento.Backend) error {
		spec := loaded.Spec()
		if f.sensitiveOff && loaded.SensitiveOff() {
			spec.Settings.Sensitive.Mode = memento.Off
		}
		s, err := a.openStore(ctx, b, spec)
		if err != nil {
			return err
		}
		_, err = s.ID(ctx)
		made := errors.Is(err, memento.ErrNoStore)
		switch {
		case f.contentsOnly:
			opts.NewLimits = spec.Limits
			err = a.importInto(ctx, s, importer.FromNotes(loaded.Memories()), opts)
		case f.dryRun:
			sum, err = loaded.Check(ctx, s)
		default:
			sum, err = loaded.Import(ctx, s, person())
		}
		if err != nil || !made || f.dryRun {
			return err
		}
		if loaded.SensitiveOff() && !f.sensitiveOff {
			a.say("note: the exported store did not look for secrets; the new one masks them, also in what was imported; --sensitive-off would turn that off")
		}
		if n := loaded.WideExceptions(); n > 0 {
			a.say("note: %s in the archive would allow any secret, and %s left out", plural(n, "exception", "exceptions"), map[bool]string{true: "was", false: "were"}[n == 1])
		}
		return a.finishStore(ctx, b, s, loaded.ReadOnly())
	})
	if err != nil || f.contentsOnly {
		return err
	}
	if f.dryRun {
		a.say("dry run: nothing is changed")
	}
	return a.transferred("memory_import", sum, "")
}

// finishStore adds the read-only patterns to a store that was created from an archive. It
// prints notes about settings of the archive that the user may not expect.
func (a *app) finishStore(ctx context.Context, b memento.Backend, s *memento.Store, readOnly []memento.Pattern) error {
	info, err := s.Info(ctx)
	if err != nil {
		if errors.Is(err, memento.ErrNoStore) { // the archive was empty
			return nil
		}
		return err
	}
	switch allowed := describeAllowed(info.Settings.Sensitive); {
	case info.Settings.Sensitive.Mode == memento.Off:
		a.say("note: the detection of secrets is off in store %s", line(info.Name))
	case allowed != "":
		a.say(`note: the settings in the archive allow sensitive texts in store %s (%s); "memento stores settings %[1]s" lists them`, line(info.Name), allowed)
	}
	if len(readOnly) == 0 {
		return nil
	}
	_, err = a.changeSettings(ctx, b, info, func(s memento.Settings) (memento.Settings, error) {
		s.ReadOnly = slices.Clone(s.ReadOnly)
		for _, p := range readOnly {
			if !slices.Contains(s.ReadOnly, p) { // another process may have added it
				s.ReadOnly = append(s.ReadOnly, p)
			}
		}
		return s, nil
	})
	return err
}

// describeAllowed returns a summary of the allowed texts, as in "2 texts, 1 path"; "" if
// there are none.
func describeAllowed(s memento.Sensitive) string {
	var parts []string
	for _, list := range []struct {
		n         int
		one, many string
	}{
		{len(s.Allow), "text", "texts"},
		{len(s.AllowPatterns), "expression", "expressions"},
		{len(s.AllowPaths), "path", "paths"},
	} {
		if list.n > 0 {
			parts = append(parts, plural(list.n, list.one, list.many))
		}
	}
	return strings.Join(parts, ", ")
}
