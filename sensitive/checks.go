package sensitive

import (
	"strconv"
	"strings"
)

// The functions below check numbers as they are written, with separators.

func onlyDigits(s string) string {
	return strings.Map(func(c rune) rune {
		if '0' <= c && c <= '9' {
			return c
		}
		return -1
	}, s)
}

// luhn checks the last digit against the others (ISO/IEC 7812-1, annex B).
func luhn(number string) bool {
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isCard checks length and checksum, and that the number has more than one digit.
func isCard(s string) bool {
	number := onlyDigits(s)
	if len(number) < 14 || len(number) > 19 || !luhn(number) {
		return false
	}
	return len(strings.ReplaceAll(number, number[len(number)-1:], "")) > 3
}

// ibanLengths is from the registry of ISO 13616.
var ibanLengths = map[string]int{
	"AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24,
	"DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
	"HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20,
	"LV": 21, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29,
	"RO": 24, "RS": 22, "SA": 24, "SC": 31, "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22,
	"VG": 24, "XK": 20,
}

// isIBAN checks the remainder by 97 (ISO 7064).
func isIBAN(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	rest := 0
	for _, c := range s[4:] + s[:4] {
		switch {
		case '0' <= c && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case 'A' <= c && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest == 1
}

// isSSN checks the ranges that are in use.
func isSSN(s string) bool {
	area, group, serial := s[:3], s[4:6], s[7:]
	return s[3] == s[6] && area != "000" && area != "666" && area < "900" && group != "00" && serial != "0000" &&
		s != "123-45-6789" && s != "078-05-1120"
}

// isNINO checks the prefixes that are in use.
func isNINO(s string) bool {
	switch s[:2] {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return true
}

// isGermanTaxID checks the last digit (ISO 7064, MOD 11,10), and that exactly one
// of the first ten digits comes more than once, at most three times.
func isGermanTaxID(s string) bool {
	s = onlyDigits(s)
	var counts [10]int
	product := 10
	for i := range 10 {
		d := int(s[i] - '0')
		counts[d]++
		sum := (d + product) % 10
		if sum == 0 {
			sum = 10
		}
		product = sum * 2 % 11
	}
	repeated := 0
	for _, n := range counts {
		if n > 3 {
			return false
		}
		if n > 1 {
			repeated++
		}
	}
	return repeated == 1 && (11-product)%10 == int(s[10]-'0')
}

// isDNI checks the letter, of numbers for citizens (DNI) and foreigners (NIE).
func isDNI(s string) bool {
	s = strings.ReplaceAll(s, "-", "")
	number := strings.NewReplacer("X", "0", "Y", "1", "Z", "2").Replace(s[:1]) + s[1:8]
	n, err := strconv.Atoi(number)
	return err == nil && "TRWAGMYFPDXBNJZSQVHLCKE"[n%23] == s[8]
}

// isNIR checks the last two digits; Corsica's departments count as 19 and 18.
func isNIR(s string) bool {
	s = strings.ReplaceAll(s, " ", "")
	body := strings.NewReplacer("2A", "19", "2B", "18").Replace(s[:13])
	n, err := strconv.ParseInt(body, 10, 64)
	key, err2 := strconv.Atoi(s[13:])
	return err == nil && err2 == nil && int(97-n%97) == key
}

// isCodiceFiscale checks the last letter.
func isCodiceFiscale(s string) bool {
	odd := [26]int{1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23}
	sum := 0
	for i := range 15 {
		n := int(s[i] - 'A')
		if isDigit(s[i]) {
			n = int(s[i] - '0')
		}
		if i%2 == 0 {
			n = odd[n]
		}
		sum += n
	}
	return int(s[15]-'A') == sum%26
}

// isCPF checks the last two digits.
func isCPF(s string) bool {
	s = onlyDigits(s)
	if strings.Count(s, s[:1]) == len(s) {
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(s[i]-'0') * (n + 1 - i)
		}
		if sum*10%11%10 != int(s[n]-'0') {
			return false
		}
	}
	return true
}

// isAHV checks the last digit as in an EAN.
func isAHV(s string) bool {
	s = onlyDigits(s)
	sum := 0
	for i := range 12 {
		sum += int(s[i]-'0') * (1 + i%2*2)
	}
	return (10-sum%10)%10 == int(s[12]-'0')
}

// isPersonnummer checks the last digit.
func isPersonnummer(s string) bool {
	s = onlyDigits(s)
	return luhn(s[len(s)-10:])
}

// isAadhaar checks the last digit (Verhoeff).
func isAadhaar(s string) bool {
	turn := [8]string{"0123456789", "1576283094", "5803796142", "8916043527", "9453126870", "4286573901", "2793806415", "7046913258"}
	times := [10]string{"0123456789", "1234067895", "2340178956", "3401289567", "4012395678", "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"}
	s = onlyDigits(s)
	sum := byte(0)
	for i := range len(s) {
		digit := s[len(s)-1-i] - '0'
		sum = times[sum][turn[i%8][digit]-'0'] - '0'
	}
	return sum == 0
}

// isBSN checks the sum of the digits, weighted from 9 to 2 and -1, by 11.
func isBSN(s string) bool {
	sum := -int(s[8] - '0')
	for i := range 8 {
		sum += int(s[i]-'0') * (9 - i)
	}
	return sum > 0 && sum%11 == 0
}

// isPESEL checks the last digit and the date of birth.
func isPESEL(s string) bool {
	weights := [10]int{1, 3, 7, 9, 1, 3, 7, 9, 1, 3}
	sum := 0
	for i, w := range weights {
		sum += int(s[i]-'0') * w
	}
	month, day := s[2:4], s[4:6]
	return (10-sum%10)%10 == int(s[10]-'0') && (month[0]-'0')%2*10+month[1]-'0' <= 12 && day >= "01" && day <= "31"
}
