package textindex

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"memento"
)

// A Request is a parsed query of people and agents. docs/search.md describes the syntax.
type Request struct {
	All   bool         // match:all: Exact decides which memories match
	Exact Query        // the query without operators, for All
	Dir   memento.Path // only memories below it; "" if the query has no dir:

	Condition // of memories' last change

	words   []queryWord
	phrases []queryPhrase
}

// A queryWord is a word that memories are ranked by.
type queryWord struct {
	form     string // as in the index
	word     string // as in the query; "" for a character of a script without spaces, or two
	weight   float32
	function bool // ranks, but does not find
	must     bool
	not      bool
	typing   bool // it may be the beginning of a word
	phrases  mask // quoted terms of the query, by number, that have it and a memory must have
}

// A queryPhrase is a phrase that memories must, or must not, have.
type queryPhrase struct {
	words phrase
	not   bool
}

const (
	// functionWeight is what a function word counts, in comparison with other words.
	functionWeight = 0.15
	// characterWeight is what a character of a script without spaces counts, in comparison
	// with a pair. Like functionWeight, it is a choice and not measured.
	characterWeight = 0.2
)

// maxRequestWords bounds the words that memories are ranked by, see mask.
const maxRequestWords = 32

// ParseRequest parses a query. now is the time that "since:7d" is relative to.
func ParseRequest(query string, now time.Time) Request {
	var r Request
	var rest strings.Builder // without operators
	for t := range terms(query) {
		if !t.quoted && t.sign == "" && r.operator(t.text, now) {
			continue
		}
		if t.quoted {
			rest.WriteString(`"` + t.text + `" `)
		} else {
			rest.WriteString(t.sign + t.text + " ")
		}
		r.add(t, t.end == len(query))
	}
	r.Exact = Parse(rest.String())
	return r
}

// A queryTerm is a part of a query between white space, or between quotation marks.
type queryTerm struct {
	sign   string // "+", "-" or ""
	text   string
	quoted bool
	end    int // offset of what follows it in the query
	number int // from 0
}

// terms yields at most maxPhrases terms of a query.
func terms(query string) func(yield func(queryTerm) bool) {
	return func(yield func(queryTerm) bool) {
		const space = " \t\n\r\f\v\u00a0\u3000"
		for n, at := 0, 0; n < maxPhrases; {
			at += len(query[at:]) - len(strings.TrimLeft(query[at:], space))
			if at == len(query) {
				return
			}
			var t queryTerm
			if query[at] == '+' || query[at] == '-' {
				t.sign = query[at : at+1]
				at++
			}
			if strings.HasPrefix(query[at:], `"`) {
				text, _, closed := strings.Cut(query[at+1:], `"`)
				t.text, t.quoted = text, true
				at += 1 + len(text)
				if closed {
					at++
				}
			} else {
				end := strings.IndexAny(query[at:], space+`"`)
				if end < 0 {
					end = len(query) - at
				}
				t.text = query[at : at+end]
				at += end
				if value, quoted := strings.CutPrefix(query[at:], `"`); quoted && isOperator(t.text) {
					value, _, _ = strings.Cut(value, `"`)
					t.text += value
					at = min(len(query), at+len(value)+2)
				}
			}
			t.end = at
			if t.text == "" {
				continue
			}
			t.number = n
			n++
			if !yield(t) {
				return
			}
		}
	}
}

// isOperator reports whether an operator begins with text, such as "by:".
func isOperator(text string) bool {
	return slices.Contains([]string{"dir:", "since:", "by:", "match:"}, text)
}

// operator reports whether text is an operator, and carries it out.
func (r *Request) operator(text string, now time.Time) bool {
	name, value, _ := strings.Cut(text, ":")
	switch name {
	case "dir":
		p, err := memento.ParsePath(strings.TrimPrefix(strings.TrimRight(value, "/"), "/memories"))
		if value == "/" || value == "/memories" {
			p, err = memento.Root, nil
		}
		if err != nil {
			return false
		}
		r.Dir = p
	case "since":
		since, ok := parseSince(value, now)
		if !ok {
			return false
		}
		r.Since = since
	case "by":
		if value == "" {
			return false
		}
		r.By = value
	case "match":
		if value != "all" {
			return false
		}
		r.All = true
	default:
		return false
	}
	return true
}

// parseSince parses a date, a time, or a number of hours, days, weeks, months or years
// before now, such as "7d" or "2m" for two months.
func parseSince(value string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.RFC3339, "2006-01", "2006"} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UTC(), true
		}
	}
	if len(value) < 2 {
		return time.Time{}, false
	}
	n, err := strconv.Atoi(value[:len(value)-1])
	if err != nil || n < 0 || n > 10_000 {
		return time.Time{}, false
	}
	switch value[len(value)-1] {
	case 'h':
		return now.Add(-time.Duration(n) * time.Hour), true
	case 'd':
		return now.AddDate(0, 0, -n), true
	case 'w':
		return now.AddDate(0, 0, -7*n), true
	case 'm':
		return now.AddDate(0, -n, 0), true
	case 'y':
		return now.AddDate(-n, 0, 0), true
	}
	return time.Time{}, false
}

// add adds the words of a term. last says whether nothing follows it in the query.
func (r *Request) add(t queryTerm, last bool) {
	var p phrase
	var before Word
	ended := 0
	var phrases mask
	if t.quoted && t.sign != "-" {
		phrases = 1 << t.number
	}
	for w := range Words(t.text) {
		if len(p) == maxWords {
			break
		}
		p = append(p, w.Text)
		ended = w.End
		q := queryWord{form: term(w.Text), word: t.text[w.Start:w.End], weight: 1, must: t.sign == "+", not: t.sign == "-"}
		if t.quoted {
			q.must, q.not, q.phrases = false, false, phrases // see weigh
		}
		if w.single {
			q.word, q.weight = "", characterWeight
			if pair := pairOf(before, w); pair != "" {
				r.addWord(queryWord{form: pair, weight: 1, must: q.must, not: q.not})
			}
		}
		before = w
		if !t.quoted || t.sign != "-" {
			r.addWord(q)
		}
	}
	if t.quoted && len(p) > 1 {
		r.phrases = append(r.phrases, queryPhrase{p, t.sign == "-"})
	} else if t.quoted && len(p) == 1 {
		r.addWord(queryWord{form: term(p[0]), weight: 1, must: t.sign != "-", not: t.sign == "-"})
	}
	if n := len(r.words); last && !t.quoted && n > 0 && ended == len(t.text) && len(p) > 0 && r.words[n-1].form == term(p[len(p)-1]) {
		r.words[n-1].typing = true
	}
}

// addWord adds a word, unless the request has it already or has too many.
func (r *Request) addWord(w queryWord) {
	for i := range r.words {
		if q := &r.words[i]; q.form == w.form && q.not == w.not {
			q.must = q.must || w.must
			q.phrases |= w.phrases
			return
		}
	}
	if len(r.words) < maxRequestWords {
		r.words = append(r.words, w)
	}
}

// functions returns the function words, of the languages that are spoken in the store, which
// are only looked for in contents; and the words that count little: those, and others of
// phrases that have no other words.
func (r *Request) functions(spoken LanguageSet) (functions, light mask) {
	// The query is in a language with most function words. One alone may be a word of
	// another language, unless the store has only one.
	enough := 2
	if spoken&(spoken-1) == 0 {
		enough = 1
	}
	var count [languages]int
	for _, w := range r.words {
		for l := range languages {
			if spoken.Has(l) && functionWordOf[w.form].Has(l) {
				count[l]++
			}
		}
	}
	most := max(enough, slices.Max(count[:]))
	var likely LanguageSet
	for l := range languages {
		if count[l] == most {
			likely = likely.With(l)
		}
	}
	var decided mask // phrases that have other words
	others := false
	for i, w := range r.words {
		if !w.must && !w.not && functionWordOf[w.form]&likely != 0 {
			light |= 1 << i
			continue
		}
		decided |= w.phrases
		others = others || !w.not
	}
	if !others { // they find as other words do
		return 0, 0
	}
	functions = light
	for i, w := range r.words {
		if w.phrases&^decided != 0 {
			functions &^= 1 << i
		}
	}
	return functions, light
}

// weigh tells the function words apart. A memory must have the other words of a phrase: so
// only few have to be read to see whether they stand together.
func (r *Request) weigh(spoken LanguageSet) {
	functions, light := r.functions(spoken)
	for i := range r.words {
		w := &r.words[i]
		w.function = functions.has(i)
		if light.has(i) {
			w.weight *= functionWeight
		}
		w.must = w.must || w.phrases != 0 && !w.function
	}
}

// Empty reports whether the query has no word to look for. Such a query matches nothing.
func (r *Request) Empty() bool {
	if r.All {
		return r.Exact.Empty()
	}
	return !slices.ContainsFunc(r.words, func(w queryWord) bool { return !w.not })
}

// A mask is a set of words of a request, by their indexes.
type mask uint32

func (m mask) has(i int) bool { return m&(1<<i) != 0 }
