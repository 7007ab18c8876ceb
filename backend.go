package memento

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

// A Backend keeps stores: their memories, and the history of their memories.
//
// Programs use a [Store] over a Backend. Authors of a Backend start with
// CONTRIBUTING.md; [memento/backend.Planner] has the rules that all backends share, and package
// storetest checks the promises that follow.
//
// # Promises
//
//  1. Atomic: an Apply happens wholly or not at all, a directory of 10,000
//     memories included, and no reader sees a part of it.
//  2. Linearizable: within a store, all methods behave as if each took effect at
//     one instant between its call and its return, for all goroutines, processes
//     and servers on the same data.
//  3. Durable: what a method has returned as done outlives the death of the
//     process and, as far as the medium keeps its own promises, of the machine.
//  4. A path is a memory or a directory, never both. A directory exists exactly
//     while a memory lies below it; the root always exists.
//  5. Every change that is not a no-op appends one immutable version for each
//     memory it changes, naming its actor, and the actor's key; a no-op appends
//     none. A server may note its client's key for an actor that names none.
//  6. Limits hold inside Apply, so that no race passes them.
//  7. Contents are valid UTF-8 and come back byte for byte.
//  8. Listings are in byte order of path, and complete and without duplicates
//     across pages while writes go on.
//  9. Contents that are returned have the SHA-256 and the size that come with them, and
//     a snippet is of such contents. What the medium has changed is not returned: the
//     read fails with ErrDamaged, a [DamageError] that names the memory and the
//     version. What else there is stays readable, and so does all but the contents.
//  10. Errors are those of this package, or wrap them with [Error]. A fault of the
//     storage below is wrapped so that its text names no host path, address or key.
//
// A Backend is safe for concurrent use. A method whose context ends returns the
// context's error; a write may then have happened, or not, or happen yet, but never by half.
//
// A store that is missing, or was deleted, gives ErrNoStore from every method
// that takes its ID.
//
// Optional features are interfaces of their own: [Searcher], [ReadMarker], [CachedReader], [memento/backend.BackupWriter] and
// [memento/backend.WorkspaceLister], and for servers [memento/backend/apikey.Keeper], [memento/backend.Leaser], [memento/backend.MetricSource] and [memento/backend.ReadyChecker].
type Backend interface {
	Catalogue
	Memories
	History

	// Close finishes what was accepted and releases everything. Methods
	// called afterwards return ErrClosed. Closing twice does nothing.
	Close() error
}

// A Catalogue keeps the descriptions of stores, each in its workspace. A store
// of another workspace does not exist: ErrNoStore.
type Catalogue interface {
	// CreateStore makes an empty store.
	//
	// Errors: ErrInvalid (a field of spec breaks its rule), ErrExist (the
	// name is taken and spec.UniqueName set, or a store of whichever workspace
	// has spec.ID).
	CreateStore(context.Context, Workspace, StoreSpec) (StoreInfo, error)

	// GetStore describes a store, with its present usage.
	GetStore(context.Context, Workspace, StoreID) (StoreInfo, error)

	// UpdateStore changes a store's description and returns the new one. An
	// update that changes nothing leaves UpdatedAt alone.
	//
	// Errors: ErrInvalid, ErrConflict, ErrArchived (the store is archived, and
	// the update does more than archiving it again).
	UpdateStore(context.Context, Workspace, StoreID, StoreUpdate) (StoreInfo, error)

	// DeleteStore removes a store with its memories and its history, for good.
	DeleteStore(context.Context, Workspace, StoreID) error

	// ListStores yields the workspace's stores, newest first.
	ListStores(context.Context, Workspace, StoreListOptions) iter.Seq2[StoreInfo, error]
}

// Memories are the memories of stores as they are now.
type Memories interface {
	// Get returns a memory with its contents. A path compares exactly.
	//
	// Errors: ErrNotExist; ErrIsDir if ref is the path of a directory.
	Get(ctx context.Context, store StoreID, ref Ref) (Memory, error)

	// List yields the memories below opts.Dir as of one instant, in byte order
	// of path. Below a directory that does not exist there is nothing.
	//
	// The caller may use the backend while it iterates.
	List(ctx context.Context, store StoreID, opts ListOptions) iter.Seq2[Entry, error]

	// Apply makes the changes, in their order, as one. It is the only way to
	// write memories.
	//
	// A backend whose medium others can change reads their changes first.
	//
	// Errors: see Change; LimitError; ErrArchived for anything but Remove in an
	// archived store; ErrProtected for what the store's settings protect;
	// ErrNoSpace, ErrReadOnly; ErrForeign if the backend shares its medium with
	// others, and one of them has put something else in the way. After any
	// error, nothing changed.
	Apply(ctx context.Context, store StoreID, by Actor, changes []Change) (Applied, error)

	// Import appends versions as they are, with their IDs, times and actors,
	// oldest first, and brings the memories to the state they describe, as one.
	// It is how stores are copied. Seq is assigned by the backend. An unredacted Created
	// or Modified version carries its contents.
	//
	// Errors: ErrExist (the store has a version of that ID), ErrInvalid (a
	// version without ID, memory or valid path, or whose hash is not that of
	// its contents), LimitError, ErrArchived, ErrProtected, and the conflicts
	// of Apply.
	Import(ctx context.Context, store StoreID, versions []Version) error
}

// A History keeps the versions of stores.
type History interface {
	// GetVersion returns a version with its contents. Errors: ErrNotExist.
	GetVersion(ctx context.Context, store StoreID, id VersionID) (Version, error)

	// ListVersions yields versions as of one instant, newest first unless asked otherwise.
	//
	// The caller may use the backend while it iterates.
	ListVersions(ctx context.Context, store StoreID, opts VersionListOptions) iter.Seq2[Version, error]

	// Redact removes a version's path and contents for good, from wherever the
	// backend keeps them, and returns what is left. Repeating it changes nothing.
	// The version of a deletion can be redacted, and so can versions of an
	// archived store.
	//
	// Errors: ErrNotExist, ErrHead (the newest version of a living memory).
	Redact(ctx context.Context, store StoreID, id VersionID, by Actor) (Version, error)

	// Prune removes versions for good, contents and all, and gives their space
	// back. A version ceases to be its memory's present when the next one is
	// made; a deletion does so at once. Those that ceased before opts.Before go,
	// unless they are among the opts.Keep newest of a living memory. The newest
	// version of a living memory always stays.
	//
	// It may run beside writers, and need not be atomic: what a cancelled Prune
	// has removed stays removed, and every memory stays explained by its newest
	// version.
	Prune(ctx context.Context, store StoreID, opts PruneOptions) (Pruned, error)
}

// A Searcher is a Backend that can search memories.
type Searcher interface {
	// Search returns the memories that match, best first. It sees every write that
	// returned before it was called.
	//
	// A query is a question, or words: any of them may match, in the contents or the
	// path, whatever the case and the diacritics, in any form with the same stem. "Words
	// in quotes" must stand together, and +word, -word, dir:, since:, by: and match:all
	// restrict what is found; docs/search.md describes them.
	//
	// The order is that of the score, of equal ones the newest version first, and the
	// same in every backend. A larger limit adds matches after the same ones. A memory
	// whose contents are damaged is found by its words too, but has no passage.
	//
	// With opts.All each word, or phrase in double quotes, must begin a word of the
	// contents or the path, and every such memory is found. Every character of scripts
	// without spaces (Chinese, Japanese, …) is then a word.
	//
	// A query without a word matches nothing. No more than the first 32 words or
	// phrases count, nor more than 64 words of a phrase.
	Search(ctx context.Context, store StoreID, opts SearchOptions) ([]Match, error)
}

// A ReadMarker is a Backend that remembers when memories were last read.
type ReadMarker interface {
	// MarkRead notes that a memory was read now. It is cheap and does not wait
	// for the medium: times are coarse, an hour at the most, and the last few
	// may be lost with the process.
	MarkRead(store StoreID, id MemoryID)

	// SyncReads writes what MarkRead has noted, in this process, and not
	// written yet.
	SyncReads(context.Context) error
}

// A CachedReader is a Backend that can return a memory from its cache without asking the
// medium for changes, as Get does. That is enough for an edit, whose conditional write is
// refused if the memory has changed.
type CachedReader interface {
	// GetCached returns a memory with its contents, as an earlier Get returned it, if it
	// is in the cache and probably up to date.
	GetCached(store StoreID, ref Ref) (m Memory, known bool)
}

// A Ref names one memory, by its path or by its ID. See [ByPath] and [ByID].
type Ref struct {
	Path Path
	ID   MemoryID // used if Path is ""
}

// ByPath refers to the memory at p.
func ByPath(p Path) Ref { return Ref{Path: p} }

// ByID refers to the memory with the given ID, wherever it is.
func ByID(id MemoryID) Ref { return Ref{ID: id} }

// A Change is a [Put], a [Remove] or a [Move], or one of these that is [memento/backend.Sealed].
type Change interface{ isChange() }

// Put writes a memory whole, making it if it does not exist. Writing what is
// already there is a no-op.
//
// Errors: ErrInvalidPath; ErrInvalid if Content is not valid UTF-8; ErrConflict,
// or ErrExist for IfAbsent, if the condition does not hold; ErrIsDir if Path is
// a directory; ErrNotDir if Path leads through a memory, which Error.Path names;
// ErrSettingsChanged for MaskedBy.
type Put struct {
	Path    Path
	Content string
	If      Condition

	// MaskedBy is the revision of the settings that Content was masked by, as
	// StoreInfo.SettingsRevision returns it; [Store] sets it. If the store has other
	// settings by now, the change is refused with ErrSettingsChanged. "" is for
	// contents that were not masked, or need not be: they are written in any case.
	MaskedBy SettingsRevision
}

// Remove deletes a memory, or a directory with everything below it. The
// condition is for memories only.
//
// Errors: ErrInvalidPath for Root; ErrNotExist; ErrConflict; ErrIsDir if a
// condition is set and Path is a directory.
type Remove struct {
	Path Path
	If   Condition
}

// Move renames a memory, or a directory with everything below it. IDs stay. The
// condition, and new contents, are for memories only.
//
// Errors: ErrInvalidPath for Root, for a directory into itself, and if a path
// would break the path rules; ErrInvalid if Content is not valid UTF-8;
// ErrNotExist; ErrExist if To, which Error.Path names, exists as either kind;
// ErrNotDir if To leads through a memory; ErrConflict; ErrIsDir if From is a
// directory, and a condition or Content is set; ErrSettingsChanged for MaskedBy.
type Move struct {
	From, To Path
	Content  *string // what the memory holds from then on, in the same version; nil for what it holds
	If       Condition
	MaskedBy SettingsRevision // as in Put; To was checked by these settings, too
}

// Check returns the error of a change that no store accepts: ErrInvalidPath, or
// ErrInvalid for contents that are not UTF-8.
func (c Put) Check() error {
	if _, err := ParsePath(string(c.Path)); err != nil {
		return err
	}
	if !utf8.ValidString(c.Content) {
		return &Error{Op: "put", Path: c.Path, Err: errNotUTF8}
	}
	return nil
}

// Check returns ErrInvalidPath for a change that no store accepts.
func (c Remove) Check() error {
	_, err := ParsePath(string(c.Path))
	return err
}

// Check returns the error of a change that no store accepts, as [Put.Check] does.
func (c Move) Check() error {
	for _, path := range []Path{c.From, c.To} {
		if _, err := ParsePath(string(path)); err != nil {
			return err
		}
	}
	if c.Content != nil && !utf8.ValidString(*c.Content) {
		return &Error{Op: "move", Path: c.From, Err: errNotUTF8}
	}
	return nil
}

// IntoItself returns the error of a Move of a directory to a path below it.
func (c Move) IntoItself() error {
	return &PathError{Path: string(c.To), Reason: reasonIntoItself}
}

// Forced returns changes that write the contents even if the memory has their hash
// already, because the stored contents are damaged. A single Put would be a no-op, so
// the first of two writes other contents.
func (c Put) Forced() []Change {
	between := Put{Path: c.Path, If: c.If}
	if c.Content == "" {
		between.Content = " "
	}
	return []Change{between, Put{Path: c.Path, Content: c.Content}}
}

func (Put) isChange()    {}
func (Remove) isChange() {}
func (Move) isChange()   {}

// A Condition must hold for a change to happen. It is checked atomically with
// the change. The zero Condition always holds.
type Condition struct {
	kind  conditionKind
	value string
}

type conditionKind int

const (
	always conditionKind = iota
	ifAbsent
	ifSHA256
	ifVersion
)

// Check returns ErrExist or ErrConflict if the condition does not hold for m, which is
// the memory at the path, or nil if there is none. digest, if it is not nil, returns the
// value that stands for the hash of a text in memories with a Digest.
func (c Condition) Check(m *Memory, digest func(sha256 string) string) error {
	switch {
	case c.kind == always:
		return nil
	case c.kind == ifAbsent && m == nil:
		return nil
	case c.kind == ifAbsent:
		return ErrExist
	case m == nil:
		return ErrConflict
	}
	holds := c.value == string(m.Version)
	if c.kind == ifSHA256 {
		switch {
		case m.Digest == "":
			holds = c.value == m.SHA256
		case digest != nil:
			holds = digest(c.value) == m.Digest
		default:
			holds = c.value == m.Digest
		}
	}
	if !holds {
		return ErrConflict
	}
	return nil
}

// IfAbsent holds if there is no memory at the path.
func IfAbsent() Condition { return Condition{kind: ifAbsent} }

// IfSHA256 holds if there is a memory whose contents have this hash, in the form of [Memory].SHA256.
func IfSHA256(hash string) Condition { return Condition{ifSHA256, hash} }

// IfVersion holds if there is a memory and id is its newest version.
func IfVersion(id VersionID) Condition { return Condition{ifVersion, string(id)} }

// ListOptions choose what [Memories.List] yields.
type ListOptions struct {
	Dir Path // the directory to list; "" is Root

	// Depth rolls up what lies deeper: 1 yields the memories in Dir itself and
	// one directory entry for each directory in it, 2 also looks one level into
	// those, and so on. Directories above that level are not entries: they are
	// seen from the paths of what is in them. 0 yields all memories, and no
	// directories.
	Depth int

	// After continues a listing after this entry's path; a directory's path
	// must end in "/" here, as Entry.Cursor writes it.
	After string

	Limit    int  // the most entries to yield; 0 for all
	Contents bool // whether memories carry their contents

	// Brief allows the backend to leave out of each memory all but its path,
	// size and UpdatedAt, for listings that show no more. Contents overrules it.
	Brief bool
}

// RollUp returns the directory whose entry stands for the memory at p, a path below
// Dir, if that lies too deep to have an entry of its own.
func (o *ListOptions) RollUp(p Path) (dir Path, deeper bool) {
	if o.Depth <= 0 {
		return "", false
	}
	end := len(cmp.Or(o.Dir, Root).Prefix())
	for range o.Depth {
		i := strings.IndexByte(string(p[end:]), '/')
		if i < 0 {
			return "", false
		}
		end += i + 1
	}
	return p[:end-1], true
}

// Cursor returns what to set as [ListOptions].After to continue after e.
func (e *Entry) Cursor() string {
	if e.Dir {
		return e.Path.Prefix()
	}
	return string(e.Path)
}

// StoreListOptions choose what [Catalogue.ListStores] yields.
type StoreListOptions struct {
	Name            string    // only stores of exactly this name, if set
	IncludeArchived bool      // archived ones too
	CreatedFrom     time.Time // only those made at this time or later, if set
	CreatedTo       time.Time // only those made at this time or earlier, if set
	After           StoreID   // continues after this store
	Limit           int       // the most to yield; 0 for all
}

// VersionListOptions choose what [History.ListVersions] yields. All that are set must hold.
type VersionListOptions struct {
	Memory      MemoryID
	Path        Path // versions that left their memory at this path, or below it
	Operation   Operation
	CreatedBy   Actor     // an empty Kind, ID or Key matches any; Key also matches versions by the key itself, see [Actor.Used]
	CreatedFrom time.Time // at this time or later
	CreatedTo   time.Time // at this time or earlier

	OldestFirst bool
	After       int64 // continues after the version with this Seq, in the order asked for
	Limit       int   // the most to yield; 0 for all
	Contents    bool  // whether versions carry their contents
}

// PruneOptions choose what [History.Prune] removes.
type PruneOptions struct {
	Before time.Time // versions that were superseded before this time are removed
	Keep   int       // the newest versions of a living memory, so many, are kept
	Memory MemoryID  // only versions of this memory, if set
	DryRun bool      // only count the versions

	// CorrectedTimes are the times of versions whose own times cannot be right, in order
	// of Seq. Package maintenance determines them.
	CorrectedTimes []CorrectedTime
}

// CorrectedTime is the time that counts for the versions with Seq from From to To, both
// included, that were made in the store, because their own times cannot be right.
type CorrectedTime struct {
	From, To int64
	At       time.Time
}

// EndOfTime is later than any version: as PruneOptions.Before, it keeps no version for
// its age.
var EndOfTime = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// Pruned says what a Prune removed, or would remove.
type Pruned struct {
	Versions int64
	Bytes    int64 // of their contents, whether or not other versions have the same
}

// SearchOptions choose what [Searcher.Search] returns.
type SearchOptions struct {
	Query string
	Dir   Path // only memories below this directory; "" is Root
	Limit int  // the most matches; 0 means 20
	All   bool // each word must match; see Searcher
}

// A Match is one memory that a search found.
type Match struct {
	Memory Memory // without contents

	// Score is larger the better the memory matches. It compares the matches of one search.
	Score float64

	// Passage is the part of the contents that matches best; zero if only the path matches.
	Passage Passage

	// Words are those words of the contents that match, as they are written there, each
	// once; at most 32.
	Words []string

	// Line is the number, from 1, of the line of the passage that matches best, and Snippet
	// that line, shortened to at most 200 characters around the match. Line is
	// 0, and Snippet empty, if only the path matches.
	Line    int
	Snippet string
}

// A Passage is a part of a memory's contents.
type Passage struct {
	First, Last int    // numbers of its lines, from 1
	Text        string // at most 400 bytes, cut at the ends, with an ellipsis, if a line is longer
}

// conditionJSON is a [Condition] as servers and their clients exchange it, in the
// terms of the Memory Stores API's preconditions.
type conditionJSON struct {
	Type    string `json:"type"`
	SHA256  string `json:"content_sha256,omitempty"`
	Version string `json:"memory_version_id,omitempty"`
}

// MarshalJSON writes an object with a type: "always", "absent", "content_sha256" or
// "memory_version".
func (c Condition) MarshalJSON() ([]byte, error) {
	switch c.kind {
	case ifAbsent:
		return json.Marshal(conditionJSON{Type: "absent"})
	case ifSHA256:
		return json.Marshal(conditionJSON{Type: "content_sha256", SHA256: c.value})
	case ifVersion:
		return json.Marshal(conditionJSON{Type: "memory_version", Version: c.value})
	}
	return json.Marshal(conditionJSON{Type: "always"})
}

// UnmarshalJSON is the reverse of MarshalJSON. Errors: ErrInvalid.
func (c *Condition) UnmarshalJSON(text []byte) error {
	var j conditionJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return fmt.Errorf("%w: a condition is an object with a type", ErrInvalid)
	}
	switch {
	case j.Type == "always":
		*c = Condition{}
	case j.Type == "absent":
		*c = IfAbsent()
	case j.Type == "content_sha256":
		*c = IfSHA256(j.SHA256)
	case j.Type == "memory_version":
		*c = IfVersion(VersionID(j.Version))
	default:
		return fmt.Errorf(`%w: the type of a condition can be "always", "absent", "content_sha256" or "memory_version"`, ErrInvalid)
	}
	return nil
}
