package textindex

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
)

// A ReadBlock returns a block of a segment by its number.
type ReadBlock func(ctx context.Context, n int) ([]byte, error)

// A Segment is the head of a segment, and which of its memories are dead.
type Segment struct {
	first     []string // key of each block
	lengths   []uint32 // words of each memory
	languages []Language
	seqs      []int64 // of the versions that are indexed

	dead   []uint64 // bits, by number
	living Stats
	spoken [languages]int // living memories in each language
}

// ParseSegment reads a head, and the memories that are dead, as [Segment.Dead] wrote them.
func ParseSegment(head, dead []byte) (*Segment, error) {
	r := decoder{data: head}
	if r.byte() != SegmentFormat {
		return nil, ErrIndex
	}
	s := &Segment{}
	n := r.count(1)
	before := ""
	for range n {
		before = r.shared(before)
		s.first = append(s.first, before)
	}
	n = r.count(3)
	s.lengths, s.languages, s.seqs = make([]uint32, n), make([]Language, n), make([]int64, n)
	seq := int64(0)
	for i := range n {
		s.lengths[i], s.languages[i] = uint32(r.number()), Language(r.byte())
		seq += r.difference()
		s.seqs[i] = seq
		if s.languages[i] >= languages {
			return nil, ErrIndex
		}
	}
	if r.failed || len(r.data) > 0 || !slices.IsSorted(s.first) {
		return nil, ErrIndex
	}
	s.dead = make([]uint64, (n+63)/64)
	s.living = Stats{Size: n}
	for doc := range n {
		s.count(uint32(doc), 1)
	}
	r = decoder{data: dead}
	doc := uint64(0)
	for len(r.data) > 0 && !r.failed {
		doc += r.number()
		if doc >= uint64(n) {
			return nil, ErrIndex
		}
		s.Kill(uint32(doc))
		doc++
	}
	if r.failed {
		return nil, ErrIndex
	}
	return s, nil
}

func (s *Segment) count(doc uint32, by int) {
	s.living.Memories += by
	s.living.Words += int64(by) * int64(s.lengths[doc])
	l := s.languages[doc]
	if s.spoken[l] += by; s.spoken[l] > 0 {
		s.living.Languages |= 1 << l
	} else {
		s.living.Languages &^= 1 << l
	}
}

// Kill says that a memory is dead.
func (s *Segment) Kill(doc uint32) {
	if !s.isDead(doc) {
		s.dead[doc/64] |= 1 << (doc % 64)
		s.count(doc, -1)
	}
}

func (s *Segment) isDead(doc uint32) bool { return s.dead[doc/64]&(1<<(doc%64)) != 0 }

// Dead returns the numbers of dead memories as bytes.
func (s *Segment) Dead() (dead []byte) {
	next := uint32(0)
	for doc := range uint32(len(s.lengths)) {
		if s.isDead(doc) {
			dead = binary.AppendUvarint(dead, uint64(doc-next))
			next = doc + 1
		}
	}
	return dead
}

// Size returns the number of memories, the dead ones included, and Living that of others.
func (s *Segment) Size() int   { return len(s.lengths) }
func (s *Segment) Living() int { return s.living.Memories }

// Blocks returns the number of blocks.
func (s *Segment) Blocks() int { return len(s.first) }

// Clone returns a copy, in which other memories can die.
func (s *Segment) Clone() *Segment {
	c := *s
	c.dead = slices.Clone(s.dead)
	return &c
}

// A cursor reads the entries of a segment in order.
type cursor struct {
	ctx   context.Context
	s     *Segment
	read  ReadBlock
	block int     // the next one
	rest  decoder // of the block before
	err   error   // why there is no further entry; nil at the end

	key, value []byte // of the entry, until the next one is read
}

// seek returns a cursor at the first entry that has a key or one after it; ok is false if
// there is none.
func (s *Segment) seek(ctx context.Context, read ReadBlock, key string) (c cursor, ok bool) {
	n, found := slices.BinarySearch(s.first, key)
	if !found && n > 0 {
		n-- // it may be inside the block before
	}
	c = cursor{ctx: ctx, s: s, read: read, block: n}
	return c, c.find(key) && c.next()
}

// find goes to where the next entry has a key or one after it. It reports whether there is one.
func (c *cursor) find(key string) bool {
	same := 0 // bytes that the key of the last entry has in common with key; it comes before key
	for c.more() {
		rest := c.rest
		shared, text := rest.number(), rest.bytes()
		rest.bytes()
		switch {
		case rest.failed:
			c.err = ErrIndex
			return false
		case shared > uint64(same): // it differs from key where the last one did
		case shared < uint64(same):
			c.key = append(c.key[:0], key[:same]...)
			return true
		default:
			n := 0
			for n < len(text) && same+n < len(key) && text[n] == key[same+n] {
				n++
			}
			if same+n == len(key) || n < len(text) && text[n] > key[same+n] {
				c.key = append(c.key[:0], key[:same]...)
				return true
			}
			same += n
		}
		if c.rest = rest; len(rest.data) == 0 {
			same = 0 // the first key of a block is whole
		}
	}
	return false
}

// more makes sure that an entry follows in the block, and reports whether there is one.
func (c *cursor) more() bool {
	for len(c.rest.data) == 0 {
		if c.err != nil || c.block == len(c.s.first) {
			return false
		}
		block, err := c.read(c.ctx, c.block)
		if err != nil {
			c.err = err
			return false
		}
		c.rest, c.key = decoder{data: block}, c.key[:0]
		c.block++
	}
	return true
}

// next reads an entry.
func (c *cursor) next() bool {
	if !c.more() {
		return false
	}
	shared := c.rest.number()
	if shared > uint64(len(c.key)) {
		c.rest.fail()
	} else {
		c.key = append(c.key[:shared], c.rest.bytes()...)
		c.value = c.rest.bytes()
	}
	if c.rest.failed {
		c.err = ErrIndex
	}
	return c.err == nil
}

// has reports whether the cursor is at an entry with a key.
func (c *cursor) has(key string) bool { return string(c.key) == key }

// begins reports whether the cursor is at an entry whose key begins with prefix.
func (c *cursor) begins(prefix string) bool {
	return len(c.key) >= len(prefix) && string(c.key[:len(prefix)]) == prefix
}

// entries yields the entries of a segment from a key on.
func (s *Segment) entries(ctx context.Context, read ReadBlock, from string) iter.Seq2[entryOf, error] {
	return func(yield func(entryOf, error) bool) {
		c, ok := s.seek(ctx, read, from)
		for ; ok; ok = c.next() {
			if !yield(entryOf{string(c.key), c.value}, nil) {
				return
			}
		}
		if c.err != nil {
			yield(entryOf{}, c.err)
		}
	}
}

type entryOf struct {
	key   string
	value []byte
}

// Number returns the number of the memory with a key.
func (s *Segment) Number(ctx context.Context, read ReadBlock, key string) (doc uint32, known bool, err error) {
	c, ok := s.seek(ctx, read, numberKey+key)
	if !ok || !c.has(numberKey+key) {
		return 0, false, c.err
	}
	r := decoder{data: c.value}
	n := r.number()
	if r.failed || n >= uint64(len(s.lengths)) {
		return 0, false, ErrIndex
	}
	return uint32(n), true, nil
}

// Part returns the segment as a part of an index. It must not change while it is used.
func (s *Segment) Part(read ReadBlock) Part { return segmentPart{s, read} }

type segmentPart struct {
	s    *Segment
	read ReadBlock
}

func (p segmentPart) Stats(context.Context) (Stats, error) { return p.s.living, nil }

func (p segmentPart) Forms(ctx context.Context, l Language, stem string) (forms []string, err error) {
	key := stemKey + string(rune(l)) + stem
	c, ok := p.s.seek(ctx, p.read, key)
	if !ok || !c.has(key) {
		return nil, c.err
	}
	return strings.Split(string(c.value), "\x00"), nil
}

func (p segmentPart) Beginning(ctx context.Context, prefix string, limit int) (forms []string, err error) {
	c, ok := p.s.seek(ctx, p.read, formKey+prefix)
	for ; ok && c.begins(formKey+prefix) && (limit == 0 || len(forms) < limit); ok = c.next() {
		forms = append(forms, string(c.key[len(formKey):]))
	}
	return forms, c.err
}

func (p segmentPart) Postings(ctx context.Context, form string, yield func([]Posting)) error {
	prefix := postingsKey + form + "\x00"
	var list [chunkPostings]Posting
	c, ok := p.s.seek(ctx, p.read, prefix)
	for ; ok && c.begins(prefix); ok = c.next() {
		n, err := p.s.decode(c.key[len(prefix):], c.value, &list)
		if err != nil {
			return err
		}
		yield(list[:n])
	}
	return c.err
}

// decode reads the postings of an entry that are of living memories. number is that of the
// first memory, from the entry's key.
func (s *Segment) decode(number, value []byte, list *[chunkPostings]Posting) (living int, err error) {
	if len(number) != 4 {
		return 0, ErrIndex
	}
	doc := uint64(binary.BigEndian.Uint32(number))
	r := decoder{data: value}
	for n := 0; len(r.data) > 0; n++ {
		head := r.number()
		doc += head >> 2
		if r.failed || n == chunkPostings || doc >= uint64(len(s.lengths)) {
			return 0, ErrIndex
		}
		p := &list[living]
		*p = Posting{Doc: uint32(doc), Length: s.lengths[doc], Body: 1}
		switch head & 3 {
		case 1:
			p.Body = uint16(r.number())
		case 2:
			p.Body, p.Heading, p.Path = uint16(r.number()), uint16(r.number()), uint16(r.number())
		}
		if !s.isDead(p.Doc) {
			living++
		}
		doc++
	}
	if r.failed {
		return 0, ErrIndex
	}
	return living, nil
}

// postings yields the postings of an entry that are of living memories. The number of the
// first memory is at an offset of the entry's key.
func (s *Segment) postings(e entryOf, at int, yield func(Posting)) error {
	var list [chunkPostings]Posting
	n, err := s.decode([]byte(e.key[at:]), e.value, &list)
	for _, p := range list[:n] {
		yield(p)
	}
	return err
}

func (p segmentPart) Seq(doc uint32) int64 { return p.s.seqs[doc] }

func (p segmentPart) Entries(ctx context.Context, docs []uint32) ([]Entry, error) {
	entries := make([]Entry, len(docs))
	for i, doc := range docs {
		chunk := numbered(entriesKey, doc/chunkEntries*chunkEntries)
		c, ok := p.s.seek(ctx, p.read, chunk)
		if c.err != nil {
			return nil, c.err
		}
		if !ok || !c.has(chunk) {
			return nil, ErrIndex
		}
		r := decoder{data: c.value}
		for range doc % chunkEntries {
			r.bytes()
			r.bytes()
		}
		entries[i] = Entry{string(r.bytes()), string(r.bytes())}
		if r.failed {
			return nil, ErrIndex
		}
	}
	return entries, nil
}
