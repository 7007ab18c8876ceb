package transfer

import (
	"context"
	"fmt"
	"iter"

	"memento"
)

// An alignment is the result of comparing the target's history with the source's.
type alignment struct {
	last     int64 // Seq, in the source, of the newest version that both have; 0 if there is none
	both     int64
	pruned   int64               // versions that only the target has, because the source has pruned them
	beyond   int64               // other versions that only the target has: then it is not a copy
	lacking  int64               // versions after last that only the source has
	bytes    int64               // of their contents
	redacted []memento.VersionID // those that only the source has redacted; by has the actors
	by       []memento.Actor
}

// align compares two histories, oldest first, and calls differs for each difference
// between versions that both have. Versions of the source after upTo are ignored, unless
// it is 0. With contents, those of the target are checked.
func (c *Copier) align(ctx context.Context, info memento.StoreInfo, upTo int64, contents bool, step Step, differs func(string)) (alignment, error) {
	var a alignment
	target, stop := iter.Pull2(c.To.ListVersions(ctx, info.ID, memento.VersionListOptions{OldestFirst: true, Contents: contents}))
	defer stop()
	ended, looked := false, int64(0)
	var pending extras
	find := func(id memento.VersionID) (memento.Version, bool, error) {
		for !ended {
			t, err, ok := target()
			if !ok {
				ended = true
				break
			}
			if err != nil {
				return t, false, err
			}
			if looked++; looked%100 == 0 {
				c.report(info, step, looked)
			}
			if t.ID == id {
				return t, true, nil
			}
			pending.add(&t)
		}
		return memento.Version{}, false, nil
	}
	for s, err := range c.From.ListVersions(ctx, info.ID, memento.VersionListOptions{OldestFirst: true}) {
		if err != nil {
			return a, err
		}
		if upTo > 0 && s.Seq > upTo {
			break
		}
		t, found, err := find(s.ID)
		if err != nil {
			return a, err
		}
		if !found {
			pending.written(s.Memory)
			a.lacking++
			a.bytes += s.Size
			continue
		}
		a.last, a.both = s.Seq, a.both+1
		a.pruned, pending = a.pruned+pending.count, extras{}
		if s.Redacted() && !t.Redacted() {
			a.redacted, a.by = append(a.redacted, s.ID), append(a.by, s.RedactedBy)
			continue
		}
		if text := compareVersions(&s, &t, contents); text != "" {
			differs(text)
		}
	}
	if _, _, err := find(""); err != nil { // the remaining versions of the target
		return a, err
	}
	a.beyond = pending.beyond()
	a.pruned += pending.count - a.beyond
	return a, nil
}

// extras are versions that only the target has, after the newest one that both have. The
// source may have pruned those of memories that no longer exist.
type extras struct {
	count  int64
	of     map[memento.MemoryID]int64
	living map[memento.MemoryID]bool // or written to in the source since
}

func (x *extras) add(v *memento.Version) {
	if x.of == nil {
		x.of, x.living = map[memento.MemoryID]int64{}, map[memento.MemoryID]bool{}
	}
	x.count++
	x.of[v.Memory]++
	x.living[v.Memory] = v.Operation != memento.Deleted
}

// written records that the source has a newer version of a memory.
func (x *extras) written(id memento.MemoryID) {
	if x.of[id] > 0 {
		x.living[id] = true
	}
}

// beyond counts the versions that pruning does not explain.
func (x *extras) beyond() (n int64) {
	for id, count := range x.of {
		if x.living[id] {
			n += count
		}
	}
	return n
}

// compareVersions says how a version of the target differs from the source's; "" if it
// does not. Seq and the time of a redaction may differ.
func compareVersions(s, t *memento.Version, contents bool) string {
	what := ""
	switch {
	case t.Redacted() && !s.Redacted():
		what = "is redacted in the target only"
	case s.Memory != t.Memory:
		what = "belongs to another memory"
	case s.Operation != t.Operation:
		what = "has another operation"
	case s.Path != t.Path:
		what = "has another path"
	case s.SHA256 != t.SHA256 || s.Size != t.Size || s.Digest != t.Digest:
		what = "has other contents"
	case contents && t.SHA256 != "" && memento.HashContent(t.Content) != t.SHA256:
		what = "has contents in the target that do not match their hash"
	case s.CreatedBy != t.CreatedBy || !sameRedactor(s.RedactedBy, t.RedactedBy):
		what = "has another actor"
	case !s.CreatedAt.Equal(t.CreatedAt):
		what = "has another time"
	default:
		return ""
	}
	return fmt.Sprintf("version %s of memory %s %s", s.ID, s.Memory, what)
}

// sameRedactor compares the actors of two redactions. A server that repeats a redaction
// records the copier's key if the source has none.
func sameRedactor(s, t memento.Actor) bool {
	if s.Key == "" {
		t.Key = ""
	}
	return s == t
}
