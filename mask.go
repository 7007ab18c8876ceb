package memento

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"memento/internal/lines"
	"memento/internal/lru"
	"memento/internal/placeholder"
)

// A Finding is a part of a text that looks like a secret or like personal data.
type Finding struct {
	Kind       string // what it looks like: lower-case words with hyphens, as in "github-pat"
	Start, End int    // its bytes: from Start, included, to End, excluded
}

// A Detector finds secrets and personal data in texts. Package sensitive has one. It is
// safe for concurrent use.
type Detector interface {
	// Detect returns the findings in text, in the order of the text and without
	// overlaps. With personal, it also looks for personal data. A finding is not
	// empty, starts and ends at characters, and is not found again once it is masked,
	// which is replaced by "[REDACTED:KIND]".
	Detect(text string, personal bool) []Finding
}

// An InstructionDetector is a [Detector] that also finds text which addresses the model that
// reads it. That of package sensitive does.
type InstructionDetector interface {
	Detector
	// DetectInstructions returns the findings in text, in the order of the text and
	// without overlaps. Their kinds begin with InstructionPrefix.
	DetectInstructions(text string) []Finding
}

// A SplitDetector is a [Detector] that also finds secrets which are split over lines and have
// no sign of where they begin, such as hashes of passwords. It is used where findings are
// told rather than masked at once: in [Store.Scan]. That of package sensitive is one.
type SplitDetector interface {
	Detector
	// DetectSplit returns what Detect does, and secrets that are split over lines. A finding
	// can begin on one line and end on another, and can be the first part of a secret whose
	// rest is a placeholder on the next line.
	DetectSplit(text string, personal bool) []Finding
}

// InstructionPrefix begins the kinds of findings that are no secrets: text that addresses the
// model which reads it, as "instruction-override" does. See [Sensitive].Instructions.
const InstructionPrefix = "instruction-"

// A FindingLocation says where a [Finding] is, and of which kind, without repeating it.
type FindingLocation struct {
	Path Path   // of the memory; "" if it is the path that looks sensitive
	Kind string // as in Finding
	Line int    // from 1; 0 if it is in the path
}

// IsInstruction reports whether it is text that addresses the model, and no secret.
func (f FindingLocation) IsInstruction() bool { return strings.HasPrefix(f.Kind, InstructionPrefix) }

// A SensitiveError says what was found in a write that was refused. It is [ErrSensitive].
type SensitiveError struct {
	Found []FindingLocation // at least one
}

// Instructions reports whether the write was refused for text that addresses the model,
// rather than for secrets or personal data.
func (e *SensitiveError) Instructions() bool { return len(e.Found) > 0 && e.Found[0].IsInstruction() }

func (e *SensitiveError) Error() string {
	if e.Instructions() {
		return "reads like instructions to a model: " + findingsText(e.Found)
	}
	return fmt.Sprintf("%v: %s", ErrSensitive, findingsText(e.Found))
}

func (e *SensitiveError) Unwrap() error { return ErrSensitive }

// findingsText lists kinds and places of findings: "jwt on line 3, github-pat in the
// path".
func findingsText(found []FindingLocation) string {
	return listFirst(found, 10, func(f FindingLocation) string {
		if f.Line == 0 {
			return f.Kind + " in the path"
		}
		return fmt.Sprintf("%s on line %d", f.Kind, f.Line)
	})
}

// A masker finds and masks secrets in texts before they are written, by the settings of
// one store.
type masker struct {
	detector Detector
	settings Sensitive
	revision SettingsRevision // of settings
	patterns []func(string) bool

	instructions InstructionDetector // nil if detector is none
}

func newMasker(d Detector, s Sensitive) *masker {
	c := &masker{detector: d, settings: s, revision: s.revision()}
	c.instructions, _ = d.(InstructionDetector)
	for _, p := range s.AllowPatterns {
		if re, err := allowed(p); err == nil { // settings with invalid patterns are refused
			c.patterns = append(c.patterns, re.MatchString)
		}
	}
	return c
}

// complete reports whether there are the detectors that the settings ask for.
func (c *masker) complete() bool {
	return (c.detector != nil || c.settings.Mode == Off) && (c.instructions != nil || c.settings.Instructions == IgnoreInstructions)
}

// idle reports whether the settings ask for no search.
func (c *masker) idle() bool {
	return c.settings.Mode == Off && c.settings.Instructions == IgnoreInstructions
}

// findInstructions returns what in a text of the memory at p addresses the model, except
// what is allowed.
func (c *masker) findInstructions(p Path, text string) []Finding {
	if c.settings.Instructions == IgnoreInstructions || c.instructions == nil || matchAny(c.settings.AllowPaths, p) {
		return nil
	}
	found := c.instructions.DetectInstructions(text)
	return slices.DeleteFunc(found, func(f Finding) bool { return c.allows(text[f.Start:f.End]) })
}

// findRefused returns the findings in a text that a path cannot have, and that a move
// cannot bring to another path.
func (c *masker) findRefused(p Path, text string) []Finding {
	found := c.find(p, text)
	if len(found) == 0 && c.settings.Instructions == RejectInstructions {
		return c.findInstructions(p, text)
	}
	return found
}

// find returns the findings in a text of the memory at p, except those that are allowed.
func (c *masker) find(p Path, text string) []Finding {
	if c.settings.Mode == Off { // there may be no detector
		return nil
	}
	return c.findBy(c.detector.Detect, p, text)
}

// findSplit is find, with secrets that are split over lines.
func (c *masker) findSplit(p Path, text string) []Finding {
	if d, ok := c.detector.(SplitDetector); ok {
		return c.findBy(d.DetectSplit, p, text)
	}
	return c.find(p, text)
}

// findBy returns what a method of the detector finds in a text of the memory at p, except what
// is allowed.
func (c *masker) findBy(detect func(text string, personal bool) []Finding, p Path, text string) []Finding {
	if c.settings.Mode == Off || matchAny(c.settings.AllowPaths, p) {
		return nil
	}
	found := detect(text, c.settings.Personal)
	return slices.DeleteFunc(found, func(f Finding) bool { return c.allows(text[f.Start:f.End]) })
}

func (c *masker) allows(text string) bool {
	return slices.Contains(c.settings.Allow, text) ||
		slices.ContainsFunc(c.patterns, func(match func(string) bool) bool { return match(text) })
}

// replaceFindings returns text with the findings replaced by placeholders.
func replaceFindings(text string, found []Finding) string {
	var b strings.Builder
	end := 0
	for _, f := range found {
		b.WriteString(text[end:f.Start])
		b.WriteString(placeholder.Of(f.Kind))
		end = f.End
	}
	b.WriteString(text[end:])
	return b.String()
}

// A maskedText is a text after masking.
type maskedText struct {
	text      string
	found     []Finding // the findings that were replaced, with positions in the original text
	locations []FindingLocation
	marked    []FindingLocation // instructions in the masked text
}

// mask replaces the findings in a text. In the mode Reject, it returns a *SensitiveError
// if there are any, and in the mode RejectInstructions if the text then has instructions.
func (c *masker) mask(p Path, text string) (maskedText, error) {
	r, err := c.maskSecrets(p, text)
	if err != nil {
		return r, err
	}
	r.marked = locate(p, r.text, c.findInstructions(p, r.text))
	if len(r.marked) > 0 && c.settings.Instructions == RejectInstructions {
		return maskedText{}, &SensitiveError{Found: r.marked}
	}
	return r, nil
}

func (c *masker) maskSecrets(p Path, text string) (maskedText, error) {
	found := c.find(p, text)
	if len(found) == 0 {
		return maskedText{text: text}, nil
	}
	if c.settings.Mode == Reject {
		return maskedText{}, &SensitiveError{Found: locate(p, text, found)}
	}
	r := maskedText{text: replaceFindings(text, found), found: found}
	// Lines of the masked text, since a key of many lines has become one.
	line, end := 1, 0
	for _, f := range found {
		line += strings.Count(text[end:f.Start], "\n")
		r.locations = append(r.locations, FindingLocation{Path: p, Kind: f.Kind, Line: line})
		end = f.End
	}
	return r, nil
}

// offsetAfter returns the offset in the masked text of an offset in the original text.
func (r *maskedText) offsetAfter(at int) int {
	shift := 0
	for _, f := range r.found {
		switch {
		case f.End <= at:
			shift += len(placeholder.Of(f.Kind)) - (f.End - f.Start)
		case f.Start < at:
			return f.Start + shift
		}
	}
	return at + shift
}

// locate returns the locations of findings in a text.
func locate(p Path, text string, found []Finding) []FindingLocation {
	var list []FindingLocation
	line, end := 1, 0
	for _, f := range found {
		line += strings.Count(text[end:f.Start], "\n")
		list = append(list, FindingLocation{Path: p, Kind: f.Kind, Line: line})
		end = f.Start
	}
	return list
}

// checkPath refuses a path with findings, in every mode except Off: a path cannot be
// masked.
func (c *masker) checkPath(p Path) error {
	found := c.findRefused(p, string(p))
	if len(found) == 0 {
		return nil
	}
	e := &SensitiveError{}
	for _, f := range found {
		e.Found = append(e.Found, FindingLocation{Kind: f.Kind})
	}
	return e
}

// maskChanges returns the changes with their contents masked, and adds to r what was
// masked.
func (s *Store) maskChanges(ctx context.Context, changes []Change, r *Receipt) ([]Change, error) {
	masked := slices.Clone(changes)
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		switch c := c.(type) {
		case Put:
			k, err := s.currentSettings(ctx)
			if err != nil {
				return nil, err
			}
			if i == 0 {
				if err := k.checkPuts(changes); err != nil {
					return nil, err
				}
			}
			if err := s.checkSize(ctx, k, c.Path, c.Path, c.Content); err != nil {
				return nil, err
			}
			if c.Content, err = k.maskText(c.Path, c.Content, r); err != nil {
				return nil, err
			}
			c.MaskedBy = k.masker.revision
			masked[i] = c
		case Move:
			k, err := s.currentSettings(ctx)
			if err != nil {
				return nil, err
			}
			if c.Content == nil {
				err = s.checkMove(ctx, k, c)
			} else { // a move with new contents is a write at the new path
				if err := s.checkSize(ctx, k, c.From, c.To, *c.Content); err != nil {
					return nil, err
				}
				var text string
				text, err = k.maskText(c.To, *c.Content, r)
				c.Content = &text
			}
			if err != nil {
				return nil, err
			}
			c.MaskedBy = k.masker.revision
			masked[i] = c
		}
	}
	return masked, nil
}

// alwaysMasked is the size in bytes up to which contents are masked before their size is
// compared with the limit. Masking takes up to a microsecond a byte, and cannot be
// interrupted.
const alwaysMasked = 256 << 10

// checkSize refuses contents that are far larger than the store's limit before they are
// masked, unless the memory at the path from, which gets them and the path to, is as large.
func (s *Store) checkSize(ctx context.Context, k *cachedSettings, from, to Path, content string) error {
	size := int64(len(content))
	if size <= alwaysMasked || size <= k.limits.MemoryBytes || k.masker.idle() {
		return nil
	}
	m, err := s.Stat(ctx, ByPath(from))
	switch {
	case err != nil && !errors.Is(err, ErrNotExist):
		return err
	case err != nil || size > m.Size: // else the limit was lowered
		return &Error{Op: "put", Path: to, Err: &LimitError{Limit: LimitMemoryBytes, Max: k.limits.MemoryBytes, Want: size}}
	}
	return nil
}

// checkPuts refuses changes that only write, if what they write is more than the store
// can hold in any case, before it is masked.
func (k *cachedSettings) checkPuts(changes []Change) error {
	sizes := make(map[Path]int64, len(changes))
	var sum int
	for _, c := range changes {
		put, ok := c.(Put)
		if !ok { // it can make place for the others
			return nil
		}
		sizes[put.Path] = int64(len(put.Content))
		sum += len(put.Content)
	}
	if sum <= alwaysMasked { // the backend may have another reason to refuse them
		return nil
	}
	return k.checkSum("put", maps.Values(sizes))
}

// checkVersions is checkPuts for the memories that an import leaves.
func (k *cachedSettings) checkVersions(versions []Version) error {
	sizes := make(map[MemoryID]int64, len(versions))
	for i := range versions {
		v := &versions[i]
		if v.Operation == Deleted || v.Redacted() {
			delete(sizes, v.Memory)
		} else {
			sizes[v.Memory] = int64(len(v.Content))
		}
	}
	return k.checkSum("import", maps.Values(sizes))
}

// checkSum refuses memories with these sizes if the store could not even hold them if it
// were empty. The sum may be exceeded a little, since masking can make texts shorter.
func (k *cachedSettings) checkSum(op string, sizes iter.Seq[int64]) error {
	var u Usage
	for size := range sizes {
		u.Memories++
		u.Bytes += size
	}
	l := k.limits
	switch {
	case u.Memories > l.Memories:
		return &Error{Op: op, Err: &LimitError{Limit: LimitMemories, Max: l.Memories, Want: u.Memories}}
	case u.Bytes-alwaysMasked > l.Bytes:
		return &Error{Op: op, Err: &LimitError{Limit: LimitBytes, Max: l.Bytes, Want: u.Bytes}}
	}
	return nil
}

// maskText returns what may be written to a path, and adds to r what was masked.
func (k *cachedSettings) maskText(p Path, content string, r *Receipt) (string, error) {
	if err := k.masker.checkPath(p); err != nil {
		return "", &Error{Op: "put", Err: err}
	}
	g, err := k.masker.maskPut(p, content)
	if err != nil {
		return "", err
	}
	r.texts = append(r.texts, g)
	r.Masked = append(r.Masked, g.locations...)
	r.Marked = append(r.Marked, g.marked...)
	return g.text, nil
}

// maskPut is mask for contents that are written to p, with the path in the error.
func (c *masker) maskPut(p Path, text string) (maskedText, error) {
	g, err := c.mask(p, text)
	if err != nil {
		return maskedText{}, &Error{Op: "put", Path: p, Err: err}
	}
	return g, nil
}

// checkMove refuses a move of contents that are allowed at the old path and not at the
// new one: a move does not change contents, so it cannot mask them.
func (s *Store) checkMove(ctx context.Context, k *cachedSettings, c Move) error {
	if err := k.masker.checkPath(c.To); err != nil {
		return &Error{Op: "move", Err: err}
	}
	if len(k.masker.settings.AllowPaths) == 0 || k.masker.idle() {
		return nil
	}
	check := func(m Memory) error {
		to := m.Path.Moved(c.From, c.To)
		if found := k.masker.findRefused(to, m.Content); len(found) > 0 && k.masker.findRefused(m.Path, m.Content) == nil {
			return &Error{Op: "move", Path: to, Err: &SensitiveError{Found: locate(to, m.Content, found)}}
		}
		return nil
	}
	m, err := s.Peek(ctx, ByPath(c.From))
	switch {
	case err == nil:
		return check(m)
	case !errors.Is(err, ErrIsDir):
		return nil // the backend returns the error
	}
	for e, err := range s.List(ctx, ListOptions{Dir: c.From, Contents: true}) {
		if err != nil {
			return err
		}
		if err := check(e.Memory); err != nil {
			return err
		}
	}
	return nil
}

// checkVersion refuses a version that cannot be imported whatever masking does to its
// contents.
func (s *Store) checkVersion(ctx context.Context, k *cachedSettings, v *Version) error {
	if err := k.masker.checkPath(v.Path); err != nil {
		return &Error{Op: "put", Err: err}
	}
	size := int64(len(v.Content))
	if size <= k.limits.MemoryBytes {
		return nil
	}
	m, err := s.Peek(ctx, ByPath(v.Path))
	switch {
	case err != nil && !errors.Is(err, ErrNotExist):
		return err
	case err != nil || size > m.Size: // otherwise the memory exceeds a limit that was lowered since
		return &Error{Op: "put", Path: v.Path, Err: &LimitError{Limit: LimitMemoryBytes, Max: k.limits.MemoryBytes, Want: size}}
	}
	return nil
}

// An Exposure is a version with secrets, personal data or instructions.
type Exposure struct {
	Version Version // without contents
	Current bool    // whether it is the newest version of a living memory
	Found   []FindingLocation
}

// InPath reports whether the path itself looks sensitive.
func (x *Exposure) InPath() bool {
	return slices.ContainsFunc(x.Found, func(f FindingLocation) bool { return f.Line == 0 && !f.IsInstruction() })
}

// HasSecrets reports whether there is more than instructions: something that [Store.Fix] removes.
func (x *Exposure) HasSecrets() bool {
	return slices.ContainsFunc(x.Found, func(f FindingLocation) bool { return !f.IsInstruction() })
}

// ScanOptions are the options of [Store.Scan]; nil means all defaults.
type ScanOptions struct {
	Personal     bool // look for personal data even if the store's settings do not
	Instructions bool // look for instructions even if the store's settings do not

	Progress func(done int) // called regularly with the number of versions scanned
}

// Scan looks for secrets in all memories of the store and their history, and yields the
// versions that have some, newest first. If the detector is a [SplitDetector], it finds more
// than what a write masks: secrets that are split over lines, or over two versions, of which the
// older is yielded. Exceptions of the store's settings are not
// reported. The mode of the settings does not matter.
//
// Errors: ErrNoDetector.
func (s *Store) Scan(ctx context.Context, opts *ScanOptions) iter.Seq2[Exposure, error] {
	var o ScanOptions
	if opts != nil {
		o = *opts
	}
	return func(yield func(Exposure, error) bool) {
		info, made, err := s.InfoIfCreated(ctx)
		switch {
		case err != nil:
			yield(Exposure{}, err)
			return
		case !made:
			return
		}
		rules := info.Settings.Sensitive
		if o.Instructions {
			rules.Instructions = MarkInstructions
		}
		m, err := s.scanMasker(rules, o.Personal)
		if err != nil {
			yield(Exposure{}, err)
			return
		}
		seen := map[MemoryID]bool{}
		edits := editScanner{masker: m}
		done := 0
		for v, err := range s.Versions(ctx, VersionListOptions{Contents: true}) {
			if err != nil {
				yield(Exposure{}, err)
				return
			}
			x := Exposure{Version: v, Current: !seen[v.Memory] && v.Operation != Deleted, Found: m.findInVersion(&v, m.findSplit)}
			x.Found = append(x.Found, edits.find(&v)...)
			x.Found = append(x.Found, m.instructionsIn(&v)...)
			x.Version.Content = ""
			seen[v.Memory] = true
			if done++; o.Progress != nil && done%100 == 0 {
				o.Progress(done)
			}
			if len(x.Found) > 0 && !yield(x, nil) {
				return
			}
		}
	}
}

// A secret can be split over two edits: one version of a memory has its first part, and in the
// next the rest stands in that place, or the placeholder of what the edit made whole. The write
// cannot know the first part. A scan, which sees the history, tells it.

// An editScanner looks for such secrets in the versions of a store, the newest first.
type editScanner struct {
	masker *masker
	newer  lru.Map[MemoryID, string] // contents of the version that was seen last
	bytes  int                       // in newer
}

// maxNewer is how many bytes of contents an editScanner keeps. Where that is not enough, edits
// of memories between which many others were changed are not looked at.
const maxNewer = 16 << 20

// find returns where v has the first part of a secret whose rest is in the version after it.
func (e *editScanner) find(v *Version) (found []FindingLocation) {
	newer, ok := e.newer.Peek(v.Memory)
	if ok && newer != v.Content && v.Operation != Deleted {
		for _, r := range lines.Replaced(v.Content, newer) {
			if kind := e.masker.splitOver(v.Path, r.Old, r.New); kind != "" {
				found = append(found, FindingLocation{Path: v.Path, Kind: kind, Line: r.Line})
			}
		}
	}
	e.newer.Put(v.Memory, v.Content)
	for e.bytes += len(v.Content) - len(newer); e.bytes > maxNewer; {
		for _, text := range e.newer.Oldest() {
			e.bytes -= len(text)
			break
		}
		e.newer.RemoveOldest()
	}
	return found
}

// wordEnds are bytes that begin or end what may be a token.
const wordEnds = " \t\r\"'`<>()=:,;"

// splitOver returns the kind of a secret that begins in a line before an edit and ends in the
// part of the line that the edit has changed, or "".
func (c *masker) splitOver(p Path, before, after string) string {
	d, ok := c.detector.(SplitDetector)
	if !ok {
		return ""
	}
	start := 0 // of what is new in after
	for start < len(before) && start < len(after) && before[start] == after[start] {
		start++
	}
	end := len(before) // of what is gone from before
	for n := len(after); end > start && n > start && before[end-1] == after[n-1]; n-- {
		end--
	}
	start = strings.LastIndexAny(after[:start], wordEnds) + 1
	if i := strings.IndexAny(before[end:], wordEnds); i >= 0 {
		end += i
	} else {
		end = len(before)
	}
	if end <= start {
		return ""
	}
	joined := before[:end] + "\n" + after[start:]
	for _, f := range c.findBy(d.DetectSplit, p, joined) {
		if f.Start >= end || f.End < end {
			continue
		}
		alone := c.findBy(d.Detect, p, before)
		if len(alone) == 0 || alone[len(alone)-1].End <= f.Start {
			return f.Kind
		}
	}
	return ""
}

// scanMasker returns a masker by the settings, in a mode that finds secrets.
func (s *Store) scanMasker(rules Sensitive, personal bool) (*masker, error) {
	if s.detector == nil {
		return nil, &Error{Op: "scan", Err: fmt.Errorf("%w: open the store with StoreOptions.Detector", ErrNoDetector)}
	}
	rules.Mode = Mask
	rules.Personal = rules.Personal || personal
	m := newMasker(s.detector, rules)
	if !m.complete() {
		return nil, &Error{Op: "scan", Err: fmt.Errorf("%w: it is none for instructions", ErrNoDetector)}
	}
	return m, nil
}

// Inspect returns the findings in a version, which must come with its contents, by the
// store's settings: for contents that were not written through the Store, such as files
// that were edited by hand. In the mode Off there are none.
//
// Errors: ErrNoDetector.
func (s *Store) Inspect(ctx context.Context, v Version) ([]FindingLocation, error) {
	k, err := s.currentSettings(ctx)
	if err != nil {
		return nil, err
	}
	return k.masker.findInVersion(&v, k.masker.find), nil
}

// findInVersion returns the findings in the path and the contents of a version.
func (c *masker) findInVersion(v *Version, find func(Path, string) []Finding) (found []FindingLocation) {
	for _, f := range find(v.Path, string(v.Path)) {
		found = append(found, FindingLocation{Kind: f.Kind})
	}
	return append(found, locate(v.Path, v.Content, find(v.Path, v.Content))...)
}

// Instructions returns what in a version, which must come with its contents, addresses the
// model that reads it, by the store's settings: nothing if they ignore instructions. The
// settings may be ten seconds old. A Store whose detector is no [InstructionDetector] finds
// nothing.
//
// Errors: those of [Store.Info].
func (s *Store) Instructions(ctx context.Context, v Version) ([]FindingLocation, error) {
	if _, ok := s.detector.(InstructionDetector); !ok {
		return nil, nil
	}
	k, err := s.readSettings(ctx)
	if err != nil {
		return nil, err
	}
	return k.masker.instructionsIn(&v), nil
}

// instructionsIn returns the instructions in the path and the contents of a version.
func (c *masker) instructionsIn(v *Version) (found []FindingLocation) {
	for _, f := range c.findInstructions(v.Path, string(v.Path)) {
		found = append(found, FindingLocation{Kind: f.Kind})
	}
	return append(found, locate(v.Path, v.Content, c.findInstructions(v.Path, v.Content))...)
}

// Fix removes the findings of [Store.Scan] in a version. If it is the newest version of a
// memory, a masked version is written first. Then the version is redacted. A version that
// does not exist any more is no error. personal must be as in the scan. Instructions stay,
// since a person decides what they are: see [Exposure.HasSecrets].
//
// Errors: ErrHead if the finding is in the path of a present memory: move the memory,
// then call Fix again; ErrConflict if the memory was changed
// since the scan; ErrProtected, ErrArchived.
func (s *Store) Fix(ctx context.Context, by Actor, x Exposure, personal bool) error {
	if !x.HasSecrets() {
		return &Error{Op: "fix", Err: &SensitiveError{Found: x.Found}}
	}
	if x.Current {
		if err := s.fixPresent(ctx, by, x, personal); err != nil {
			return err
		}
	}
	_, err := s.Redact(ctx, x.Version.ID, by)
	switch {
	case x.Current && x.InPath() && (err == nil || errors.Is(err, ErrHead)):
		return &Error{Op: "fix", Err: fmt.Errorf("%w: its path looks sensitive, and only a move can change that", ErrHead)}
	case errors.Is(err, ErrNotExist): // it was pruned
		return nil
	}
	return err
}

// fixPresent writes a masked version of the memory of x.
func (s *Store) fixPresent(ctx context.Context, by Actor, x Exposure, personal bool) error {
	info, err := s.Info(ctx)
	if err != nil {
		return err
	}
	m, err := s.scanMasker(info.Settings.Sensitive, personal)
	if err != nil {
		return err
	}
	v, err := s.Version(ctx, x.Version.ID)
	switch {
	case errors.Is(err, ErrNotExist): // it was superseded and pruned
		return &Error{Op: "fix", Err: ErrConflict}
	case err != nil:
		return err
	}
	put := Put{Path: v.Path, Content: replaceFindings(v.Content, m.findSplit(v.Path, v.Content)), If: IfVersion(v.ID)}
	start := time.Now()
	done, err := s.backend.Apply(ctx, info.ID, by, []Change{put})
	s.observed(ctx, Observation{Op: "apply", Store: info.ID, Start: start, Err: err, Receipt: Receipt{Applied: done}})
	if err == nil && done.Settings.Retention.None() {
		s.pruneReplaced(ctx, info.ID, done.Versions)
	}
	return err
}

// logFailure logs why a command failed that the agent asked for rightly.
func (t *Tool) logFailure(ctx context.Context, command string, err error) {
	if t.opts.Logger != nil {
		t.opts.Logger.ErrorContext(ctx, "memory tool: "+command+" failed", "error", t.sanitized(err))
	}
}

// sanitized returns the text of an error without the paths that it names, which are
// what the agent chose to call its memories, nor anything that looks sensitive to a
// detector.
func (t *Tool) sanitized(err error) string {
	text := err.Error()
	for p := range errorPaths(err) {
		text = strings.ReplaceAll(text, p, "…")
	}
	text = t.top.sanitized(text)
	for i := range t.mounts {
		text = t.mounts[i].sanitized(text)
	}
	return text
}

// sanitized returns a text without what looks sensitive to the store's detector,
// whatever the store's settings allow.
func (m *mount) sanitized(text string) string {
	if m.store == nil || m.store.detector == nil {
		return text
	}
	known := m.store.settings.Load()
	personal := known == nil || known.masker.settings.Personal
	return replaceFindings(text, m.store.detector.Detect(text, personal))
}

// errorPaths yields the paths that an error, and those it wraps, name.
func errorPaths(err error) iter.Seq[string] {
	return func(yield func(string) bool) {
		for err != nil {
			switch e := err.(type) {
			case *Error:
				if len(e.Path) > 1 && !yield(string(e.Path)) {
					return
				}
			case *PathError:
				if len(e.Path) > 1 && !yield(e.Path) {
					return
				}
			}
			err = errors.Unwrap(err)
		}
	}
}

// Masked returns what Apply would write for contents at p: the text after masking, and
// what was replaced in it. Nothing is written. It compares texts from outside with those
// in the store, and it is the dry run of a write as far as secrets are concerned.
//
// Errors: ErrSensitive if the store's settings refuse secrets, or if p looks sensitive;
// ErrNoDetector.
func (s *Store) Masked(ctx context.Context, p Path, content string) (string, []FindingLocation, error) {
	k, err := s.currentSettings(ctx)
	if err != nil {
		return "", nil, err
	}
	var r Receipt
	text, err := k.maskText(p, content, &r)
	return text, r.Masked, err
}
