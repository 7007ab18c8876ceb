package sensitive

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Passwords are found by the words that announce them. This file reads what follows such
// a word: the end of the name, what connects it with a value, and the value, which is
// anywhere from the same cell of a table to the line after the next. passwords.go judges
// whether the value is a password.

// A class of announcing words says what follows them.
type announces uint8

const (
	aPassword announces = iota
	aNetworkKey
	aNetworkLine // the same, if the line names a network before
	aNumber      // a PIN, or the code of a door
	aLogin       // a name and a password
	aKey         // a key or a token
	aPaired      // the same, but only if the value is beside the name: in a pair, the next cell, the next line
)

// readReach is how far from the start of the word a value can be, in bytes. It is less
// than the margin of linesAround, so that a second search sees what the first has seen.
const readReach = 480

// A connection is what stands between a name and a value. The order is by how certain it
// is that a value follows.
type connection uint8

const (
	none     connection = iota
	adjacent            // password X
	preceded            // with password X; --password X
	verb                // the password is X
	sign                // password: X
	own                 // password: X, alone on its line, in a cell or in a list
)

// A reader reads text from a position on, up to an end.
type reader struct {
	text string
	i    int
	end  int
}

func (r *reader) rest() string { return r.text[r.i:r.end] }

func (r *reader) peek() byte {
	if r.i < r.end {
		return r.text[r.i]
	}
	return 0
}

// skip skips bytes of set.
func (r *reader) skip(set string) {
	for r.i < r.end && strings.IndexByte(set, r.text[r.i]) >= 0 {
		r.i++
	}
}

// blanks skips spaces, also those of other scripts.
func (r *reader) blanks() {
	for {
		r.skip(" \t")
		if r.peek() < utf8.RuneSelf || !r.takeAny(wideBlanks) {
			return
		}
	}
}

// wideBlanks are spaces of other scripts, and the marks of direction of some.
var wideBlanks = []string{"\u00a0", "\u3000", "\u202f", "\u200e", "\u200f", "\u2066", "\u2067", "\u2068", "\u2069", "\u061c"}

// take skips s, if it is next.
func (r *reader) take(s string) bool {
	if strings.HasPrefix(r.rest(), s) {
		r.i += len(s)
		return true
	}
	return false
}

// takeAny skips the first of all that is next.
func (r *reader) takeAny(all []string) bool {
	for _, s := range all {
		if r.take(s) {
			return true
		}
	}
	return false
}

// A wordList is a list of words in lower case.
type wordList struct {
	words  []string
	starts class // of the first bytes of words
}

func newWordList(words ...string) wordList { return wordList{words, startsOf(words)} }

// takeWord skips the first of all that is next and not continued by a letter. Letters of
// ASCII are compared without case.
func (r *reader) takeWord(all *wordList) bool {
	if !all.starts.has(r.peek()) {
		return false
	}
	first := lower(r.peek())
	for _, s := range all.words {
		if s[0] == first && hasPrefixFold(r.rest(), s) && !r.letterAt(r.i+len(s)) {
			r.i += len(s)
			return true
		}
	}
	return false
}

// letterAt reports whether a letter, a digit or an underscore is at i. Letters of scripts
// without spaces between words do not count.
func (r *reader) letterAt(i int) bool {
	if i >= r.end {
		return false
	}
	if c := r.text[i]; c < utf8.RuneSelf {
		return isLetter(c) || isDigit(c) || c == '_'
	}
	c, _ := utf8.DecodeRuneInString(r.text[i:r.end])
	return unicode.IsLetter(c) && !isUnspaced(c)
}

// isUnspaced reports whether c belongs to a script whose words are written without spaces,
// or with endings joined to words of other scripts, as in Korean.
func isUnspaced(c rune) bool {
	return c >= 0x0e00 && c < 0x1100 && (c < 0x0ec0 || c >= 0x1000) || c >= 0x1100 && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Khmer)
}

func hasSuffixFold(s, suffix string) bool {
	return len(s) >= len(suffix) && strings.EqualFold(s[len(s)-len(suffix):], suffix)
}

func hasPrefixFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(s[i]) != lower(prefix[i]) {
			return false
		}
	}
	return true
}

// announced returns the values that the word of text[w.start:] announces.
func announced(words []string, what announces, short bool) func(text string, w span) []span {
	var byFirst [256][]string // the longest first
	for _, s := range slices.SortedStableFunc(slices.Values(words), func(a, b string) int { return len(b) - len(a) }) {
		byFirst[s[0]] = append(byFirst[s[0]], s)
	}
	return func(text string, w span) []span {
		word := ""
		for _, s := range byFirst[lower(text[w.start])] {
			if hasPrefixFold(text[w.start:w.end], s) {
				word = s
				break
			}
		}
		if word == "" {
			return nil
		}
		end := w.start + len(word)
		a := announcement{reader: reader{text, end, w.end}, what: what, name: span{w.start, end}, short: short}
		return a.values()
	}
}

// An announcement is a name for a secret, and what follows it.
type announcement struct {
	reader
	what  announces
	name  span
	short bool // the name is also a part of other words
	found []span
	line  int // where the line of the name begins, and one more; 0: not known

	rows     bool // the name is that of a column
	equals   bool // = follows the name: the value is on the same line
	bare     bool // nothing but a line end connects the name and the value
	many     bool // the name is a plural of what people choose
	assigned bool // nothing but a password can follow: an option, an element of XML
}

// nameSuffixes may follow a name that is an identifier.
var nameSuffixes = newWordList("_prod", "_production", "_dev", "_staging", "_test", "_live", "_old", "_new", "_root", "_admin", "_db", "_main", "_backup")

// values reads on after the name.
func (a *announcement) values() []span {
	start := a.name.start
	if a.short && start > 0 && a.text[start-1] != '_' && a.text[start-1] != '-' && !startsWord(a.text, start) {
		return nil
	}
	if c := a.peek(); c == 's' || c == 'S' {
		a.i++
		a.many = a.what < aKey && !isCombination(a.text[a.name.start:])
	}
	if !a.takeWord(&nameSuffixes) && a.i+1 < a.end && (a.peek() == '_' || a.peek() == '-' || isDigit(a.peek())) {
		from := a.i
		if !isDigit(a.peek()) {
			a.i++
		}
		a.skip("0123456789")
		if a.i-from > 3 || a.letterAt(a.i) {
			a.i = from
		}
	}
	last, _ := utf8.DecodeLastRuneInString(a.text[:a.i])
	if a.letterAt(a.i) && !isUnspaced(last) {
		return nil
	}
	a.name.end = a.i
	if a.what == aNetworkLine {
		if next := a.peek(); strings.IndexByte(" :=\t\"'`*(", next) < 0 && next < utf8.RuneSelf || !namesNetwork(a.before(start, 60), a.rest()) {
			return nil
		}
	}
	if line := a.before(start, 80); strings.HasPrefix(strings.TrimLeft(line, " \t"), "case ") { // of a switch
		return nil
	}
	if a.before(start, 4) == "--- " && strings.HasPrefix(a.rest(), ": ") { // output of go test
		return nil
	}
	if a.text[start:a.name.end] == "PASS" && strings.HasPrefix(a.rest(), ": Test") { // the same
		return nil
	}
	a.assigned = strings.HasPrefix(a.text[nameStart(a.text, start):], "--") // an option
	how := a.connect()
	if how != none {
		a.value(how)
	}
	if len(a.found) == 0 && a.what == aPassword {
		a.preceding()
	}
	return a.found
}

// roles stand between a value and the name that follows it: X is the password.
var roles = []string{" as the", " as your", " as", " is the", " is your", " is our", " is my", " ist das", " als", " est le", " comme", " es la", " como", " è la", " come", " é a"}

// preceding reads a value before the name: X is the admin password.
func (a *announcement) preceding() {
	start := nameStart(a.text, a.name.start)
	if start == 0 || a.text[start-1] != ' ' {
		return
	}
	line := a.before(start, 120)
	for range 3 { // with up to two words more
		words := strings.TrimRight(line, " ")
		for _, role := range roles {
			if strings.HasSuffix(words, role) {
				a.addBefore(start - len(a.before(start, 120)) + len(words) - len(role))
				return
			}
		}
		i := strings.LastIndexByte(words, ' ')
		if i < 0 || i == len(words)-1 || !isWords(words[i+1:]) {
			return
		}
		line = words[:i]
	}
}

// addBefore appends the value that ends at end.
func (a *announcement) addBefore(end int) {
	line := a.before(end, maxPassword)
	inner := strings.TrimRight(line, "\"'`*")
	start := strings.LastIndexAny(inner, " \t\"'`*") + 1
	s := span{end - len(line) + start, end - len(line) + len(inner)}
	if found := a.text[s.start:s.end]; isPassword(found, true) && !isIdentifier(found) && !reference().MatchString(found) {
		a.found = append(a.found, s)
	}
}

// before returns up to n bytes before i, on the line of the name. i is not after the name, and n at
// most readReach.
func (a *announcement) before(i, n int) string {
	if a.line == 0 {
		a.line = a.name.start - len(before(a.text, a.name.start, readReach)) + 1
	}
	return a.text[min(i, max(a.line-1, i-n)):i]
}

// startsWord reports whether no letter or digit precedes i.
func startsWord(text string, i int) bool {
	c, _ := utf8.DecodeLastRuneInString(text[:i])
	return i == 0 || !unicode.IsLetter(c) && !unicode.IsDigit(c) || isUnspaced(c)
}

// add appends a value if it is what is announced.
func (a *announcement) add(v value) {
	if s := a.judge(v); s.start < s.end {
		a.found = append(a.found, s)
	}
}

// connect reads what connects the name with its value.
func (a *announcement) connect() connection {
	if a.what != aPaired && (a.table() || a.column()) {
		return none
	}
	if a.pair() {
		return sign
	}
	from := a.i
	closed := a.closing()
	if closed {
		from = a.i
	}
	if a.what == aPaired {
		a.skip("*_ ")
		if a.nextCell() {
			return sign
		}
		a.i = from
		return a.withoutSign()
	}
	how := a.sign()
	if how == none {
		if a.i = from; a.qualifier() {
			from = a.i
			how = a.sign()
		}
	}
	if how != none {
		return how
	}
	a.i = from
	return a.withoutSign()
}

// pair reports whether the name is itself a value, beside that of the password, as in
//
//   - name: DB_PASSWORD
//     value: X
//
// and skips what is between them.
func (a *announcement) pair() bool {
	line := strings.TrimRight(a.before(nameStart(a.text, a.name.start), 16), " \"'\\")
	if line == "" || strings.IndexByte(":=", line[len(line)-1]) < 0 {
		return false
	}
	line = strings.TrimRight(line[:len(line)-1], " \"'\\")
	if !hasSuffixFold(line, "name") && !hasSuffixFold(line, "key") && !strings.HasSuffix(line, "<input type") {
		return false
	}
	from := a.i
	a.skip("\"'\\")
	if a.take(">") && strings.Contains(a.rest(), "</") { // XML
		a.assigned = true
		return true
	}
	a.skip(", \t\r\n\"'\\")
	if hasPrefixFold(a.rest(), "value") {
		a.i += len("value")
		a.skip("\"'\\")
		a.blanks()
		if c := a.peek(); c == ':' || c == '=' {
			a.i++
			a.assigned = a.what == aPassword
			return true
		}
	}
	a.i = from
	return false
}

// closing skips quotation marks, brackets and emphasis that end at the end of the name.
func (a *announcement) closing() bool {
	from := a.i
	for a.i < a.end && strings.IndexByte("\"'`*_])\\", a.text[a.i]) >= 0 && !strings.HasPrefix(a.rest(), "'s ") {
		a.i++
	}
	a.takeAny([]string{"」", "』", "】", "）", "”", "»"})
	return a.i > from
}

var (
	noAssignments = []string{"===", "!==", "==", "!=", "::", "=~", ":\\", "://"}
	arrows        = []string{":=", "=>", "->", "||"}
)

var wideSigns = []string{"：", "＝", "→", "—", "–", "⇒", "➜"}

// linkingVerbs connect a name with a value.
var linkingVerbs = newWordList(
	"should be", "is", "was", "are", "=", "ist", "war", "lautet", "lauten", "wäre", "est", "sont", "es", "son", "era", "è", "é", "e'", "sono", "são", "zijn", "jest", "brzmi", "är", "er",
	"теперь", "это", "now", "هي", "هو", "الآن", "היא", "הוא", "הם", "כעת", "עכשיו",
)

// adverbs may follow a verb.
var adverbs = newWordList(
	"still", "now", "just", "currently", "set to", "changed to", "reset to", "updated to", "rotated to", "jetzt", "noch", "nun", "désormais", "maintenant", "toujours",
	"ahora", "agora", "adesso", "ora", "nu", "teraz", "теперь", "simply", "الآن", "حاليا", "כעת", "עכשיו",
)

// changes are verbs of a change; the value follows.
var changes = newWordList("changed from", "went from", "rotated from", "set to", "changed to", "reset to", "updated to", "rotated to", "changed it to")

var toWord = newWordList("to")

// sign reads a sign or a verb between a name and a value.
func (a *announcement) sign() connection {
	a.skip("*_`")
	a.blanks()
	from := a.i
	if markStarts.has(a.peek()) {
		if how, ok := a.mark(); ok {
			return how
		}
	}
	if a.take("'s ") || a.take("’s ") {
		return verb
	}
	if from > a.name.end || a.spaceless() {
		a.i = from
		if a.takeCJKVerb() {
			return verb
		}
	}
	if from == a.name.end {
		return none
	}
	if a.takeWord(&changes) {
		return verb
	}
	if a.takeWord(&toWord) { // Polish; the password was set to
		if hasPrefixFold(a.text[a.name.start:], "has") || hasPrefixFold(a.text[a.name.start:], "kod") || isChanged(a.before(a.name.start, 60)) {
			return verb
		}
		return none
	}
	if !a.takeWord(&linkingVerbs) {
		return none
	}
	a.blanks()
	for a.takeWord(&adverbs) {
		a.blanks()
	}
	if a.peek() == ':' {
		a.i++
	}
	return verb
}

// markStarts are the first bytes of the signs that mark reads.
var markStarts = startsOf(slices.Concat(noAssignments, arrows, wideSigns, []string{":", "=", ",", "(", "- ", ">", "<", "...", "|"}))

// startsOf returns the class of the first bytes of words, of letters of ASCII in both cases.
func startsOf(words []string) (c class) {
	for _, w := range words {
		for _, b := range []byte(w[:1] + strings.ToUpper(w[:1])) {
			c[b>>6] |= 1 << (b & 63)
		}
	}
	return c
}

// mark reads a sign between a name and a value. ok is false if there is none; an expression of
// a program is none, and nothing else follows it.
func (a *announcement) mark() (how connection, ok bool) {
	from := a.i
	switch {
	case strings.HasPrefix(a.rest(), ":\\\""): // JSON within a string
		a.i++
		return sign, true
	case a.takeAny(noAssignments):
		if a.i == from+2 && a.text[from] == '=' && a.peek() == ' ' && (a.name.start == 0 || a.text[a.name.start-1] != '.') { // password == X, in a note
			return sign, true
		}
		return none, true
	case a.takeAny(arrows):
		return sign, true
	case a.peek() == ':' || a.peek() == '=':
		a.equals = a.peek() == '='
		a.i++
		if !a.equals {
			a.typed()
		}
		return sign, true
	case a.peek() == ',' && a.inCall():
		a.i++
		return sign, true
	case a.peek() == '(' && a.isSetter():
		a.i++
		return sign, true
	case a.takeAny(wideSigns):
		return sign, true
	case a.take("- ") && a.i > from && from > a.name.end:
		return sign, true
	case a.peek() == '>' && a.isElement():
		a.assigned = true
		a.i++
		return sign, true
	case a.peek() == '<' && a.nextCell():
		a.assigned = true
		return sign, true
	case a.take("..."):
		a.skip(".")
		return sign, true
	case a.peek() == '|' && a.inRow():
		a.i++
		return sign, true
	}
	return none, false
}

// stringTypes are the types of strings in declarations.
var stringTypes = newWordList("String?", "String", "string", "&str", "&'static str", "str", "Option<String>", "SecretString", "CharSequence", "Text")

// stringTags are tags of values in YAML.
var stringTags = []string{"!unsafe ", "!!str ", "!str "}

// typed skips the type in a declaration, as in "let password: String = ", up to the value, or
// the tag of the value.
func (a *announcement) typed() {
	from := a.i
	a.blanks()
	if a.takeAny(stringTags) {
		return
	}
	if a.takeWord(&stringTypes) {
		a.blanks()
		if a.peek() == '=' && !strings.HasPrefix(a.rest(), "==") {
			a.i++
			a.equals = true
			return
		}
	}
	a.i = from
}

// conversions are calls around a string that is a value.
var conversions = []string{"String::from(", "Some(", "SecretString::from(", "new String(", "String("}

// spaceless reports whether the name is of a script without spaces between words.
func (a *announcement) spaceless() bool {
	c, _ := utf8.DecodeRuneInString(a.text[a.name.start:a.name.end])
	return isUnspaced(c) || a.i < a.end && a.text[a.i] >= utf8.RuneSelf
}

var cjkVerbs = []string{
	"是：", "是:", "是", "为：", "为:", "为", "為", "改为", "改成", "改為", "设为", "设置为", "码是", "码为", "码：", "码:", "コードは", "コード：", "コード:", "は、", "は：", "は", "が", "＝",
	"번호는", "번호:", "는", "은", "이", "가", "：", ":", "號是", "号は", "号：", "号:",
}

// takeCJKVerb skips a verb or a particle of Chinese, Japanese or Korean.
func (a *announcement) takeCJKVerb() bool {
	a.blanks()
	if c := a.peek(); isLetter(c) || isDigit(c) || !a.takeAny(cjkVerbs) {
		return false
	}
	a.blanks()
	return true
}

// inCall reports whether the name is a string among the arguments of a call, as in
// define('DB_PASSWORD', 'X').
func (a *announcement) inCall() bool {
	start := nameStart(a.text, a.name.start)
	if start < 2 || strings.IndexByte(`"'`, a.text[start-1]) < 0 || a.i == 0 || a.text[a.i-1] != a.text[start-1] {
		return false
	}
	rest := strings.TrimLeft(a.text[a.i+1:a.end], " ")
	call := a.text[:start-1]
	return slices.ContainsFunc(settingCalls, func(s string) bool { return strings.HasSuffix(call, s) }) && rest != "" && strings.IndexByte(`"'`, rest[0]) >= 0
}

// settingCalls are calls with a name and a value.
var settingCalls = []string{"define(", "user_pref(", "setProperty("}

// isSetter reports whether the name is that of a function which sets a password, and a string
// is its argument.
func (a *announcement) isSetter() bool {
	name := a.text[nameStart(a.text, a.name.start):a.i]
	function := name[strings.LastIndexByte(name, '.')+1:]
	return a.i+1 < a.end && strings.IndexByte(`"'`, a.text[a.i+1]) >= 0 && a.i == a.name.end &&
		(hasPrefixFold(function, "set") || hasPrefixFold(function, "with") || strings.IndexByte(name, '.') == 0)
}

// isElement reports whether the name is that of an XML element with a text.
func (a *announcement) isElement() bool {
	start := nameStart(a.text, a.name.start)
	if start == 0 || a.text[start-1] != '<' {
		return false
	}
	i := strings.IndexAny(a.text[a.i:a.end], "<\n")
	return i >= 0 && strings.HasPrefix(a.text[a.i+i:], "</"+a.text[start:a.i])
}

// nextCell skips the end of a cell of a table in HTML and the start of the next one.
func (a *announcement) nextCell() bool {
	from := a.i
	if a.takeAny([]string{"</th>", "</td>", "</dt>"}) {
		a.skip(" \t\r\n")
		if a.takeAny([]string{"<td>", "<dd>"}) {
			return true
		}
	}
	a.i = from
	return false
}

// inRow reports whether the line of the name is a row of a table, or begins with the name.
func (a *announcement) inRow() bool {
	line := strings.TrimLeft(a.before(a.name.start, readReach), " \t>-*_`")
	return line == "" || line[0] == '|'
}

// prepositions begin what the password is for.
var prepositions = newWordList(
	"for", "of", "on", "at", "in", "from", "to", "für", "fürs", "im", "vom", "von", "am", "zum", "zur", "der", "des", "para", "del", "de la", "de", "do", "da", "das", "dos", "pour", "du", "des", "d'", "de l'",
	"della", "dell'", "di", "per", "van", "voor", "op", "от", "для", "к", "на", "карты", "karty", "na", "dla", "على", "في", "الخاصة", "الخاص", "של", "עבור",
)

// networks are words for a wireless network, also directly after the name of its key.
var networks = newWordList("wi-fi", "wifi", "wlan", "вайфай", "sieci", "сети", "réseau")

// adjectives that follow the name, where they do.
var adjectives = newWordList(
	"actuel", "temporaire", "provisoire", "nueva", "actual", "temporal", "nuova", "attuale", "temporanea", "provvisoria", "nova", "atual", "provisória", "temporária", "neu", "nowe", "tymczasowe",
)

// qualifier skips what the password is for, "for the router" or "(admin)", before a sign
// or a verb.
func (a *announcement) qualifier() bool {
	from := a.i
	a.blanks()
	if a.peek() == '(' || strings.HasPrefix(a.rest(), "（") {
		n := strings.IndexAny(a.rest(), ")）\n")
		if n < 0 || n > 60 || a.rest()[n] == '\n' {
			a.i = from
			return false
		}
		_, size := utf8.DecodeRuneInString(a.rest()[n:])
		a.i += n + size
		return true
	}
	if a.takeWord(&adjectives) {
		return true
	}
	if a.takeWord(&networks) {
		at := a.i
		how := a.sign()
		if a.i = at; how != none {
			return true
		}
	} else if !a.takeWord(&prepositions) && !a.elided() && !a.isConstruct() {
		a.i = from
		return false
	}
	for range 7 { // words
		a.blanks()
		start := a.i
		for a.i < a.end && !isSpace(a.text[a.i]) && strings.IndexByte(",;!?\"<>|=", a.text[a.i]) < 0 {
			if a.text[a.i] == ':' && (a.i+1 == a.end || isSpace(a.text[a.i+1])) || strings.HasPrefix(a.rest(), "：") {
				break
			}
			a.i++
		}
		if a.i == start {
			break
		}
		at := a.i
		how := a.sign()
		if a.i = at; how != none {
			return true
		}
	}
	a.i = from
	return false
}

// elided reports whether a word with an elided article follows, and skips to it: de l'alarme.
func (a *announcement) elided() bool {
	for _, p := range []string{"de l'", "de l’", "dell'", "dell’", "d'", "d’", "all'"} {
		if hasPrefixFold(a.rest(), p) {
			a.i += len(p)
			return true
		}
	}
	return false
}

// isConstruct reports whether the name is in Hebrew or Arabic, where what the password is for
// follows without a preposition, or with one that is joined to it.
func (a *announcement) isConstruct() bool {
	c, _ := utf8.DecodeRuneInString(a.text[a.name.start:a.name.end])
	return unicode.In(c, unicode.Hebrew, unicode.Arabic)
}

// introductions are words before "password X" after which X is the password.
var introductions = []string{"with", "use", "using", "try", "enter", "mit", "avec", "con", "com", "met", "z", "с", "using the", "with the", "mit dem", "avec le", "con la", "com a", "temporary", "use the",
	"用", "以", "user", "and", "und", "et", "y", "e", "en", "и", "باستخدام", "مع", "عبر", "עם", "באמצעות", ",", "،", "，", "、", "/", "(", ":", "：", "+"}

// withoutSign reads on after a name that no sign follows.
func (a *announcement) withoutSign() connection {
	from := a.i
	a.skip("*_")
	a.blanks()
	if a.peek() == '\r' || a.peek() == '\n' {
		return a.below()
	}
	if a.what >= aKey {
		return none
	}
	if a.assigned {
		return sign
	}
	if line := a.before(a.name.start, 120); strings.Contains(line, "machine ") && strings.Contains(line, " login ") { // .netrc
		a.assigned = true
		return sign
	}
	if strings.Contains(a.text[from:a.i], "\t") {
		return sign
	}
	if start := nameStart(a.text, a.name.start); start > 0 && a.text[start-1] == '$' || a.name.start > 0 && a.text[a.name.start-1] == '.' {
		return none // a variable
	}
	if a.i == from && !a.spaceless() && !(a.i < a.end && strings.HasPrefix(a.rest(), "“")) {
		return none
	}
	words := strings.TrimRight(strings.TrimSuffix(a.before(nameStart(a.text, a.name.start), 40), "ה"), " \t\u00a0\"'`*")
	if name := a.text[a.name.start:a.name.end]; strings.HasSuffix(name, "łem") || strings.HasSuffix(name, "ем") || a.isConstruct() && isJoinedWith(a.text[:a.name.start]) { // with a password
		return preceded
	}
	if a.peek() == '\'' && (strings.HasSuffix(words, "WITH") || strings.Contains(words, "USER ") || strings.Contains(words, "ROLE ")) { // in SQL
		a.assigned = true
		return sign
	}
	for _, c := range introductions {
		if n := len(words) - len(c); n >= 0 && strings.EqualFold(words[n:], c) && (c[0] < 'a' || c == "،" || startsWord(words, n)) {
			return preceded
		}
	}
	if a.text[a.name.start] >= utf8.RuneSelf && a.spaceless() {
		return preceded
	}
	return adjacent
}

// isJoinedWith reports whether before, the text before a name in Hebrew or Arabic, ends with the
// preposition for "with", and the article.
func isJoinedWith(before string) bool {
	before = strings.TrimSuffix(before, "ה")
	return strings.HasSuffix(before, "ב") || strings.HasSuffix(before, "ب")
}

// below reads the end of a line, if the name is all that is on it, and leaves the value
// on a line below.
func (a *announcement) below() connection {
	line := strings.TrimLeft(a.before(a.name.start, 80), " \t*_-+`>")
	isHeading := strings.HasPrefix(line, "#")
	isTerm := strings.HasPrefix(strings.TrimLeft(a.rest(), "\r\n"), ": ")
	if strings.Count(line, " ") > 4 {
		return none
	}
	a.bare = (line == "" || a.what == aPaired && strings.Count(line, " ") < 3) && !isTerm
	if !isHeading && !isTerm && !a.bare {
		return none
	}
	return sign
}

// value reads the value, which may be on a line below.
func (a *announcement) value(how connection) {
	lines := 0
	a.skip("*_")
	a.blanks()
	if how >= sign {
		for _, s := range []string{"|-", "|", ">-", ">"} { // blocks of YAML
			if a.take(s + "\n") {
				lines++
				break
			}
		}
		lines += a.lineEnds()
		if lines > 0 && a.equals {
			return
		}
	}
	if how == verb && a.what == aPassword && !a.short { // the line is wrapped
		switch a.lineEnds() {
		case 0:
		case 1:
			a.itemMark()
			a.add(a.token(verb, true))
			return
		default:
			return
		}
	}
	if lines > 2 {
		return
	}
	if lines > 0 {
		if a.many && a.list() {
			return
		}
		a.itemMark()
		a.add(a.token(own, true))
		return
	}
	if a.what == aLogin && !a.user() {
		return
	}
	if how >= verb {
		a.tags()
	}
	if a.equals {
		a.blanks()
		a.takeAny(conversions)
		if a.i+1 < a.end && strings.IndexByte("bru@$L", a.text[a.i]) >= 0 && strings.IndexByte(`"'`, a.text[a.i+1]) >= 0 { // a literal
			a.i++
		}
	}
	from := a.i
	if how >= sign && (a.phrase() || a.many && a.list()) {
		return
	}
	a.add(a.token(how, false))
	if len(a.found) > 0 && a.what == aPassword {
		a.change()
	}
	if a.i = from; len(a.found) > 0 || how >= verb || !a.takeWord(&prepositions) && !a.takeWord(&networks) {
		return
	}
	for range 4 { // password for the router X
		a.blanks()
		if a.add(a.token(adjacent, false)); len(a.found) > 0 || strings.IndexByte(".,;:\n", a.text[a.i-1]) >= 0 {
			return
		}
	}
}

// phrase adds a passphrase without quotation marks, if that is what the name means: words of
// letters up to the end of the line.
func (a *announcement) phrase() bool {
	if name := strings.TrimRight(a.text[a.name.start:a.name.end], "sS"); !hasSuffixFold(name, "phrase") && !strings.HasSuffix(name, "フレーズ") {
		return false
	}
	line, _, _ := strings.Cut(a.rest(), "\n")
	line = strings.TrimRight(line, " .\r")
	if !isPassphrase(line, " ") {
		return false
	}
	a.found = append(a.found, span{a.i, a.i + len(line)})
	return true
}

// changeWords stand between a password and the one that replaced it: "it was X, it's Y now".
var changeWords = newWordList("it's now", "it’s now", "it is now", "it's", "it’s", "it is", "now it's", "now it’s", "now it is", "now is", "is now", "and now", "now", "but now", "changed to", "to", "then",
	"jetzt", "jetzt ist es", "nun", "maintenant", "ahora", "ora", "agora", "nu", "teraz", "теперь")

// change adds the password that replaced the one before.
func (a *announcement) change() {
	a.i = a.found[len(a.found)-1].end
	a.skip("\"'`*”“»")
	a.skip(",;.")
	from := a.i
	if a.blanks(); a.i == from || !a.takeWord(&changeWords) {
		return
	}
	if a.peek() == ':' {
		a.i++
	}
	from = a.i
	if a.blanks(); a.i > from {
		v := a.token(verb, false)
		if found := a.text[v.start:v.end]; v.quoted || isPassword(found, true) {
			a.add(v)
		}
	}
}

// tags skips tags of HTML that change how a text looks.
func (r *reader) tags() {
	for r.peek() == '<' {
		if !r.takeAny(plainTags) {
			return
		}
		r.blanks()
	}
}

var plainTags = []string{"</b>", "</strong>", "</i>", "</em>", "</span>", "</label>", "</u>", "<code>", "<b>", "<strong>", "<i>", "<em>", "<kbd>", "<tt>", "<span>", "<u>", "<br>", "<br/>", "<br />"}

// lineEnds skips line ends and the blanks before, between and after them, and returns how
// many there are.
func (r *reader) lineEnds() int {
	n := 0
	for {
		r.blanks()
		if r.peek() == '\r' {
			r.i++
		}
		if r.peek() != '\n' {
			return n
		}
		r.i++
		n++
	}
}

// itemMark skips what begins a line in a list, a quotation or a block of code.
func (r *reader) itemMark() {
	if r.take("```") {
		for r.i < r.end && r.text[r.i] != '\n' {
			r.i++
		}
		r.lineEnds()
		return
	}
	r.take("> ")
	if !r.takeAny([]string{"- ", "* ", "+ ", ": ", "• "}) {
		from := r.i
		r.skip("0123456789")
		if r.i == from || !r.takeAny([]string{". ", ") "}) {
			r.i = from
		}
	}
	r.blanks()
}

// user skips a user name and the separator after it, and reports whether they are there.
func (a *announcement) user() bool {
	a.skip("\"`'*“")
	from := a.i
	for a.i < a.end && (isNameByte(a.text[a.i]) || strings.IndexByte("@+", a.text[a.i]) >= 0) {
		a.i++
	}
	if a.i < from+2 {
		return false
	}
	a.skip("\"`'*”")
	a.blanks()
	if !a.takeAny([]string{"/", ":", "|", ",", "，", "、", "／", "："}) {
		return false
	}
	a.blanks()
	return true
}

// A value is what may be a password.
type value struct {
	span
	how    connection
	quoted bool
	code   bool // in a code span or typographic quotation marks
	alone  bool // nothing else is on its line or in its cell
}

// quotePairs are quotation marks and brackets around a value.
var quotePairs = [][2]string{
	{"\\\"", "\\\""}, {`"""`, `"""`}, {"\"", "\""}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"„", "“"}, {"„", "”"}, {"‘", "’"}, {"‚", "‘"}, {"«", "»"}, {"‹", "›"}, {"「", "」"}, {"『", "』"}, {"【", "】"}, {"《", "》"},
}

// token reads a value: a text in quotation marks, or up to white space.
func (a *announcement) token(how connection, below bool) value {
	a.skip("*_")
	a.blanks()
	pairs := quotePairs
	if plainBytes.has(a.peek()) { // as mostly
		pairs = nil
	}
	for _, q := range pairs {
		if !strings.HasPrefix(a.rest(), q[0]) {
			continue
		}
		start := a.i + len(q[0])
		line := a.text[start:a.end]
		if n := strings.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
		}
		inside := strings.TrimPrefix(line, " ")
		n := strings.Index(inside, q[1])
		if n < 0 {
			continue
		}
		start += len(line) - len(inside)
		code := q[0] == "`" || q[0] == `"` || q[0][0] >= utf8.RuneSelf
		return value{span{start, start + len(strings.TrimRight(inside[:n], " \u00a0"))}, how, true, code, below || a.isRest(start+n+len(q[1]))}
	}
	start, inRow, known := a.i, false, false
	for a.i < a.end && a.i-start <= maxPassword {
		if plainBytes.has(a.text[a.i]) {
			a.i++
			continue
		}
		c, size := utf8.DecodeRuneInString(a.rest())
		if c == '|' && !known {
			inRow, known = isTableRow(a.text, start), true
		}
		if endsValue(c) || c == '|' && inRow || c == '\'' && a.i > start && a.text[start-1] == '\'' || c == '\\' && a.isEscape() {
			break
		}
		a.i += size
	}
	s := trimPassword(a.text, span{start, a.i})
	return value{s, how, false, false, a.isRest(s.end) && (below || a.isLineName())}
}

// isTableRow reports whether the line up to i begins as a row of a table does.
func isTableRow(text string, i int) bool {
	return strings.HasPrefix(strings.TrimLeft(before(text, i, readReach), " >"), "|")
}

// plainBytes never end a value.
var plainBytes = func() class {
	c := rangeClass('!', '~')
	for _, b := range []byte("\"`<>|'\\") {
		c[b>>6] &^= 1 << (b & 63)
	}
	return c
}()

// endsValue reports whether a value without quotation marks ends before c.
func endsValue(c rune) bool {
	if c < utf8.RuneSelf {
		return isSpace(byte(c)) || strings.IndexByte("\"`<>", byte(c)) >= 0
	}
	if 'À' <= c && c <= 'ɏ' || 'Ѐ' <= c && c <= 'ҁ' { // letters of Latin and Cyrillic, and × and ÷
		return false
	}
	return unicode.IsSpace(c) || isUnspaced(c) || unicode.In(c, unicode.Po, unicode.Pe, unicode.Pf, unicode.Pi, unicode.Ps, unicode.Pd)
}

// isEscape reports whether an escape sequence for white space or a quotation mark is next.
func (a *announcement) isEscape() bool {
	return a.i+1 < a.end && strings.IndexByte("nrt\"'", a.text[a.i+1]) >= 0
}

// isRest reports whether nothing but marks is between i and the end of the line or the cell.
func (a *announcement) isRest(i int) bool {
	rest := strings.TrimLeft(a.text[i:min(len(a.text), i+20)], " \t*_`.,;\"'")
	return rest == "" || strings.IndexByte("\r\n|", rest[0]) >= 0 || strings.HasPrefix(rest, "\\\n")
}

// isLineName reports whether nothing but marks is before the name on its line or in its
// cell, and at most a few words.
func (a *announcement) isLineName() bool {
	line := a.before(a.name.start, 60)
	line = line[strings.LastIndexByte(line, '|')+1:]
	return strings.Count(strings.Trim(line, " \t-*_`>#"), " ") < 2 && !strings.ContainsAny(line, "=(){};,")
}

// table reads the values of a column whose head is the name. It reports whether the name
// is the head of a column.
func (a *announcement) table() bool {
	n := strings.IndexByte(a.rest(), '\n')
	if n < 0 {
		return false
	}
	rows := a.rest()[n+1:]
	delimiter, rows, _ := strings.Cut(rows, "\n")
	if !isDelimiterRow(delimiter) {
		return false
	}
	line := a.before(a.name.start, readReach)
	separators := strings.Count(line, "|") + strings.Count(a.rest()[:n], "|")
	if separators == 0 {
		return false
	}
	cell := strings.TrimLeft(a.rest()[:n], " \t*_`")
	if cell != "" && cell[0] != '|' && cell[0] != '\r' && cell[0] != '(' {
		return true // a longer name
	}
	column := strings.Count(line, "|")
	at := a.end - len(rows)
	for range 12 {
		row, rest, whole := strings.Cut(rows, "\n")
		if strings.Count(row, "|") != separators && (strings.Count(row, "|") < 2 || !strings.HasPrefix(strings.TrimLeft(row, " "), "|")) {
			break
		}
		start := 0
		for range column {
			i := strings.IndexByte(row[start:], '|')
			if i < 0 {
				return true
			}
			start += i + 1
		}
		end := strings.IndexByte(row[start:], '|')
		if end < 0 && !whole {
			break
		}
		r := a.reader
		r.i, r.end = at+start, at+len(row)
		if end >= 0 {
			r.end = at + start + end
		}
		in := announcement{reader: r, what: a.what, name: a.name}
		v := in.token(own, false)
		v.alone = strings.Trim(a.text[v.end:r.end], " \t`*_\"'") == ""
		a.add(v)
		at, rows = at+len(row)+1, rest
	}
	return true
}

// isDelimiterRow reports whether s is the line between head and body of a table, in Markdown or
// as clients of databases print it.
func isDelimiterRow(s string) bool {
	return strings.Contains(s, "--") && strings.ContainsAny(s, "|+") && strings.Trim(s, "|+-: \t\r") == ""
}
