package backend

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"

	"memento"
)

// A VectorKeeper is a [memento.Backend] that keeps vectors of the contents of its memories,
// for searches by meaning: see package embedding.
//
// Vectors reveal what a text is about, so they go with it. Whatever gives a memory other
// contents, or removes it, removes its vectors in the same transaction, whoever made them,
// and what removes contents for good removes every trace of the vectors that they had. A
// move keeps them.
type VectorKeeper interface {
	// Vectors returns memories of a store with their vectors of a model: all memories if ids
	// is nil, those without vectors too; else those of the given IDs that have vectors. The
	// order is not specified. All are of one instant.
	//
	// Errors: ErrNoStore.
	Vectors(ctx context.Context, store memento.StoreID, model string, ids []memento.MemoryID) iter.Seq2[MemoryVectors, error]

	// PutVectors replaces the vectors of memories, also those of another model. Memories
	// that do not exist, or have another version by now, are left out: kept says for each
	// whether it was not.
	//
	// Errors: ErrInvalid for more than MaxPutVectors memories, or for vectors that cannot
	// be kept; ErrNoStore, ErrNoSpace, ErrReadOnly. It may be lost if the machine crashes.
	PutVectors(ctx context.Context, store memento.StoreID, model string, memories []MemoryVectors) (kept []bool, err error)
}

// VectorLease returns the name of the [Leaser]'s lease for making the vectors of a store. It
// goes with the store.
func VectorLease(store memento.StoreID) string { return "vectors-" + string(store) }

// MaxPutVectors is how many memories a [VectorKeeper] takes at a time.
const MaxPutVectors = 256

// MemoryVectors are the vectors of one memory.
type MemoryVectors struct {
	Memory  memento.MemoryID
	Path    memento.Path      // where the memory is; PutVectors ignores it
	Version memento.VersionID // the newest one, whose contents the vectors are of
	Vectors []Vector          // by sections of the contents; nil if there are none
}

// A Vector is that of a section of a text.
type Vector struct {
	Text       [sha256.Size]byte // the hash of what was embedded
	Start, End int               // the section, in bytes of the contents
	Step       float32           // of Values
	Values     []int8            // of the dimensions, in steps; empty if there is no vector yet
}

// maxDimensions is the length of the longest vector that can be kept.
const maxDimensions = math.MaxUint16

// CheckVectors returns ErrInvalid for what no [VectorKeeper] accepts.
func CheckVectors(model string, memories []MemoryVectors) error {
	if model == "" || len(memories) > MaxPutVectors {
		return fmt.Errorf("%w: vectors need a model, and are of at most %d memories at a time", memento.ErrInvalid, MaxPutVectors)
	}
	known := map[memento.MemoryID]bool{}
	for _, m := range memories {
		if known[m.Memory] {
			return fmt.Errorf("%w: vectors of one memory twice", memento.ErrInvalid)
		}
		known[m.Memory] = true
		for _, v := range m.Vectors {
			if len(v.Values) > maxDimensions || v.Start < 0 || v.Start > v.End || v.End > math.MaxUint32 || len(v.Values) > 0 && !(v.Step > 0) {
				return fmt.Errorf("%w: not a vector of a section", memento.ErrInvalid)
			}
		}
	}
	return nil
}

// EncodeVectors returns vectors as one value. For each: the hash of the text (32 bytes),
// offsets of the section's start and end (4 each, big-endian), the step (4, IEEE 754), the
// number of dimensions (2), and the dimensions in steps (1 each).
func EncodeVectors(vectors []Vector) []byte {
	n := 0
	for i := range vectors {
		n += vectorHead + len(vectors[i].Values)
	}
	b := make([]byte, 0, n)
	for i := range vectors {
		v := &vectors[i]
		b = append(b, v.Text[:]...)
		b = binary.BigEndian.AppendUint32(b, uint32(v.Start))
		b = binary.BigEndian.AppendUint32(b, uint32(v.End))
		b = binary.BigEndian.AppendUint32(b, math.Float32bits(v.Step))
		b = binary.BigEndian.AppendUint16(b, uint16(len(v.Values)))
		for _, x := range v.Values {
			b = append(b, byte(x))
		}
	}
	return b
}

const vectorHead = sha256.Size + 4 + 4 + 4 + 2

// DecodeVectors is the reverse of EncodeVectors. It returns nil if b is no such value, as
// after a fault of the medium: vectors can be made again.
func DecodeVectors(b []byte) []Vector {
	vectors := []Vector{}
	for len(b) > 0 {
		if len(b) < vectorHead {
			return nil
		}
		var v Vector
		copy(v.Text[:], b)
		rest := b[sha256.Size:]
		v.Start, v.End = int(binary.BigEndian.Uint32(rest)), int(binary.BigEndian.Uint32(rest[4:]))
		v.Step = math.Float32frombits(binary.BigEndian.Uint32(rest[8:]))
		n := int(binary.BigEndian.Uint16(rest[12:]))
		if b = b[vectorHead:]; len(b) < n || v.Start > v.End || n > 0 && !usable(v.Step, b[:n]) {
			return nil
		}
		if n > 0 {
			v.Values = make([]int8, n)
			for i := range v.Values {
				v.Values[i] = int8(b[i])
			}
		}
		b = b[n:]
		vectors = append(vectors, v)
	}
	return vectors
}

// usable reports whether the values of a vector have a direction.
func usable(step float32, values []byte) bool {
	for _, x := range values {
		if x != 0 {
			return step > 0 && step <= 1
		}
	}
	return false
}
