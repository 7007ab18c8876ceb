package textindex

import (
	"encoding/binary"
	"fmt"

	"memento"
)

// A segment is an immutable part of an index, for a [Storage]. It is a sorted sequence of
// entries, each with a key and a value, in blocks of about blockSize bytes. The head of a
// segment has the first key of each block, and what every search needs. Backends store head
// and blocks as they like.
//
// Keys begin with a byte that says what the entry is; numbers in them have four bytes, the
// highest first:
//
//	p form 0 number   postings of a form, beginning with that of a memory's number
//	q form            a form, with an empty value
//	r language stem   the forms with a stem
//	s number          memories from this number on
//	t key             the number of a memory
const (
	postingsKey = "p"
	formKey     = "q"
	stemKey     = "r"
	entriesKey  = "s"
	numberKey   = "t"
)

const (
	blockSize     = 4 << 10
	chunkPostings = 256 // in one entry
	chunkEntries  = 64  // memories in one entry
)

// SegmentFormat is the format of segments, and the first byte of a head.
const SegmentFormat = 3

// ErrIndex says that a search index is damaged, or lacks a part. It can be made anew.
var ErrIndex = fmt.Errorf("%w: the search index is damaged", memento.ErrFormat)

// numbered returns a key that ends in a number.
func numbered(key string, n uint32) string {
	return string(binary.BigEndian.AppendUint32([]byte(key), n))
}

// appendShared appends a text, of which the beginning of another one is left out.
func appendShared(to []byte, before, text string) []byte {
	n := 0
	for n < len(before) && n < len(text) && before[n] == text[n] {
		n++
	}
	return appendBytes(binary.AppendUvarint(to, uint64(n)), text[n:])
}

func appendBytes(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// A decoder reads what was appended. After data that is not what it should be, failed is
// set, and results are zero.
type decoder struct {
	data   []byte
	failed bool
}

func (r *decoder) fail() {
	r.data, r.failed = nil, true
}

func (r *decoder) number() uint64 {
	if len(r.data) > 0 && r.data[0] < 0x80 { // most numbers
		n := r.data[0]
		r.data = r.data[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

// difference reads a number that may be negative.
func (r *decoder) difference() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *decoder) byte() byte {
	if len(r.data) == 0 {
		r.fail()
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// count reads a number of items that take at least size bytes each.
func (r *decoder) count(size int) int {
	n := r.number()
	if n > uint64(len(r.data)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *decoder) bytes() []byte {
	n := r.count(1)
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *decoder) shared(before string) string {
	n := r.number()
	if n > uint64(len(before)) {
		r.fail()
		return ""
	}
	return before[:n] + string(r.bytes())
}
