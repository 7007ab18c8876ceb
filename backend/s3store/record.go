package s3store

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"memento"
)

// recordFormat is the format of records and segments that this package writes, and the newest
// that it reads.
const recordFormat = 1

// A stamp is a time in whole microseconds since the year 1, so that 0 is the zero time.
type stamp int64

const unixToYear1 = 62135596800

func stampOf(t time.Time) stamp {
	if t.IsZero() {
		return 0
	}
	return stamp((t.Unix()+unixToYear1)*1e6 + int64(t.Nanosecond())/1e3)
}

func (s stamp) time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s)/1e6-unixToYear1, int64(s)%1e6*1e3).UTC()
}

// A ref says where contents are stored: with index I in record N, which is in the log or in
// a segment, or, if Blob is set, in an object of their own.
type ref struct {
	N    int64  `json:"n"`
	I    int    `json:"i,omitempty"`
	Blob string `json:"b,omitempty"`
}

// A version is a [memento.Version] as it is stored, and where its contents are.
type version struct {
	ID        memento.VersionID `json:"i"`
	Seq       int64             `json:"s"`
	Memory    memento.MemoryID  `json:"m"`
	Operation memento.Operation `json:"o"`
	Path      memento.Path      `json:"p,omitempty"`
	SHA256    string            `json:"h,omitempty"`
	Digest    string            `json:"g,omitempty"`
	Size      int64             `json:"z,omitempty"`
	By        memento.Actor     `json:"a"`
	At        stamp             `json:"t"`
	Created   stamp             `json:"c,omitempty"` // when its memory was created; 0 if the version deletes the memory
	Ref       *ref              `json:"r,omitempty"` // nil if it has no contents
	Redacted  stamp             `json:"rt,omitempty"`
	Redactor  memento.Actor     `json:"ra,omitzero"`
}

// version returns v without contents.
func (v *version) version() memento.Version {
	return memento.Version{
		ID: v.ID, Seq: v.Seq, Memory: v.Memory, Operation: v.Operation, Path: v.Path, SHA256: v.SHA256, Digest: v.Digest,
		Size: v.Size, CreatedBy: v.By, CreatedAt: v.At.time(), RedactedAt: v.Redacted.time(), RedactedBy: v.Redactor,
	}
}

// redacted returns v after a redaction.
func (v *version) redacted(r redaction) *version {
	left := *v
	left.Path, left.SHA256, left.Digest, left.Size, left.Ref = "", "", "", 0, nil
	left.Redacted, left.Redactor = r.At, r.By
	return &left
}

// A redaction erases the path and contents of a version.
type redaction struct {
	Seq int64         `json:"s"`
	At  stamp         `json:"t"`
	By  memento.Actor `json:"a"`
}

// A record is one commit. Its object in the log is a line of JSON, followed by the contents
// of the record.
type record struct {
	Format    int         `json:"format"`
	N         int64       `json:"n"`
	Commit    string      `json:"commit,omitempty"`
	Info      *infoForm   `json:"info,omitempty"` // the store's new description, if it changed
	Versions  []*version  `json:"versions,omitempty"`
	Redact    []redaction `json:"redact,omitempty"`
	Prune     []int64     `json:"prune,omitempty"` // Seqs of the versions that are removed
	Deleted   bool        `json:"deleted,omitempty"`
	Usage     usageForm   `json:"usage"`            // of the store after this record
	Sizes     []int       `json:"sizes,omitempty"`  // of the contents
	Compacted bool        `json:"folded,omitempty"` // this is a stub: the record is in a segment, see the manifest

	contents []string // nil once they are cached
}

type usageForm struct {
	Memories int64 `json:"m"`
	Bytes    int64 `json:"b"`
}

// infoForm is a store's description as it is stored, without usage.
type infoForm struct {
	ID          memento.StoreID   `json:"id"`
	Workspace   memento.Workspace `json:"workspace"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Limits      memento.Limits    `json:"limits"`
	Settings    memento.Settings  `json:"settings"`
	Envelope    []byte            `json:"envelope,omitempty"`
	CreatedAt   stamp             `json:"created"`
	UpdatedAt   stamp             `json:"updated"`
	ArchivedAt  stamp             `json:"archived,omitempty"`
}

func formOf(s memento.StoreInfo) *infoForm {
	return &infoForm{
		s.ID, s.Workspace, s.Name, s.Description, s.Metadata, s.Limits, s.Settings, []byte(s.Envelope),
		stampOf(s.CreatedAt), stampOf(s.UpdatedAt), stampOf(s.ArchivedAt),
	}
}

func (f *infoForm) info() memento.StoreInfo {
	s := memento.StoreInfo{
		ID: f.ID, Workspace: f.Workspace, Name: f.Name, Description: f.Description, Metadata: f.Metadata, Limits: f.Limits,
		Settings: f.Settings, Envelope: string(f.Envelope), CreatedAt: f.CreatedAt.time(), UpdatedAt: f.UpdatedAt.time(), ArchivedAt: f.ArchivedAt.time(),
	}
	if s.Metadata == nil {
		s.Metadata = map[string]string{}
	}
	return s
}

// encode returns the record as an object.
func (r *record) encode() ([]byte, error) {
	r.Format = recordFormat
	r.Sizes = nil
	size := 0
	for _, c := range r.contents {
		r.Sizes = append(r.Sizes, len(c))
		size += len(c)
	}
	head, err := marshalChecked(r)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, len(head)+1+size)
	data = append(append(data, head...), '\n')
	for _, c := range r.contents {
		data = append(data, c...)
	}
	return data, nil
}

// decodeRecord decodes the object with number n of the log. Errors: ErrFormat.
func decodeRecord(data []byte, n int64) (*record, error) {
	head, rest, found := bytes.Cut(data, []byte{'\n'})
	var r record
	if !found || unmarshalChecked(head, &r) != nil || r.N != n {
		return nil, fmt.Errorf("%w: a log record is damaged", memento.ErrFormat)
	}
	if r.Format > recordFormat {
		return nil, fmt.Errorf("%w: a newer memento has written a log record", memento.ErrFormat)
	}
	if !r.sound() {
		return nil, fmt.Errorf("%w: a log record is damaged", memento.ErrFormat)
	}
	for _, size := range r.Sizes {
		if size < 0 || size > len(rest) {
			return nil, fmt.Errorf("%w: a log record was cut off", memento.ErrFormat)
		}
		r.contents = append(r.contents, string(rest[:size]))
		rest = rest[size:]
	}
	return &r, nil
}

// sound reports whether a decoded record is valid.
func (r *record) sound() bool {
	return r != nil && !slices.ContainsFunc(r.Versions, func(v *version) bool {
		return v == nil || v.Seq <= 0 || v.Ref != nil && (v.Ref.N < 0 || v.Ref.I < 0)
	})
}

// stub returns the object that replaces a compacted record in the log.
func stub(n int64) []byte {
	data, _ := (&record{N: n, Compacted: true}).encode() // cannot fail: it holds only numbers
	return data
}
