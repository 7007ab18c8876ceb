package textindex

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strings"
)

// A Source is a part that becomes a part of a new segment.
type Source struct {
	postings func(ctx context.Context, form string, yield func([]Posting)) error // as of a Part
	all      func(ctx context.Context) (*contents, error)
}

// contents are what a source has, sorted.
type contents struct {
	docs  []recentDoc // the living ones have new numbers from base on
	forms iter.Seq2[string, error]
	stems map[stemOf][]string
}

// Write makes a segment of parts, without their dead memories. It calls emit with each block
// in turn.
func Write(ctx context.Context, emit func(n int, block []byte) error, sources ...Source) (head []byte, err error) {
	w := &segmentWriter{emit: emit}
	var all []*contents
	var docs []recentDoc
	number := make([][]uint32, len(sources)) // new numbers of living memories
	for i, s := range sources {
		c, err := s.all(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
		number[i] = make([]uint32, len(c.docs))
		for old, d := range c.docs {
			if !d.dead {
				number[i][old] = uint32(len(docs))
				docs = append(docs, d)
			}
		}
	}
	var forms []string
	if forms, err = w.writePostings(ctx, sources, all, number); err != nil {
		return nil, err
	}
	for _, form := range forms {
		if err := w.add(formKey+form, nil); err != nil {
			return nil, err
		}
	}
	stems := map[stemOf][]string{}
	for _, c := range all {
		for key, list := range c.stems {
			stems[key] = append(stems[key], list...)
		}
	}
	keys := slices.SortedFunc(maps.Keys(stems), func(x, y stemOf) int {
		return cmp.Or(cmp.Compare(x.language, y.language), cmp.Compare(x.stem, y.stem))
	})
	for _, key := range keys {
		list := stems[key]
		slices.Sort(list)
		list = slices.DeleteFunc(slices.Compact(list), func(form string) bool {
			_, has := slices.BinarySearch(forms, form)
			return !has
		})
		if len(list) == 0 {
			continue
		}
		if err := w.add(stemKey+string(rune(key.language))+key.stem, []byte(strings.Join(list, "\x00"))); err != nil {
			return nil, err
		}
	}
	for from := 0; from < len(docs); from += chunkEntries {
		var value []byte
		for _, d := range docs[from:min(len(docs), from+chunkEntries)] {
			value = appendBytes(appendBytes(value, d.Key), d.Path)
		}
		if err := w.add(numbered(entriesKey, uint32(from)), value); err != nil {
			return nil, err
		}
	}
	byKey := make([]uint32, len(docs))
	for i := range byKey {
		byKey[i] = uint32(i)
	}
	slices.SortFunc(byKey, func(x, y uint32) int { return cmp.Compare(docs[x].Key, docs[y].Key) })
	for _, doc := range byKey {
		if err := w.add(numberKey+docs[doc].Key, binary.AppendUvarint(nil, uint64(doc))); err != nil {
			return nil, err
		}
	}
	if err := w.flush(); err != nil {
		return nil, err
	}
	head = binary.AppendUvarint([]byte{SegmentFormat}, uint64(len(w.first)))
	before := ""
	for _, key := range w.first {
		head = appendShared(head, before, key)
		before = key
	}
	head = binary.AppendUvarint(head, uint64(len(docs)))
	seq := int64(0)
	for _, d := range docs {
		head = append(binary.AppendUvarint(head, uint64(d.length)), byte(d.language))
		head = binary.AppendVarint(head, d.seq-seq)
		seq = d.seq
	}
	return head, nil
}

// writePostings writes the postings of all forms, and returns the forms that have any.
func (w *segmentWriter) writePostings(ctx context.Context, sources []Source, all []*contents, number [][]uint32) (forms []string, err error) {
	var next []func() (string, error, bool)
	var current []string // of each source; "" at its end
	for _, c := range all {
		pull, stop := iter.Pull2(c.forms)
		defer stop()
		next = append(next, pull)
		form, err, _ := pull()
		if err != nil {
			return nil, err
		}
		current = append(current, form)
	}
	for {
		form := ""
		for _, f := range current {
			if f != "" && (form == "" || f < form) {
				form = f
			}
		}
		if form == "" {
			return forms, ctx.Err()
		}
		chunk := postingsChunk{w: w, form: form}
		for i := range sources {
			if current[i] != form {
				continue
			}
			err := sources[i].postings(ctx, form, func(list []Posting) {
				for _, p := range list {
					p.Doc = number[i][p.Doc]
					chunk.add(p)
				}
			})
			if err != nil {
				return nil, err
			}
			if current[i], err, _ = next[i](); err != nil {
				return nil, err
			}
		}
		chunk.flush()
		if chunk.err != nil {
			return nil, chunk.err
		}
		if chunk.written {
			forms = append(forms, form)
		}
	}
}

// A postingsChunk collects postings of one form.
type postingsChunk struct {
	w       *segmentWriter
	form    string
	value   []byte
	n       int
	first   uint32
	next    uint32
	written bool
	err     error
}

func (c *postingsChunk) add(p Posting) {
	if c.n == chunkPostings {
		c.flush()
	}
	if c.n == 0 {
		c.first, c.next = p.Doc, p.Doc
	}
	c.n++
	c.value = appendPosting(c.value, p.Doc-c.next, p)
	c.next = p.Doc + 1
}

func (c *postingsChunk) flush() {
	if c.n == 0 || c.err != nil {
		return
	}
	c.err = c.w.add(numbered(postingsKey+c.form+"\x00", c.first), c.value)
	c.value, c.n, c.written = c.value[:0], 0, true
}

// A segmentWriter makes blocks of entries.
type segmentWriter struct {
	emit  func(n int, block []byte) error
	first []string
	block []byte
	last  string // key
}

func (w *segmentWriter) add(key string, value []byte) error {
	if len(w.block) == 0 {
		w.first, w.last = append(w.first, key), ""
	}
	w.block = appendShared(w.block, w.last, key)
	w.block = append(binary.AppendUvarint(w.block, uint64(len(value))), value...)
	w.last = key
	if len(w.block) >= blockSize {
		return w.flush()
	}
	return nil
}

func (w *segmentWriter) flush() error {
	if len(w.block) == 0 {
		return nil
	}
	err := w.emit(len(w.first)-1, w.block)
	w.block = nil
	return err
}

// Source returns the part as a source of a segment.
func (r *Recent) Source() Source {
	return Source{r.Postings, func(context.Context) (*contents, error) {
		forms := slices.Sorted(maps.Keys(r.forms))
		return &contents{r.docs, func(yield func(string, error) bool) {
			for _, form := range forms {
				if !yield(form, nil) {
					return
				}
			}
		}, r.stems}, nil
	}}
}

// Source returns the segment as a source of another one.
func (s *Segment) Source(read ReadBlock) Source {
	return Source{s.Part(read).Postings, func(ctx context.Context) (*contents, error) {
		c := &contents{stems: map[stemOf][]string{}}
		for e, err := range s.entries(ctx, read, stemKey) {
			if err != nil {
				return nil, err
			}
			if e.key[:1] == stemKey {
				if len(e.key) < 2 || Language(e.key[1]) >= languages {
					return nil, ErrIndex
				}
				key := stemOf{Language(e.key[1]), e.key[2:]}
				c.stems[key] = strings.Split(string(e.value), "\x00")
				continue
			}
			if e.key[:1] != entriesKey {
				break
			}
			r := decoder{data: e.value}
			for len(r.data) > 0 && len(c.docs) < len(s.lengths) {
				doc := len(c.docs)
				c.docs = append(c.docs, recentDoc{Entry{string(r.bytes()), string(r.bytes())}, s.seqs[doc], s.lengths[doc], s.languages[doc], s.isDead(uint32(doc))})
			}
			if r.failed {
				return nil, ErrIndex
			}
		}
		if len(c.docs) != len(s.lengths) {
			return nil, ErrIndex
		}
		c.forms = func(yield func(string, error) bool) {
			for e, err := range s.entries(ctx, read, formKey) {
				if err == nil && e.key[:1] != formKey {
					return
				}
				if err != nil || !yield(e.key[len(formKey):], nil) {
					if err != nil {
						yield("", err)
					}
					return
				}
			}
		}
		return c, nil
	}}
}
