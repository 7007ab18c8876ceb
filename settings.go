package memento

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Settings say what a store keeps, and how long.
type Settings struct {
	Sensitive Sensitive `json:"sensitive"`
	Expiry    Expiry    `json:"expiry"`
	Retention Retention `json:"retention"`

	// ReadOnly selects memories that nobody can create, change, move or remove; "/"
	// selects all. Their history can still be redacted.
	ReadOnly []Pattern `json:"read_only,omitempty"`
}

// DefaultSettings returns the settings of a store that is created without any:
// secrets are masked, nothing expires, and history is kept for 30 days and at
// least the last 10 versions of each memory.
func DefaultSettings() Settings {
	return Settings{
		Sensitive: Sensitive{Mode: Mask},
		Retention: Retention{Age: 30 * 24 * time.Hour, Versions: 10},
	}
}

// Sensitive says what is done about secrets and personal data in contents before they
// are written. The [Detector] decides what counts as such.
type Sensitive struct {
	Mode     SensitiveMode `json:"mode"`
	Personal bool          `json:"personal,omitempty"` // whether to look for personal data, too

	// Instructions is what is done about text that addresses the model which reads it
	// later, whatever the Mode.
	Instructions InstructionMode `json:"instructions,omitempty"`

	// Exceptions, for instructions, too.
	Allow         []string  `json:"allow,omitempty"`          // exactly these texts
	AllowPatterns []string  `json:"allow_patterns,omitempty"` // texts that match one of these regular expressions wholly; package regexp
	AllowPaths    []Pattern `json:"allow_paths,omitempty"`    // anything in these memories
}

// A SensitiveMode is what is done about sensitive information.
type SensitiveMode string

// The modes.
const (
	Mask   SensitiveMode = "mask"   // it is masked: replaced by "[REDACTED:KIND]" before the write
	Reject SensitiveMode = "reject" // the write is refused
	Off    SensitiveMode = "off"    // contents are not searched
)

// UnmarshalText reads a mode. Settings of earlier versions say "redact" for [Mask].
func (m *SensitiveMode) UnmarshalText(text []byte) error {
	*m = SensitiveMode(text)
	if *m == "redact" {
		*m = Mask
	}
	return nil
}

// An InstructionMode is what is done about text that addresses the model which reads it
// later, such as "ignore previous instructions".
type InstructionMode string

// The modes for instructions. Contents are never changed: whether such a text is an attack,
// or a note about one, is for a person to decide.
const (
	IgnoreInstructions InstructionMode = ""       // contents are not searched for it
	MarkInstructions   InstructionMode = "mark"   // it is written; who writes it, reads it, lists its versions or scans the store is told
	RejectInstructions InstructionMode = "reject" // the write is refused; what is stored already is told as by MarkInstructions
)

// UnmarshalText reads a mode; "off" is IgnoreInstructions.
func (m *InstructionMode) UnmarshalText(text []byte) error {
	*m = InstructionMode(text)
	if *m == "off" {
		*m = IgnoreInstructions
	}
	return nil
}

// String returns "off", "mark" or "reject".
func (m InstructionMode) String() string { return cmp.Or(string(m), "off") }

// Expiry says when unused memories are removed; see package maintenance.
type Expiry struct {
	// After is how long a memory is kept after it was last read or written, at least
	// an hour. Since read times are coarse, one hour is added. 0 is for ever.
	After time.Duration
	// Keep selects memories that never expire.
	Keep []Pattern
}

// Retention says how long history is kept; see package maintenance. The newest version
// of a living memory is always kept. With both fields 0 there is no history: a version
// is removed as soon as it is superseded.
type Retention struct {
	// Age is how long a version is kept after it was superseded, because the memory
	// was overwritten, moved or deleted. Default 30 days; [Forever] for ever.
	Age time.Duration
	// Versions of each living memory, the newest ones, are kept whatever their
	// age. Default 10.
	Versions int
}

// Forever is an age that no version reaches.
const Forever time.Duration = math.MaxInt64

// None reports whether no history is kept.
func (r Retention) None() bool { return r.Age == 0 && r.Versions <= 1 }

const (
	minExpiry    = time.Hour
	maxAllowed   = 100  // entries of each list
	maxAllowText = 1024 // bytes of each entry
)

// Check returns ErrInvalid for settings that no store can have.
func (s *Settings) Check() error {
	switch s.Sensitive.Mode {
	case Mask, Reject, Off:
	default:
		return fmt.Errorf("%w: the mode for sensitive information is %q; it can be mask, reject or off", ErrInvalid, s.Sensitive.Mode)
	}
	switch s.Sensitive.Instructions {
	case IgnoreInstructions, MarkInstructions, RejectInstructions:
	default:
		return fmt.Errorf("%w: the mode for instructions is %q; it can be mark, reject or off", ErrInvalid, string(s.Sensitive.Instructions))
	}
	for _, list := range [][]string{s.Sensitive.Allow, s.Sensitive.AllowPatterns} {
		if len(list) > maxAllowed {
			return fmt.Errorf("%w: a list of allowed texts has %d entries; at most %d are allowed", ErrInvalid, len(list), maxAllowed)
		}
		for _, text := range list {
			if text == "" || len(text) > maxAllowText || !utf8.ValidString(text) {
				return fmt.Errorf("%w: an allowed text is empty, longer than %d bytes or not UTF-8", ErrInvalid, maxAllowText)
			}
		}
	}
	for _, p := range s.Sensitive.AllowPatterns {
		if _, err := allowed(p); err != nil {
			// The pattern may contain a secret, so it is not repeated.
			return fmt.Errorf("%w: an allowed pattern is not a valid regular expression", ErrInvalid)
		}
	}
	switch {
	case s.Expiry.After < 0 || s.Expiry.After > 0 && s.Expiry.After < minExpiry:
		return fmt.Errorf("%w: memories expire after one hour at the earliest, not %v; 0 means never", ErrInvalid, s.Expiry.After)
	case s.Retention.Age < 0 || s.Retention.Versions < 0:
		return fmt.Errorf("%w: what is kept of the history must not be negative", ErrInvalid)
	}
	for what, patterns := range map[string][]Pattern{
		"what never expires":   s.Expiry.Keep,
		"what is read-only":    s.ReadOnly,
		"what may hold it all": s.Sensitive.AllowPaths,
	} {
		if err := checkPatterns(what, patterns); err != nil {
			return err
		}
	}
	return nil
}

// allowed compiles an allowed pattern so that it matches whole texts.
func allowed(pattern string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(pattern); err != nil { // since the pattern could close the group below
		return nil, err
	}
	return regexp.Compile(`^(?s:` + pattern + `)$`)
}

// Equal reports whether both settings say the same.
func (s *Settings) Equal(t *Settings) bool {
	return s.Sensitive.equal(&t.Sensitive) && s.Retention == t.Retention && s.Expiry.After == t.Expiry.After &&
		slices.Equal(s.Expiry.Keep, t.Expiry.Keep) && slices.Equal(s.ReadOnly, t.ReadOnly)
}

// IsReadOnly reports whether nobody can create, change, move or remove the memory at p.
func (s *Settings) IsReadOnly(p Path) bool { return matchAny(s.ReadOnly, p) }

// LooksReadOnly reports whether p looks like the path of a read-only memory, although it
// is not: "/Policies" and "/policies " if "/policies" is read-only. Agents cannot write
// there, since what they read later would look as if it were protected.
func (s *Settings) LooksReadOnly(p Path) bool {
	return !s.IsReadOnly(p) && slices.ContainsFunc(s.ReadOnly, func(g Pattern) bool { return g.looksLike(p) })
}

// Keeps reports whether the memory at p never expires.
func (e *Expiry) Keeps(p Path) bool { return matchAny(e.Keep, p) }

// A SettingsRevision identifies the [Sensitive] settings of a store: it is the same for
// equal settings, and different for others. It is not stored, and means nothing to a
// person.
type SettingsRevision string

// SettingsRevision returns the revision of the store's settings, for Put.MaskedBy and
// Move.MaskedBy.
func (s *StoreInfo) SettingsRevision() SettingsRevision { return s.Settings.Sensitive.revision() }

// revision returns a hash of the settings: of each text with its length, so that no
// two settings have the same input.
func (s *Sensitive) revision() SettingsRevision {
	b := make([]byte, 0, 64)
	add := func(text string) {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	add(string(s.Mode))
	add(strconv.FormatBool(s.Personal))
	add(string(s.Instructions))
	for _, list := range [][]string{s.Allow, s.AllowPatterns} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, text := range list {
			add(text)
		}
	}
	for _, p := range s.AllowPaths {
		add(string(p))
	}
	sum := sha256.Sum256(b)
	return SettingsRevision(hex.EncodeToString(sum[:16]))
}

func (s *Sensitive) equal(t *Sensitive) bool {
	return s.Mode == t.Mode && s.Personal == t.Personal && s.Instructions == t.Instructions && slices.Equal(s.Allow, t.Allow) &&
		slices.Equal(s.AllowPatterns, t.AllowPatterns) && slices.Equal(s.AllowPaths, t.AllowPaths)
}

// Clone returns settings that share nothing with s.
func (s Settings) Clone() Settings {
	s.Sensitive.Allow = slices.Clone(s.Sensitive.Allow)
	s.Sensitive.AllowPatterns = slices.Clone(s.Sensitive.AllowPatterns)
	s.Sensitive.AllowPaths = slices.Clone(s.Sensitive.AllowPaths)
	s.Expiry.Keep = slices.Clone(s.Expiry.Keep)
	s.ReadOnly = slices.Clone(s.ReadOnly)
	return s
}

// Durations are stored as "720h0m0s" and "forever".

type expiryJSON struct {
	After string    `json:"after"`
	Keep  []Pattern `json:"keep,omitempty"`
}

// MarshalJSON writes the durations as texts.
func (e Expiry) MarshalJSON() ([]byte, error) {
	return json.Marshal(expiryJSON{formatAge(e.After), e.Keep})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (e *Expiry) UnmarshalJSON(text []byte) (err error) {
	j := expiryJSON{formatAge(e.After), e.Keep}
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	e.Keep = j.Keep
	e.After, err = parseAge(j.After)
	return err
}

type retentionJSON struct {
	Age      string `json:"age"`
	Versions int    `json:"versions"`
}

// MarshalJSON writes the durations as texts.
func (r Retention) MarshalJSON() ([]byte, error) {
	return json.Marshal(retentionJSON{formatAge(r.Age), r.Versions})
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Retention) UnmarshalJSON(text []byte) (err error) {
	j := retentionJSON{formatAge(r.Age), r.Versions}
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	r.Versions = j.Versions
	r.Age, err = parseAge(j.Age)
	return err
}

const forever = "forever"

func formatAge(d time.Duration) string {
	if d == Forever {
		return forever
	}
	return d.String()
}

func parseAge(s string) (time.Duration, error) {
	if strings.EqualFold(s, forever) {
		return Forever, nil
	}
	return time.ParseDuration(s)
}

// cachedSettings are the settings and limits of a store as the Store saw them last.
type cachedSettings struct {
	limits    Limits
	noHistory bool // whether the store keeps no history
	masker    *masker
}

// currentSettings returns the cached settings, and loads them the first time. They may
// be stale: Planner compares them with the store's, see errSettingsChanged.
func (s *Store) currentSettings(ctx context.Context) (*cachedSettings, error) {
	k := s.settings.Load()
	if k == nil {
		var err error
		if k, err = s.loadSettings(ctx); err != nil {
			return nil, err
		}
	}
	if !k.masker.complete() {
		return nil, &Error{Op: "write", Err: fmt.Errorf(
			"%w: the store's settings require a detector of sensitive information; open the store with StoreOptions.Detector, such as sensitive.Default(), or set its mode to off", ErrNoDetector)}
	}
	return k, nil
}

// maxSettingsAge is how old cached settings can be that decide what is said about a memory
// that is only read. Writes compare theirs with the store's.
const maxSettingsAge = 10 * time.Second

// readSettings returns settings that were read at most maxSettingsAge ago.
func (s *Store) readSettings(ctx context.Context) (*cachedSettings, error) {
	k := s.settings.Load()
	if k != nil && time.Since(time.Unix(0, s.settingsRead.Load())) < maxSettingsAge {
		return k, nil
	}
	return s.loadSettings(ctx)
}

// loadSettings reads and caches the store's settings and limits, or those that the store
// will be created with.
func (s *Store) loadSettings(ctx context.Context) (*cachedSettings, error) {
	info, err := s.Info(ctx)
	if errors.Is(err, ErrNoStore) && s.spec.Name != "" {
		info, err = s.spec.NewInfo(s.workspace, time.Now())
	}
	if err != nil {
		return nil, err
	}
	return s.cacheSettings(info.Limits, info.Settings), nil
}

// cacheSettings keeps settings and limits for the next write.
func (s *Store) cacheSettings(limits Limits, settings Settings) *cachedSettings {
	s.settingsRead.Store(time.Now().UnixNano())
	next := cachedSettings{limits: limits, noHistory: settings.Retention.None()}
	k := s.settings.Load()
	if k != nil && k.masker.settings.equal(&settings.Sensitive) {
		next.masker = k.masker
	} else {
		next.masker = newMasker(s.detector, settings.Sensitive)
	}
	if k == nil || *k != next {
		k = &next
		s.settings.Store(k)
	}
	return k
}

// settingsChanged reports whether changes were refused by cached settings that are stale.
// It loads the present ones.
func (s *Store) settingsChanged(ctx context.Context, refused error) bool {
	if !errors.Is(refused, ErrSensitive) && !errors.Is(refused, ErrNoDetector) && !errors.Is(refused, ErrTooLarge) {
		return false
	}
	before := s.settings.Load()
	now, err := s.loadSettings(ctx)
	return err == nil && before != nil && (now.masker != before.masker || now.limits != before.limits)
}

// Limits are the limits of a store. A zero field means the default.
type Limits struct {
	MemoryBytes int64 // contents of one memory, in bytes; default 102,400
	Memories    int64 // memories in the store; default 10,000
	Bytes       int64 // contents of all memories, in bytes; default 104,857,600
	PathBytes   int64 // length of a path, in bytes; default and maximum MaxPathBytes
	PathDepth   int64 // segments in a path; default 512, which no path of MaxPathBytes exceeds
}

// defaultLimits are those of the Memory Stores API.
var defaultLimits = Limits{
	MemoryBytes: 100 * 1024,
	Memories:    10_000,
	Bytes:       100 * 1024 * 1024,
	PathBytes:   MaxPathBytes,
	PathDepth:   MaxPathBytes / 2,
}

// DefaultLimits returns the limits of a store that sets none: those of the
// Memory Stores API.
func DefaultLimits() Limits { return defaultLimits }

// WithDefaults returns l with its zero fields set to the defaults.
func (l Limits) WithDefaults() Limits {
	for _, f := range l.fields() {
		if *f.value == 0 {
			*f.value = f.standard
		}
	}
	return l
}

// check refuses limits that no store can have.
func (l Limits) check() error {
	for _, f := range l.fields() {
		if *f.value < 0 {
			return fmt.Errorf("%w: limit %s is %d; it must not be negative", ErrInvalid, f.name, *f.value)
		}
	}
	if l.PathBytes > MaxPathBytes {
		return fmt.Errorf("%w: limit %s is %d; it can be at most %d", ErrInvalid, LimitPathBytes, l.PathBytes, MaxPathBytes)
	}
	return nil
}

type limitField struct {
	name     Limit
	value    *int64
	standard int64
}

func (l *Limits) fields() [5]limitField {
	return [...]limitField{
		{LimitMemoryBytes, &l.MemoryBytes, defaultLimits.MemoryBytes},
		{LimitMemories, &l.Memories, defaultLimits.Memories},
		{LimitBytes, &l.Bytes, defaultLimits.Bytes},
		{LimitPathBytes, &l.PathBytes, defaultLimits.PathBytes},
		{LimitPathDepth, &l.PathDepth, defaultLimits.PathDepth},
	}
}

// A Limit names one field of [Limits].
type Limit string

// The limits.
const (
	LimitMemoryBytes Limit = "memory_bytes"
	LimitMemories    Limit = "memories"
	LimitBytes       Limit = "bytes"
	LimitPathBytes   Limit = "path_bytes"
	LimitPathDepth   Limit = "path_depth"
)

// NearLimit reports whether more than 80 % of a limit are used, in which case
// agents are warned.
func NearLimit(used, limit int64) bool { return used > limit/5*4+limit%5*4/5 }
