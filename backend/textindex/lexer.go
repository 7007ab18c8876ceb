package textindex

import (
	"strings"
	"sync"
)

// A lexer takes from texts what the index has of them. It remembers what it has found out
// about each spelling: that is most of the work, and texts repeat their words.
//
// It is not safe for concurrent use.
type lexer struct {
	filter *wordFilter // which forms a document has; nil for all
	room   int         // for how many spellings, and for how many forms between two documents

	tokens  tokenTable          // of words, and pairs of characters
	tallies map[string]*tallied // by form
	number  uint64              // of the document that is being read
	found   []*tallied          // in the document
}

// A token is what is known of a spelling.
type token struct {
	tokenInfo
	*tallied        // nil unless the form is counted
	word     string // the spelling; "" for characters and pairs
}

// A tokenInfo is what is needed of a token whose form is not counted.
type tokenInfo struct {
	function LanguageSet // the languages in which it is a function word
	script   script
	counted  bool
	nothing  bool // no word, because nothing is left of it without diacritics
}

// tallied is how often a document has a form.
type tallied struct {
	docForm
	number uint64 // of the document

	builder *builder // the last one that has looked the form up, where it has it at
	at      uint32
}

// Limits of what a lexer remembers.
const (
	maxTokens   = 1 << 16 // room
	maxSpelling = 64      // bytes
)

func newLexer(filter *wordFilter) *lexer {
	return &lexer{filter: filter, room: maxTokens, tokens: newTokenTable(), tallies: map[string]*tallied{}}
}

// lexers are those without a filter that nobody uses.
var lexers = sync.Pool{New: func() any { return newLexer(nil) }}

// read splits a memory into words and counts them.
func read(path, contents string) document {
	x := lexers.Get().(*lexer)
	defer lexers.Put(x)
	return x.read(path, contents)
}

// read splits a memory into words and counts those that the filter keeps.
func (x *lexer) read(path, contents string) document {
	d := x.tally(path, contents)
	if len(x.found) > 0 {
		d.forms = make([]docForm, len(x.found))
		for i, f := range x.found {
			d.forms[i] = f.docForm
		}
	}
	x.bound()
	return d
}

// tally is read that leaves the forms in found. The caller calls bound when it has used them.
func (x *lexer) tally(path, contents string) document {
	x.number++
	x.found = x.found[:0]
	d := document{}
	var language detector
	for line := range strings.Lines(contents) {
		if isHeading(line) {
			d.length += x.take(line, inHeading, &language)
		} else {
			d.length += x.take(line, inBody, &language)
		}
	}
	x.take(path, inPath, &language)
	d.language = language.language()
	return d
}

// bound drops what is remembered after a document if it is much.
func (x *lexer) bound() {
	for _, f := range x.found {
		f.word = "" // it may be a part of a long text
	}
	if len(x.tallies) >= x.room {
		x.forget()
	}
}

// disown forgets the builders that have used the lexer.
func (x *lexer) disown() {
	for _, t := range x.tallies {
		t.builder = nil
	}
}

// forget drops what is remembered, after a document. A map keeps its memory when it is cleared,
// so it gets a new one.
func (x *lexer) forget() {
	x.tokens.clear()
	x.tallies, x.found = map[string]*tallied{}, nil
}

// A field is where a word stands.
type field int

const (
	inBody field = iota
	inHeading
	inPath
)

// take counts the words of a part of a document, and returns how many there are.
func (x *lexer) take(text string, in field, language *detector) (words int) {
	var before span
	for at := 0; ; {
		w, ok := nextSpan(text, at)
		if !ok {
			return words
		}
		at = w.end
		t, info := x.tokens.get(text, w.start, w.end)
		if t == nil {
			t = x.learn(text[w.start:w.end], w.single)
			info = t.tokenInfo
		}
		if info.nothing {
			continue
		}
		words++
		if info.counted {
			x.count(t, in)
		}
		if w.single && before.single && before.end == w.start {
			t, info := x.tokens.get(text, before.start, w.end)
			if t == nil {
				t = x.learn(text[before.start:w.end], true)
				info = t.tokenInfo
			}
			if info.counted {
				x.count(t, in)
			}
		}
		before = w
		language.add(info)
	}
}

// count counts a form that the document has.
func (x *lexer) count(t *token, in field) {
	n := t.tallied
	if n.number != x.number {
		n.number = x.number
		n.word, n.counts = t.word, counts{}
		x.found = append(x.found, n)
	}
	switch in {
	case inHeading:
		increase(&n.heading)
		increase(&n.body)
	case inBody:
		increase(&n.body)
	case inPath:
		increase(&n.path)
	}
}

// learn finds out what there is to know about a spelling; single says that it is one character,
// or two, of a script without spaces.
func (x *lexer) learn(spelling string, single bool) *token {
	t := &token{}
	remember := len(spelling) <= maxSpelling
	if remember {
		spelling = strings.Clone(spelling) // it is a part of a text
	}
	form := spelling
	if !single {
		form, t.word = fold(spelling), spelling
	}
	t.nothing = form == ""
	form = term(form)
	t.function, t.script = functionWordOf[form], scriptOf(form)
	if !t.nothing && (x.filter == nil || x.keeps(form, t.word)) {
		if t.tallied = x.tallies[form]; t.tallied == nil {
			form = strings.Clone(form)
			t.tallied = &tallied{docForm: docForm{form: form}}
			x.tallies[form] = t.tallied
		}
		t.counted = true
	}
	if remember {
		if x.tokens.len() >= x.room { // also within a document, which may be all different words
			x.tokens.clear()
		}
		x.tokens.put(spelling, t)
	}
	return t
}

// keeps asks the filter. That may have learned something about other spellings.
func (x *lexer) keeps(form, word string) bool {
	spelled := len(x.filter.spelled)
	keeps := x.filter.keeps(form, word)
	if len(x.filter.spelled) > spelled {
		x.tokens.clear()
	}
	return keeps
}
