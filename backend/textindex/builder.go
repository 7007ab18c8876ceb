package textindex

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
)

// A builder makes a segment of texts. Unlike a [Recent] it cannot be searched, but has the
// postings as a segment has them, in a tenth of the room, so that one segment can be made of
// many texts: smaller ones would have to be merged.
type builder struct {
	lexer *lexer // for the time of building
	docs  []recentDoc
	forms []builtForm
	byKey map[string]uint32 // form: index in forms
	formStems
	bytes int64 // about what all of it takes
}

// A builtForm is a form, and the postings of it.
type builtForm struct {
	form   string
	known  LanguageSet // as in recentForm
	last   uint32      // number of the last memory that has the form
	chunks []builtChunk
	data   []byte // of all chunks
}

// A builtChunk is an entry of postings.
type builtChunk struct {
	first uint32 // number of its first memory
	end   uint32 // where its data end
	n     uint16 // postings
}

// About how many bytes are taken by what a builder has more of.
const (
	builtFormBytes = 256
	builtDocBytes  = 96
)

func newBuilder() *builder {
	return &builder{lexer: lexers.Get().(*lexer), byKey: map[string]uint32{}, formStems: newFormStems()}
}

// close gives up what only building needs.
func (b *builder) close() {
	if b.lexer != nil {
		b.lexer.disown()
		lexers.Put(b.lexer)
		b.lexer = nil
	}
}

// add adds a memory that the builder does not have.
func (b *builder) add(key string, text Text) {
	doc := uint32(len(b.docs))
	d := b.lexer.tally(string(text.Path), text.Contents)
	b.docs = append(b.docs, recentDoc{Entry{key, string(text.Path)}, text.Seq, uint32(d.length), d.language, false})
	b.bytes += builtDocBytes + int64(len(key)+len(text.Path))
	for _, t := range b.lexer.found {
		f := b.form(t)
		b.post(f, Posting{Doc: doc, Body: t.body, Heading: t.heading, Path: t.path})
		if t.word != "" {
			b.bytes += b.addStems(&f.known, &t.docForm, d.language)
		}
	}
	b.lexer.bound()
}

// form returns what the builder has of a form.
func (b *builder) form(t *tallied) *builtForm {
	if t.builder == b {
		return &b.forms[t.at]
	}
	at, known := b.byKey[t.form]
	if !known {
		at = uint32(len(b.forms))
		b.forms = append(b.forms, builtForm{form: t.form})
		b.byKey[t.form] = at
		b.bytes += builtFormBytes + int64(len(t.form))
	}
	t.builder, t.at = b, at
	return &b.forms[at]
}

// post adds a posting of a form.
func (b *builder) post(f *builtForm, p Posting) {
	last := len(f.chunks) - 1
	if last < 0 || f.chunks[last].n == chunkPostings {
		f.chunks = append(f.chunks, builtChunk{first: p.Doc})
		last++
		f.last = p.Doc - 1 // the first posting of a chunk has a difference of 0
		b.bytes += 16
	}
	before := len(f.data)
	f.data = appendPosting(f.data, p.Doc-f.last-1, p)
	b.bytes += int64(len(f.data) - before)
	f.last = p.Doc
	f.chunks[last].n++
	f.chunks[last].end = uint32(len(f.data))
}

// appendPosting appends a posting of the memory that comes so many memories after the next
// one of the posting before.
func appendPosting(to []byte, skipped uint32, p Posting) []byte {
	head := uint64(skipped) << 2
	switch {
	case p.Heading > 0 || p.Path > 0:
		to = binary.AppendUvarint(to, head|2)
		for _, n := range []uint16{p.Body, p.Heading, p.Path} {
			to = binary.AppendUvarint(to, uint64(n))
		}
	case p.Body == 1:
		to = binary.AppendUvarint(to, head)
	default:
		to = binary.AppendUvarint(binary.AppendUvarint(to, head|1), uint64(p.Body))
	}
	return to
}

// source returns what was added as a source of a segment.
func (b *builder) source() Source {
	s := &Segment{dead: make([]uint64, (len(b.docs)+63)/64)}
	for _, d := range b.docs {
		s.lengths = append(s.lengths, d.length)
	}
	sorted := make([]uint32, len(b.forms))
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	slices.SortFunc(sorted, func(x, y uint32) int { return strings.Compare(b.forms[x].form, b.forms[y].form) })
	postings := func(_ context.Context, form string, yield func([]Posting)) error {
		var list [chunkPostings]Posting
		f := &b.forms[b.byKey[form]]
		from := uint32(0)
		for _, c := range f.chunks {
			n, err := s.decode(binary.BigEndian.AppendUint32(nil, c.first), f.data[from:c.end], &list)
			if err != nil {
				return err
			}
			yield(list[:n])
			from = c.end
		}
		return nil
	}
	return Source{postings, func(context.Context) (*contents, error) {
		return &contents{b.docs, func(yield func(string, error) bool) {
			for _, i := range sorted {
				if !yield(b.forms[i].form, nil) {
					return
				}
			}
		}, b.stems}, nil
	}}
}
