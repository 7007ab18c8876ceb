package sensitive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A bare word for a key announces that of a wireless network, if the network is named before it on
// the line: "SSID Fjord, key: X".

var networkWords = words(namesOfNetworks...)

var namesOfNetworks = []string{"ssid", "wi-fi", "wifi", "wlan", "wireless", "hotspot", "вайфай", "вай-фай"}

// namesNetwork reports whether line, which ends where a word for a key begins, names a wireless
// network. rest is what follows that word.
func namesNetwork(line, rest string) bool {
	if !networkWords().in(line) {
		return false
	}
	if isSettingOfOpenWrt(line, rest) {
		return true
	}
	const code = "<(){}$"
	marks := code
	if strings.Contains(line, `"ssid"`) { // JSON
		marks = "<("
	}
	inner := strings.TrimRight(line, " \t\"'`*")
	if inner == "" || strings.ContainsAny(line, marks) || inner == line && strings.IndexByte(".?:&@/#", line[len(line)-1]) >= 0 {
		return false
	}
	for _, word := range namesOfNetworks {
		for from := 0; from+len(word) <= len(line); from++ {
			if !hasPrefixFold(line[from:], word) || !startsWord(line, from) {
				continue
			}
			if followsNetwork(line[from+len(word):], word == "ssid") {
				return true
			}
		}
	}
	return false
}

// isSettingOfOpenWrt reports whether the line is a setting as the command uci reads and prints it.
func isSettingOfOpenWrt(line, rest string) bool {
	line = strings.TrimPrefix(strings.TrimLeft(line, " \t#$>"), "uci set ")
	return strings.HasPrefix(line, "wireless.") && line[len(line)-1] == '.' && strings.HasPrefix(rest, "='")
}

// linksToName are words between that for a network and its name.
var linksToName = newWordList("is", "ist", "est", "es", "è", "é", "called", "named", "name", "network")

// followsNetwork reports whether s, between a word for a network and one for its key, is empty, or a
// name and what separates it from the key. A name that nothing announces begins as names do.
func followsNetwork(s string, announced bool) bool {
	if strings.Trim(s, " _-") == "" { // hotspot key, WIFI_KEY
		return true
	}
	r := reader{s, 0, len(s)}
	r.skip("\"'`*")
	if announced && (strings.HasPrefix(r.rest(), " |") || strings.HasPrefix(r.rest(), "\t") || strings.HasPrefix(r.rest(), gap)) { // the names of columns
		return true
	}
	if c := r.peek(); c != ' ' && c != '\t' && c != ':' && c != '=' {
		return false
	}
	for range 3 {
		if r.blanks(); !r.takeWord(&linksToName) {
			break
		}
		announced = true
	}
	if c := r.peek(); c == ':' || c == '=' {
		announced = true
		r.i++
		r.blanks()
	}
	r.skip("\"'`*“„«")
	name := strings.TrimRight(r.rest(), " \t\"'`*")
	for _, word := range beforeKey {
		if n := len(name) - len(word); n > 0 && name[n-1] == ' ' && hasSuffixFold(name, word) {
			name = strings.TrimRight(name[:n], " ") + ","
		}
	}
	n := strings.LastIndexAny(name, ",;/|:.")
	if n <= 0 || n != len(name)-1 {
		return false
	}
	c, _ := utf8.DecodeRuneInString(name)
	return announced || unicode.IsUpper(c) || unicode.IsDigit(c) || unicode.IsLetter(c) && !unicode.IsLower(c)
}

// beforeKey are words between the name of a network and its key.
var beforeKey = []string{"the", "the security", "its", "and", "with", "und", "mit", "et", "avec", "y", "con", "e", "met", "en", "z", "и", "с"}

// isNoNetworkKey reports whether s, after a word for a key, is what programs call that: a name, or
// keys of a keyboard.
func isNoNetworkKey(s string) bool {
	return isIdentifier(s) || isNumberedName(s) || isSnakeName(s) || partsOfNames().in(s) || functionKey().MatchString(s)
}

var (
	partsOfNames = words("wifi", "wi-fi", "wlan", "wireless", "network", "ssid", "hotspot")
	functionKey  = lazily(`(?i)(?:^|[+-])F(?:[1-9]|1[0-9]|2[0-4])(?:$|[+-])`)
)

// isNumberedName reports whether s is words of letters, each but the first with a capital, and a
// number of one digit, as in LdapProvider2.
func isNumberedName(s string) bool {
	n := len(s) - 1
	if n < 6 || !isDigit(s[n]) || isDigit(s[n-1]) {
		return false
	}
	c := countChars(s[:n])
	return c.lower+c.upper == n && c.lower >= 2*c.upper && caseChanges(s[:n]) >= 2 && !isUnlikeWords(s[:n])
}

// isSnakeName reports whether s is words of small letters that underscores join, with a number of
// at most two digits after them.
func isSnakeName(s string) bool {
	s = strings.TrimRight(s, ";,")
	letters := strings.TrimRight(s, "0123456789")
	return len(s)-len(letters) <= 2 && strings.IndexByte(letters, '_') > 0 && strings.Trim(letters, "abcdefghijklmnopqrstuvwxyz_") == ""
}
