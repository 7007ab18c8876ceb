package sensitive

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// charCounts are the numbers of characters of each sort in a text.
type charCounts struct{ lower, upper, digits, symbols, other int }

func countChars(s string) (t charCounts) {
	for _, c := range s {
		switch {
		case 'a' <= c && c <= 'z':
			t.lower++
		case 'A' <= c && c <= 'Z':
			t.upper++
		case '0' <= c && c <= '9':
			t.digits++
		case c < utf8.RuneSelf && !unicode.IsSpace(c):
			t.symbols++
		default:
			t.other++
		}
	}
	return t
}

// placeholderWords are words that people write instead of a secret.
var placeholderWords = sync.OnceValue(func() *keywords {
	return newKeywords([]string{
		"example", "placeholder", "changeme", "change-me", "change_me", "changeit", "replaceme", "replace-me", "replace_me", "replace-with", "replace_with",
		"your-", "your_", "yourpass", "yourkey", "yourtoken", "yoursecret", "yourapi", "my-secret", "my_secret", "mysecret",
		"redacted", "dummy", "insert-", "insert_", "xxxxx", "****", "••", "…", "...", "<", "${", "$(", "{{", "}}", "_here", "-here", "not-a-real", "notreal",
		"goes-here", "foobar", "lorem", "0000000", "1234567", "01020304", "abcdefg", "deadbeef",
	})
})

// isPlaceholder reports whether s is written in place of a secret.
func isPlaceholder(s string) bool {
	return s == "" || placeholderWords().in(s) || strings.IndexByte("$%{[(", s[0]) >= 0 && strings.IndexByte("%}])", s[len(s)-1]) >= 0 ||
		envName().MatchString(s) || strings.Count(s, s[:1]) == len(s)
}

// envName matches names of variables: $TOKEN, %TOKEN%, MY_TOKEN.
var envName = lazily(`^(?:\$\w+|%\w+%|@\w+@|[A-Z]+(?:_[A-Z]+)+)$`)

// isRandom reports whether s looks randomly generated rather than composed of words and
// numbers: it changes often between letters and digits, or between cases.
func isRandom(s string) bool {
	sum, last := uint64(0), uint8(0)
	for i := range len(s) {
		kind := characterKinds[s[i]]
		sum += kindChanges[last<<2|kind]
		last = kind
	}
	numbers, cases := sum>>32, sum&math.MaxUint32
	return numbers >= 4 || numbers >= 2 && cases >= 2 || cases >= 5
}

// minRandom is the length of the shortest value that is recognized because it looks random.
const minRandom = 10

// randomWords appends to words the parts of text without white space that look random, or
// have a part that does.
func randomWords(words []span, text string) []span {
	words = wordRun.all(words, text)
	return slices.DeleteFunc(words, func(w span) bool { return !isRandom(text[w.start:w.end]) })
}

// wordRun is a part of a text without white space that is long enough for a random value.
var wordRun = byteRun{func() (c class) {
	for b := range 256 {
		if !isSpace(byte(b)) {
			c[b>>6] |= 1 << (b & 63)
		}
	}
	return c
}(), minRandom}

// isIdentifier reports whether s is composed of words, as names in programs are
// (NewSecretManagerClient, apps.k8s.io/v1beta1): its small letters stand together, next to
// few digits.
func isIdentifier(s string) bool {
	letters, vowels, runs, digits, joined := 0, 0, 0, 0, false
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z':
			if strings.IndexByte("aeiouy", c) >= 0 {
				vowels++
			}
			if letters++; i == 0 || s[i-1] < 'a' || s[i-1] > 'z' {
				runs++
			}
		case isDigit(c):
			digits++
		case isLetter(c), c == '.', c == '/':
			joined = true
		case c != '_' && c != '-' && c != ':':
			return false
		}
	}
	if !joined || runs == 0 || vowels*100 < letters*28 {
		return false
	}
	if digits*10 < len(s) {
		return letters*10 >= runs*23
	}
	return letters >= runs*3 && digits*3 < len(s)
}

// isMember reports whether s is an exported method or field of a variable in a program, such
// as m.SetMapInt32Float.
func isMember(s string) bool {
	return strings.IndexByte(s, '.') > 0 && memberPattern().MatchString(s)
}

var memberPattern = lazily(`^[a-z]\w{0,11}\.[A-Z][a-z]+[A-Z][A-Za-z]+(?:\d+\w{0,10})?$|^[a-z]\w{0,11}\.(?:[A-Z][a-z]{2,}\d{0,4}){2,}$`)

// characterKinds are the kinds of bytes: 1 for digits, 2 for small letters, 3 for
// capital ones, 0 for others.
var characterKinds = func() (kinds [256]uint8) {
	for c := range kinds {
		switch c := byte(c); {
		case isDigit(c):
			kinds[c] = 1
		case isLetter(c) && c == lower(c):
			kinds[c] = 2
		case isLetter(c):
			kinds[c] = 3
		}
	}
	return kinds
}()

// kindChanges has, for a pair of consecutive kinds, what to add to the counts: in the
// upper half changes between letters and digits, in the lower half changes from a small
// to a capital letter.
var kindChanges = [16]uint64{1<<2 | 2: 1 << 32, 1<<2 | 3: 1 << 32, 2<<2 | 1: 1 << 32, 3<<2 | 1: 1 << 32, 2<<2 | 3: 1}

// isAssigned reports whether window may begin with a name that is assigned a value: the
// first sign after the words of the name is one for an assignment.
func isAssigned(window string) bool {
	const longest = 100 // of the name with the words and quotation marks around it
	for i := range min(len(window), longest) {
		c := window[i]
		if isNameByte(c) || c <= ' ' || c == '\'' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			continue
		}
		return strings.IndexByte("=>:|?,", c) >= 0
	}
	return false
}

// hashPattern matches digests and UUIDs.
var hashPattern = lazily(`^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128}|[0-9a-f]{7,12}|(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))$`)

func isHash(s string) bool { return hashPattern().MatchString(s) }

// knownID matches public identifiers: IDs of services, named digests, versions and
// dates.
var knownID = lazily(`^(?:` + strings.Join([]string{
	`(?:mem|memver|memstore|sesn|session|msg|toolu|srvtoolu|req|file|batch|msgbatch|call|resp|run|thread|asst|chatcmpl|wrkspc|apikey)[_-][0-9A-Za-z]+`,
	`(?:evt|cus|pi|pm|sub|prod|price|acct|org|proj|user|usr|trace|span|job|task|build|img|ami|vpc|subnet|sg|arn)[_-][0-9A-Za-z]+`,
	`(?:sha(?:1|256|384|512)|md5)[-:=_].*`,
	`v?\d+(?:\.\d+)+.*`, // versions
	`(?:[a-z]{2,}|k8s)(?:[./](?:[a-z]+|k8s|v\d+(?:(?:alpha|beta)\d+)?))+`, // packages
	`[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)*/v\d+(?:(?:alpha|beta)\d+)?`,    // versions of APIs
	`(?:19|20)\d\d-[01]\d-[0-3]\d.*`,                                      // dates
}, "|") + `)$`)

func isKnownID(s string) bool {
	return s != "" && (isDigit(s[0]) || s[0] >= 'a' && strings.IndexByte(s, ' ') < 0) && knownIDSign.in(s) && knownID().MatchString(s)
}

// knownIDSign is a sign that every public identifier has.
var knownIDSign = byteRun{func() (c class) {
	for _, b := range "-_.:/=" {
		c.add(rangeClass(b, b))
	}
	return c
}(), 1}

// trimEnd removes punctuation of the sentence from the end of s.
func trimEnd(text string, s span) span {
	for s.end > s.start && strings.IndexByte(".,;:", text[s.end-1]) >= 0 {
		s.end--
	}
	return s
}

// words returns a function for a finder of words, which is made on the first call.
func words(all ...string) func() *keywords {
	return sync.OnceValue(func() *keywords { return newKeywords(all) })
}

// joinedWords returns each of firsts together with last, with and without a sign between.
func joinedWords(firsts, last string) (all []string) {
	for first := range strings.FieldsSeq(firsts) {
		for _, sign := range []string{"", " ", "_", "-", "."} {
			all = append(all, first+sign+last)
		}
	}
	return all
}

// lazily returns a function that compiles the pattern on its first call, so that
// patterns that are not used cost nothing.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
