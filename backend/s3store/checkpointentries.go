package s3store

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"

	"memento"
	"memento/internal/ids"
)

// What an entry of a checkpoint has in a shorter form, or not at all.
const (
	shortID      = 1 << iota // the ID is 16 bytes
	shortVersion             // so is that of the version
	shortSeq                 // the ID of the version says which seq it has
	shortHash                // the hash is 32 bytes
	hasDigest
	hasBlob
	isUnchanged  // since it was created
	knownEntries = 1<<iota - 1
)

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// appendEntries appends memories. Paths lack what they share with the one before, times and
// places are the difference to the entry before.
func appendEntries(to []byte, entries []*indexEntry) []byte {
	to = binary.AppendUvarint(to, uint64(len(entries)))
	path, created, record := "", int64(0), int64(0)
	for _, h := range entries {
		m := &h.memory
		var flags byte
		id, ok := ids.Bits(string(m.ID), ids.MemoryPrefix)
		if ok {
			flags |= shortID
		}
		version, ok := ids.Bits(string(m.Version), ids.VersionPrefix)
		if ok {
			flags |= shortVersion
		}
		if m.Version.SeqHint() == h.seq {
			flags |= shortSeq
		}
		hash, err := hex.DecodeString(m.SHA256)
		if err == nil && len(hash) == 32 && hex.EncodeToString(hash) == m.SHA256 {
			flags |= shortHash
		}
		if m.Digest != "" {
			flags |= hasDigest
		}
		if h.ref.Blob != "" {
			flags |= hasBlob
		}
		at, changed := int64(stampOf(m.CreatedAt)), int64(stampOf(m.UpdatedAt))
		if at == changed {
			flags |= isUnchanged
		}
		to = append(to, flags)
		shared := sharedPrefix(path, string(m.Path))
		to = appendText(binary.AppendUvarint(to, uint64(shared)), string(m.Path)[shared:])
		if flags&shortID != 0 {
			to = append(to, id[:]...)
		} else {
			to = appendText(to, string(m.ID))
		}
		if flags&shortVersion != 0 {
			to = append(to, version[:]...)
		} else {
			to = appendText(to, string(m.Version))
		}
		if flags&shortSeq == 0 {
			to = binary.AppendUvarint(to, uint64(h.seq))
		}
		if flags&shortHash != 0 {
			to = append(to, hash...)
		} else {
			to = appendText(to, m.SHA256)
		}
		if flags&hasDigest != 0 {
			to = appendText(to, m.Digest)
		}
		to = binary.AppendUvarint(to, uint64(m.Size))
		to = binary.AppendVarint(to, at-created)
		if flags&isUnchanged == 0 {
			to = binary.AppendVarint(to, changed-at)
		}
		to = binary.AppendVarint(to, h.ref.N-record)
		to = binary.AppendUvarint(to, uint64(h.ref.I))
		if flags&hasBlob != 0 {
			to = appendText(to, h.ref.Blob)
		}
		path, created, record = string(m.Path), at, h.ref.N
	}
	return to
}

func sharedPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

const (
	smallestEntry = 9        // bytes, fewer than any entry takes
	maxEntryPath  = 64 << 10 // bytes, more than any path has
)

// decodeEntries reads a block of memories; nil if it is damaged. All texts of a block are one
// string, and all entries one array: that is much faster than 600 small ones, and some 80 KB
// that are kept as long as one of the entries is; see releaseBlocks.
func decodeEntries(block []byte) []*indexEntry {
	data, ok := unsealBlock(block)
	r := entryReader{data: data}
	n := r.number()
	if !ok || r.failed || n == 0 || n > checkpointBlock || n > uint64(len(r.data)/smallestEntry) {
		return nil
	}
	type lengths struct{ path, id, version, hash, digest, blob int }
	entries, texts := make([]indexEntry, n), make([]lengths, n)
	all := make([]byte, 0, 3*len(data))
	var before []byte // the path of the last entry
	created, record := int64(0), int64(0)
	for i := range entries {
		h, l := &entries[i], &texts[i]
		flags := r.byte()
		shared, text := r.number(), r.bytes(r.number())
		if flags > knownEntries || shared > uint64(len(before)) || shared+uint64(len(text)) > maxEntryPath {
			return nil
		}
		at := len(all)
		length := func() int {
			n := len(all) - at
			at = len(all)
			return n
		}
		all = append(append(all, before[:shared]...), text...)
		if i > 0 && bytes.Compare(before, all[at:]) >= 0 {
			return nil
		}
		before = all[at:len(all):len(all)]
		l.path = length()
		if flags&shortID != 0 {
			all = ids.Append(all, ids.MemoryPrefix, r.bits())
		} else {
			all = append(all, r.bytes(r.number())...)
		}
		l.id = length()
		var bits [16]byte
		if flags&shortVersion != 0 {
			bits = r.bits()
			all = ids.Append(all, ids.VersionPrefix, bits)
		} else {
			all = append(all, r.bytes(r.number())...)
		}
		switch l.version = length(); {
		case flags&shortSeq == 0:
			h.seq = int64(r.number())
		case flags&shortVersion != 0:
			h.seq = ids.SeqOfBits(bits)
		default:
			h.seq = memento.VersionID(all[at-l.version : at]).SeqHint()
		}
		if flags&shortHash != 0 {
			all = hex.AppendEncode(all, r.bytes(32))
		} else {
			all = append(all, r.bytes(r.number())...)
		}
		l.hash = length()
		if flags&hasDigest != 0 {
			all = append(all, r.bytes(r.number())...)
		}
		l.digest = length()
		size := r.number()
		created += r.difference()
		changed := created
		if flags&isUnchanged == 0 {
			changed += r.difference()
		}
		record += r.difference()
		index := r.number()
		if flags&hasBlob != 0 {
			all = append(all, r.bytes(r.number())...)
		}
		l.blob = length()
		if r.failed || size > 1<<62 || index > 1<<31 || record < 0 || h.seq < 0 {
			return nil
		}
		h.memory.Size, h.memory.CreatedAt, h.memory.UpdatedAt = int64(size), stamp(created).time(), stamp(changed).time()
		h.ref.N, h.ref.I = record, int(index)
	}
	if len(r.data) > 0 {
		return nil
	}
	whole := string(all)
	cut := func(n int) string {
		text := whole[:n]
		whole = whole[n:]
		return text
	}
	found := make([]*indexEntry, n)
	for i := range entries {
		h, l := &entries[i], texts[i]
		h.memory.Path, h.memory.ID, h.memory.Version = memento.Path(cut(l.path)), memento.MemoryID(cut(l.id)), memento.VersionID(cut(l.version))
		h.memory.SHA256, h.memory.Digest, h.ref.Blob = cut(l.hash), cut(l.digest), cut(l.blob)
		found[i] = h
	}
	return found
}

// An entryReader reads what was appended. After data that is not what it should be, failed is
// set, and results are zero.
type entryReader struct {
	data   []byte
	failed bool
}

func (r *entryReader) fail() { r.data, r.failed = nil, true }

func (r *entryReader) number() uint64 {
	n, size := binary.Uvarint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *entryReader) difference() int64 {
	n, size := binary.Varint(r.data)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *entryReader) byte() byte {
	if len(r.data) == 0 {
		r.fail()
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

// bytes returns the next n bytes, or none if there are fewer.
func (r *entryReader) bytes(n uint64) []byte {
	if n > uint64(len(r.data)) {
		r.fail()
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *entryReader) bits() (bits [16]byte) {
	copy(bits[:], r.bytes(16))
	return bits
}

func (r *entryReader) text() string { return string(r.bytes(r.number())) }
