package textindex

import (
	"context"
	"slices"
	"strings"
)

// A Part is a part of a store's index: a set of memories by number, from 0. A memory whose
// contents have changed is dead in older parts.
type Part interface {
	// Stats describes the living memories of the part.
	Stats(context.Context) (Stats, error)

	// Forms returns the forms that the part has with a stem, in any order.
	Forms(ctx context.Context, l Language, stem string) ([]string, error)

	// Beginning returns the first limit forms that begin with prefix, in byte order;
	// all of them if limit is 0.
	Beginning(ctx context.Context, prefix string, limit int) ([]string, error)

	// Postings yields the postings of a form for living memories, in order of their numbers.
	// The slice is valid during the call.
	Postings(ctx context.Context, form string, yield func([]Posting)) error

	// Seq returns that of the version of a memory that is indexed, by the memory's number;
	// 0 if it is not known.
	Seq(doc uint32) int64

	// Entries returns what the part knows of memories, by their numbers.
	Entries(ctx context.Context, docs []uint32) ([]Entry, error)
}

// Stats describe the living memories of a [Part].
type Stats struct {
	Size      int   // all numbers of memories are smaller
	Memories  int   // living ones
	Words     int64 // in their contents
	Languages LanguageSet
}

// A Posting says how often a memory has a form.
type Posting struct {
	Doc     uint32 // number of the memory in its part
	Length  uint32 // words of its contents
	Body    uint16 // how often the form is in the contents, headings included
	Heading uint16 // in headings
	Path    uint16 // in the path
}

// An Entry is a memory in an index.
type Entry struct {
	Key  string // the memory's ID
	Path string
}

// Recent is a [Part] in main memory, which can be changed. Its methods may be called
// concurrently while none of them changes it.
type Recent struct {
	docs     []recentDoc
	byKey    map[string]uint32 // of living memories
	words    int64             // in living memories
	perLang  [languages]int    // living memories
	forms    map[string]*recentForm
	sorted   []string // keys of forms
	unsorted []string // the others
	formStems
}

// A recentForm is what a [Recent] has of a form.
type recentForm struct {
	postings []Posting
	known    LanguageSet // the languages in which the stems of the form itself are known
}

type recentDoc struct {
	Entry
	seq      int64
	length   uint32
	language Language
	dead     bool
}

type stemOf struct {
	language Language
	stem     string
}

// formStems are the forms by their stems.
type formStems struct {
	stems   map[stemOf][]string
	spelled map[string]LanguageSet // by spelling with diacritics: the languages in which its stems are known
}

func newFormStems() formStems {
	return formStems{stems: map[stemOf][]string{}, spelled: map[string]LanguageSet{}}
}

var _ Part = (*Recent)(nil)

// NewRecent returns an empty part.
func NewRecent() *Recent {
	r := &Recent{}
	r.clear()
	return r
}

func (r *Recent) clear() {
	*r = Recent{byKey: map[string]uint32{}, forms: map[string]*recentForm{}, formStems: newFormStems()}
}

// Put indexes a memory, in place of what was indexed with its key.
func (r *Recent) Put(key string, text Text) {
	r.Delete(key)
	r.add(key, text, read(string(text.Path), text.Contents))
}

// add indexes a memory that is not indexed.
func (r *Recent) add(key string, text Text, d document) {
	doc := uint32(len(r.docs))
	r.docs = append(r.docs, recentDoc{Entry{key, string(text.Path)}, text.Seq, uint32(d.length), d.language, false})
	r.byKey[key] = doc
	r.words += int64(d.length)
	r.perLang[d.language]++
	for i := range d.forms {
		f := &d.forms[i]
		known := r.forms[f.form]
		if known == nil {
			known = &recentForm{}
			r.forms[f.form] = known
			r.unsorted = append(r.unsorted, f.form)
		}
		known.postings = append(known.postings, Posting{doc, uint32(d.length), f.body, f.heading, f.path})
		r.addStems(&known.known, f, d.language)
	}
}

// addStems notes the stems of a form in the language of a text. known are the languages in
// which the stems of the form itself are known. It returns about how many bytes more that takes.
func (s *formStems) addStems(known *LanguageSet, f *docForm, l Language) (bytes int64) {
	switch {
	case f.word == "":
		return 0
	case isASCII(f.word):
		if known.Has(l) {
			return 0
		}
		*known = known.With(l)
	default: // a spelling with diacritics may have another stem
		if s.spelled[f.word].Has(l) {
			return 0
		}
		s.spelled[strings.Clone(f.word)] = s.spelled[f.word].With(l)
		bytes += stemBytes + int64(len(f.word))
	}
	for _, stem := range stems(l, f.word, f.form) {
		key := stemOf{l, strings.Clone(stem)}
		if forms := s.stems[key]; !slices.Contains(forms, f.form) {
			s.stems[key] = append(forms, f.form)
			bytes += stemBytes + int64(len(stem))
		}
	}
	return bytes
}

// stemBytes is about what a spelling, or a form of a stem, takes in main memory besides its text.
const stemBytes = 100

// Delete removes a memory, if it is indexed.
func (r *Recent) Delete(key string) {
	doc, known := r.byKey[key]
	if !known {
		return
	}
	delete(r.byKey, key)
	d := &r.docs[doc]
	d.dead = true
	r.words -= int64(d.length)
	r.perLang[d.language]--
	if dead := len(r.docs) - len(r.byKey); dead > 64 && dead > len(r.byKey) {
		r.compact()
	}
}

// Len returns the number of memories.
func (r *Recent) Len() int { return len(r.byKey) }

// compact removes what is left of dead memories.
func (r *Recent) compact() {
	number := make([]uint32, len(r.docs))
	var docs []recentDoc
	for i, d := range r.docs {
		if !d.dead {
			number[i] = uint32(len(docs))
			r.byKey[d.Key] = number[i]
			docs = append(docs, d)
		}
	}
	r.sorted, r.unsorted = nil, nil
	clear(r.spelled)
	for form, f := range r.forms {
		var living []Posting
		for _, p := range f.postings {
			if !r.docs[p.Doc].dead {
				p.Doc = number[p.Doc]
				living = append(living, p)
			}
		}
		if len(living) == 0 {
			delete(r.forms, form)
			continue
		}
		f.postings = living
		r.unsorted = append(r.unsorted, form)
	}
	for key, forms := range r.stems {
		forms = slices.DeleteFunc(forms, func(form string) bool { return r.forms[form] == nil })
		if len(forms) == 0 {
			delete(r.stems, key)
			continue
		}
		r.stems[key] = forms
	}
	r.docs = docs
}

// Sort prepares the part for Beginning. It counts as a change.
func (r *Recent) Sort() {
	if len(r.unsorted) > 0 {
		r.sorted = append(r.sorted, r.unsorted...)
		slices.Sort(r.sorted)
		r.unsorted = nil
	}
}

// Stats implements [Part].
func (r *Recent) Stats(context.Context) (Stats, error) {
	s := Stats{Size: len(r.docs), Memories: len(r.byKey), Words: r.words}
	for l, n := range r.perLang {
		if n > 0 {
			s.Languages = s.Languages.With(Language(l))
		}
	}
	return s, nil
}

// Forms implements [Part].
func (r *Recent) Forms(_ context.Context, l Language, stem string) ([]string, error) {
	return r.stems[stemOf{l, stem}], nil
}

// Beginning implements [Part], of what there was at the last Sort.
func (r *Recent) Beginning(_ context.Context, prefix string, limit int) (forms []string, err error) {
	from, _ := slices.BinarySearch(r.sorted, prefix)
	for _, form := range r.sorted[from:] {
		if !strings.HasPrefix(form, prefix) || limit > 0 && len(forms) == limit {
			break
		}
		forms = append(forms, form)
	}
	return forms, nil
}

// Postings implements [Part].
func (r *Recent) Postings(_ context.Context, form string, yield func([]Posting)) error {
	list := r.list(form)
	if len(r.docs) == len(r.byKey) {
		yield(list)
		return nil
	}
	var part [128]Posting
	n := 0
	for _, p := range list {
		if r.docs[p.Doc].dead {
			continue
		}
		part[n] = p
		if n++; n == len(part) {
			yield(part[:])
			n = 0
		}
	}
	yield(part[:n])
	return nil
}

// list returns the postings of a form, those of dead memories included.
func (r *Recent) list(form string) []Posting {
	if f := r.forms[form]; f != nil {
		return f.postings
	}
	return nil
}

// Seq implements [Part].
func (r *Recent) Seq(doc uint32) int64 { return r.docs[doc].seq }

// Entries implements [Part].
func (r *Recent) Entries(_ context.Context, docs []uint32) ([]Entry, error) {
	entries := make([]Entry, len(docs))
	for i, doc := range docs {
		entries[i] = r.docs[doc].Entry
	}
	return entries, nil
}
