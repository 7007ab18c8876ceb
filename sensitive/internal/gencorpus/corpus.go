package gencorpus

import (
	"math/rand/v2"
	"strings"
)

// A Note is a text with at most one secret.
type Note struct {
	Kind        string // what the secret is; for a harmless text, what the text is
	Surrounding string // the name of what surrounds the secret
	Text        string
	Start, End  int // of the secret in Text, in bytes; equal if there is none
}

// Secret returns the secret.
func (n Note) Secret() string { return n.Text[n.Start:n.End] }

// A maker makes texts from a source of random numbers.
type maker struct{ *rand.Rand }

func newMaker(seed uint64) maker { return maker{rand.New(rand.NewPCG(seed, 0x6d656d656e746f))} }

// newNote returns a note with the secret in the place of the first {} in around, and
// lines of prose before and after.
func (m maker) newNote(kind, surrounding, around, secret string) Note {
	before, after, _ := strings.Cut(around, "{}")
	before = m.lead() + before
	return Note{
		Kind: kind, Surrounding: surrounding,
		Text:  before + secret + after + m.trail(after),
		Start: len(before), End: len(before) + len(secret),
	}
}

// lead returns lines for the beginning of a note, or nothing.
func (m maker) lead() string {
	return pick(m, []string{"", "", "The deployment runs on Tuesdays.\n", "# Notes\n\n", "- asked by Kim in March\n", "Kurz notiert:\n\n", "用户的备忘\n"})
}

// trail returns lines for the end of a note after the text after, or nothing.
func (m maker) trail(after string) string {
	if after == "" || after[len(after)-1] != '\n' {
		return ""
	}
	return pick(m, []string{"", "The user prefers short answers.\n", "\nNext: check the backups.\n"})
}

func pick[T any](m maker, from []T) T { return from[m.IntN(len(from))] }

// chars returns n random characters of alphabet.
func (m maker) chars(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[m.IntN(len(alphabet))]
	}
	return string(b)
}

// bytes returns n random bytes.
func (m maker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(m.Uint32())
	}
	return b
}

const (
	digits  = "0123456789"
	small   = "abcdefghijklmnopqrstuvwxyz"
	capital = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	base62  = digits + capital + small
)

// alphabets are the alphabets that patterns name.
var alphabets = map[string]string{
	"d": digits, "a": small, "A": capital, "l": small + digits, "U": capital + digits,
	"hex": digits + "abcdef", "HEX": digits + "ABCDEF",
	"b32": capital + "234567", "lower32": small + "234567", "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
	"bech32": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
	"b62":    base62, "b64": base62 + "+/", "w": base62 + "-_",
}

// fill replaces each {alphabet:n} and {alphabet:least-most} in pattern by that many
// random characters, and {uuid} by a random UUID.
func (m maker) fill(pattern string) string {
	var b strings.Builder
	for {
		plain, rest, ok := strings.Cut(pattern, "{")
		b.WriteString(plain)
		if !ok {
			return b.String()
		}
		field, rest, ok := strings.Cut(rest, "}")
		if !ok {
			panic("gencorpus: pattern " + pattern)
		}
		pattern = rest
		if field == "uuid" {
			b.WriteString(m.fill("{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"))
			continue
		}
		name, count, _ := strings.Cut(field, ":")
		alphabet := alphabets[name]
		if alphabet == "" {
			panic("gencorpus: alphabet " + name)
		}
		b.WriteString(m.chars(alphabet, m.between(count)))
	}
}

// between returns the number n, or one from the range "least-most".
func (m maker) between(n string) int {
	low, high, isRange := strings.Cut(n, "-")
	least := atoi(low)
	if !isRange {
		return least
	}
	return least + m.IntN(atoi(high)-least+1)
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			panic("gencorpus: number " + s)
		}
		n = 10*n + int(c-'0')
	}
	return n
}
