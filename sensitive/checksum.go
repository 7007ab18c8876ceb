package sensitive

import (
	"crypto/sha256"
	_ "embed"
	"hash/crc32"
	"math/big"
	"strings"
	"sync"
)

// Tokens with a checksum are recognized by it where their form alone says too little, and
// believed in spite of what else speaks against them.

const (
	base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// hasCRC32 reports whether the last six characters of a token are the checksum of those
// before them and after the prefix, as GitHub and npm make tokens.
func hasCRC32(token string) bool {
	_, random, ok := strings.Cut(token, "_")
	if !ok || len(random) < 12 {
		return false
	}
	random, check := random[:len(random)-6], random[len(random)-6:]
	sum := uint32(0)
	for i := range len(check) {
		sum = sum*62 + uint32(strings.IndexByte(base62, check[i]))
	}
	return sum == crc32.ChecksumIEEE([]byte(random))
}

// hasBase58Check reports whether s is base 58 with the checksum of Bitcoin: the first four
// bytes of the hash of the hash of the rest. version is the first byte.
func hasBase58Check(s string) (version byte, ok bool) {
	n := new(big.Int)
	for i := range len(s) {
		digit := strings.IndexByte(base58, s[i])
		if digit < 0 {
			return 0, false
		}
		n.Add(n.Mul(n, big.NewInt(58)), big.NewInt(int64(digit)))
	}
	data := n.Bytes()
	if len(data) < 5 {
		return 0, false
	}
	first := sha256.Sum256(data[:len(data)-4])
	second := sha256.Sum256(first[:])
	return data[0], string(second[:4]) == string(data[len(data)-4:])
}

// refineBitcoinKey accepts private keys in the wallet import format.
func refineBitcoinKey(text string, s span) span {
	if version, ok := hasBase58Check(text[s.start:s.end]); !ok || version != 0x80 && version != 0xef {
		return span{}
	}
	return s
}

//go:embed bip39-english.txt
var bip39English string

// bip39Words maps the words of recovery phrases to their numbers (BIP-39, English).
var bip39Words = sync.OnceValue(func() map[string]int {
	words := map[string]int{}
	for w := range strings.FieldsSeq(bip39English) {
		words[w] = len(words)
	}
	return words
})

// hasPhrase reports whether window has twelve words in a row of the lengths that words of
// recovery phrases have.
func hasPhrase(window string) bool {
	words, letters := 0, 0
	for i := range len(window) {
		if isLetter(window[i]) {
			letters++
			continue
		}
		switch {
		case letters >= 3 && letters <= 8:
			words++
		case letters > 0:
			words = 0
		}
		if words >= 12 {
			return true
		}
		letters = 0
	}
	return words >= 11 && letters >= 3 && letters <= 8
}

// refinePhrase accepts a recovery phrase: 12 to 24 words of the list of which the last bits
// are a checksum of the others. Words around the phrase, which the expression cannot tell
// from its own, are left out.
func refinePhrase(text string, s span) span {
	var run []phraseWord
	list := bip39Words()
	for i := s.start; i <= s.end; {
		start := i
		for i < s.end && isLetter(text[i]) {
			i++
		}
		if i > start {
			number, known := list[strings.ToLower(text[start:i])]
			if !known {
				run = run[:0]
			} else {
				run = append(run, phraseWord{span{start, i}, number})
			}
			for _, n := range []int{maxPhrase, 21, 18, 15, 12} {
				if !known || len(run) < n {
					continue
				}
				if last := run[len(run)-n:]; hasPhraseChecksum(last) {
					return span{last[0].start, i}
				}
			}
			continue
		}
		i++
	}
	return span{}
}

// maxPhrase is the number of words of the longest recovery phrase.
const maxPhrase = 24

// A phraseWord is a word of a recovery phrase, and its number in the list: eleven bits.
type phraseWord struct {
	span
	number int
}

// hasPhraseChecksum checks the last bits of the numbers of words, at most maxPhrase: one bit
// of checksum for each three words.
func hasPhraseChecksum(words []phraseWord) bool {
	var packed [maxPhrase*11/8 + 1]byte
	rest, bits, n := 0, 0, 0
	for _, w := range words {
		rest, bits = rest<<11|w.number, bits+11
		for ; bits >= 8; n++ {
			bits -= 8
			packed[n] = byte(rest >> bits)
		}
		rest &= 1<<bits - 1
	}
	packed[n] = byte(rest << (8 - bits))
	data := packed[:len(words)*4/3]
	sum := sha256.Sum256(data)
	return (sum[0]^packed[len(data)])>>(8-len(words)/3) == 0
}
