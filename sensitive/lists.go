package sensitive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A plural announces a list: "Passwords: kim: X, lee: Y", on one line or on several.

const (
	maxEntries = 20
	maxLabel   = 40 // bytes of what an entry is for
)

// list adds the values of a list of labels and values, and reports whether there are any.
func (a *announcement) list() bool {
	from := a.i
	for range maxEntries {
		a.blanks()
		a.itemMark()
		a.skip("\"'`*_")
		label := a.i
		if !a.label() {
			break
		}
		named := a.isSetting(strings.TrimRight(a.text[label:a.i], " :=：→–—->\"'`*"))
		v := a.token(sign, false)
		if found := a.text[v.start:v.end]; !named && !isNumberedName(found) && !isVariableName(found) {
			a.add(v)
		}
		a.i = max(a.i, v.end)
		if !v.quoted {
			a.i = v.end
		}
		a.skip("\"'`*_")
		a.takeAny([]string{"”", "»", "」"})
		separated := a.takeAny([]string{",", ";", "，", "、", "；", "،", "|", "/"})
		if a.blanks(); a.lineEnds() == 0 && !separated && !a.takeWord(&conjunctions) {
			break
		}
		a.blanks()
		a.takeWord(&conjunctions)
	}
	if len(a.found) == 0 {
		a.i = from
	}
	return len(a.found) > 0
}

// isSetting reports whether label says what a value is, not whose: it is no password then.
func (a *announcement) isSetting(label string) bool {
	label = strings.ToLower(label)
	return settings()[label] || a.what == aNumber && (signals()[label] || numberedSignal().MatchString(label))
}

// settings are labels of what passwords have, and where they are.
var settings = set(`name names id ids type types kind policy policies hash hashing hashed hasher algorithm encoder encoding format provider providers backend manager
	env environment variable vault see store stored storage source path file default defaults issued revoked expired reset changed rotated created updated
	version class driver module plugin schema rule rules key field label title url uri ref reference secretname secretref valuefrom
	siehe voir ver vedi zie typ tipo standard`)

// signals are labels of the pins of a chip or a plug, and numberedSignal matches those with a
// number. That a letter alone has none leaves the doors of a house.
var (
	signals        = set(`tx rx txd rxd sda scl sck mosi miso cs ss en rst reset gnd vcc vin led gpio clk dat data io pwm adc dac irq int`)
	numberedSignal = lazily(`^(?:[a-z]{2}|gpio|led|pin|jtag|uart|spi|i2c|con|tx|rx)[ _-]?\d{1,2}$`)
)

// isVariableName reports whether s is the name of a variable of the environment.
func isVariableName(s string) bool {
	return strings.IndexByte(s, '_') > 0 && !isDigit(s[0]) && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

var conjunctions = newWordList("and", "und", "et", "y", "e", "en", "i", "и")

// label skips what the value of an entry is for, of up to three words, and the sign after it.
func (a *announcement) label() bool {
	from, words := a.i, 1
	for a.i < a.end && a.i-from < maxLabel {
		c, size := utf8.DecodeRuneInString(a.rest())
		switch {
		case a.i > from && a.labelEnd():
			return true
		case c == ' ':
			words++
		case unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || strings.ContainsRune("_-.@'()+", c):
		case c == '`' || c == '"' || c == '*':
		default:
			a.i = from
			return false
		}
		if words > 3 {
			break
		}
		a.i += size
	}
	a.i = from
	return false
}

// labelEnd skips the sign after a label, and reports whether it is there.
func (a *announcement) labelEnd() bool {
	at := a.i
	if a.takeAny([]string{": ", "：", " = ", " → ", " -> ", " – ", " — ", " : "}) {
		a.blanks()
		return a.i < a.end && !isSpace(a.peek())
	}
	a.i = at
	return false
}
