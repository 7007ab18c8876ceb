package sensitive

import (
	"strconv"
	"strings"
)

// The functions below check the national numbers whose checksum is a weighted sum, and
// those with rules of their own. As in checks.go, s is written with separators.

// anyNumber is for numbers without a checksum.
func anyNumber(string) bool { return true }

// weighted returns the sum of the first digits of s, each multiplied by its weight.
func weighted(s string, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += w * int(s[i]-'0')
	}
	return sum
}

func digitAt(s string, i int) int { return int(s[i] - '0') }

// isResidentID checks the last character (ISO 7064, MOD 11-2) of a Chinese identity number.
func isResidentID(s string) bool {
	sum := weighted(s, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
	return "10X98765432"[sum%11] == strings.ToUpper(s)[17]
}

// isRRN checks the last digit of a Korean resident registration number.
func isRRN(s string) bool {
	s = onlyDigits(s)
	return (11-weighted(s, 2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)%11)%10 == digitAt(s, 12)
}

// isMyNumber checks the last digit of a Japanese individual number.
func isMyNumber(s string) bool {
	s = onlyDigits(s)
	rest := weighted(s, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2) % 11
	check := 0
	if rest > 1 {
		check = 11 - rest
	}
	return check == digitAt(s, 11)
}

// isTaiwanID checks the last digit; the letter stands for two digits.
func isTaiwanID(s string) bool {
	n := strings.IndexByte("ABCDEFGHJKLMNPQRSTUVXYWZIO", s[0]) + 10
	return (n/10+n%10*9+weighted(s[1:], 8, 7, 6, 5, 4, 3, 2, 1, 1))%10 == 0
}

// isHongKongID checks the character in parentheses.
func isHongKongID(s string) bool {
	letters, number, check := s[:len(s)-9], s[len(s)-9:len(s)-3], s[len(s)-2]
	sum := 36 * 9 // a blank before one letter
	if len(letters) == 2 {
		sum = int(letters[0]-'A'+10) * 9
	}
	sum += int(letters[len(letters)-1]-'A'+10)*8 + weighted(number, 7, 6, 5, 4, 3, 2)
	want := 11 - sum%11
	switch want {
	case 11:
		return check == '0'
	case 10:
		return check == 'A'
	}
	return check == byte('0'+want)
}

// isNRIC checks the last letter of a number of Singapore.
func isNRIC(s string) bool {
	sum := weighted(s[1:], 2, 7, 6, 5, 4, 3, 2)
	switch s[0] {
	case 'T', 'G':
		sum += 4
	case 'M':
		sum += 3
	}
	switch s[0] {
	case 'S', 'T':
		return "JZIHGFEDCBA"[sum%11] == s[8]
	case 'F', 'G':
		return "XWUTRQPNMLK"[sum%11] == s[8]
	}
	return "KLJNPQRTUWX"[10-sum%11] == s[8]
}

// isThaiID checks the last digit.
func isThaiID(s string) bool {
	s = onlyDigits(s)
	return (11-weighted(s, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11)%10 == digitAt(s, 12)
}

// isIsraeliID checks the last digit, as in a payment card.
func isIsraeliID(s string) bool { return luhn(s) }

// isTCKN checks the last two digits of a Turkish identity number.
func isTCKN(s string) bool {
	odd := weighted(s, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	even := weighted(s, 0, 1, 0, 1, 0, 1, 0, 1)
	tenth := ((odd*7-even)%10 + 10) % 10
	return tenth == digitAt(s, 9) && (odd+even+tenth)%10 == digitAt(s, 10)
}

// isCURP checks the last digit of a Mexican population registry code.
func isCURP(s string) bool {
	sum := 0
	for i := range 17 {
		n := strings.IndexByte("0123456789ABCDEFGHIJKLMN", s[i])
		if n < 0 {
			n = int(s[i]-'O') + 25 // after Ñ
		}
		sum += n * (18 - i)
	}
	return (10-sum%10)%10 == digitAt(s, 17)
}

// isCUIT checks the last digit of an Argentine tax number.
func isCUIT(s string) bool {
	s = onlyDigits(s)
	check := 11 - weighted(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)%11
	return check%11 == digitAt(s, 10)
}

// isRUT checks the last character of a Chilean number.
func isRUT(s string) bool {
	number := onlyDigits(s[:len(s)-1])
	sum := 0
	for i := range len(number) {
		sum += digitAt(number, len(number)-1-i) * (2 + i%6)
	}
	return "0K987654321"[sum%11] == strings.ToUpper(s)[len(s)-1]
}

// isHETU checks the last character of a Finnish identity code.
func isHETU(s string) bool {
	n, err := strconv.Atoi(s[:6] + s[7:10])
	return err == nil && "0123456789ABCDEFHJKLMNPRSTUVWXY"[n%31] == s[10]
}

// isFodselsnummer checks the date and the last two digits of a Norwegian number.
func isFodselsnummer(s string) bool {
	s = onlyDigits(s)
	day, month := s[:2], s[2:4]
	first := (11 - weighted(s, 3, 7, 6, 1, 8, 9, 4, 5, 2)%11) % 11
	second := (11 - weighted(s, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)%11) % 11
	return day >= "01" && day <= "31" && month >= "01" && month <= "12" && first == digitAt(s, 9) && second == digitAt(s, 10)
}

// isBelgianNumber checks the remainder by 97; from 2000 on, a 2 precedes the number.
func isBelgianNumber(s string) bool {
	s = onlyDigits(s)
	n, _ := strconv.Atoi(s[:9])
	check, _ := strconv.Atoi(s[9:])
	return 97-n%97 == check || 97-(2_000_000_000+n)%97 == check
}

// isNIF checks the last digit of a Portuguese tax number.
func isNIF(s string) bool {
	s = onlyDigits(s)
	check := 11 - weighted(s, 9, 8, 7, 6, 5, 4, 3, 2)%11
	if check > 9 {
		check = 0
	}
	return check == digitAt(s, 8)
}

// isSVNR checks the fourth digit of an Austrian social security number.
func isSVNR(s string) bool {
	s = onlyDigits(s)
	return weighted(s, 3, 7, 9, 0, 5, 8, 4, 2, 1, 6)%11 == digitAt(s, 3)
}

// isPPS checks the letter of an Irish number; a second letter counts nine times.
func isPPS(s string) bool {
	sum := weighted(s, 8, 7, 6, 5, 4, 3, 2)
	if len(s) == 9 && s[8] != 'W' {
		sum += 9 * int(s[8]-'A'+1)
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == s[7]
}

// isNHS checks the last digit of a number of the British health service.
func isNHS(s string) bool {
	s = onlyDigits(s)
	return (11-weighted(s, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11)%11 == digitAt(s, 9)
}

// isSNILS checks the last two digits of a Russian insurance number.
func isSNILS(s string) bool {
	s = onlyDigits(s)
	check, _ := strconv.Atoi(s[9:])
	return weighted(s, 9, 8, 7, 6, 5, 4, 3, 2, 1)%101%100 == check
}

// isINN checks the last two digits of the Russian tax number of a person.
func isINN(s string) bool {
	return weighted(s, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == digitAt(s, 10) &&
		weighted(s, 3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8)%11%10 == digitAt(s, 11)
}

// isCNP checks the last digit of a Romanian number.
func isCNP(s string) bool {
	check := weighted(s, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9) % 11
	return check%10+check/10 == digitAt(s, 12)
}

// isRodneCislo checks that a Czech or Slovak birth number is a multiple of 11.
func isRodneCislo(s string) bool {
	n, err := strconv.Atoi(onlyDigits(s))
	month, _ := strconv.Atoi(s[2:4])
	return err == nil && n%11 == 0 && (month%50 >= 1 && month%50 <= 12 || month%50 >= 21 && month%50 <= 32) && s[4:6] >= "01" && s[4:6] <= "31"
}

// isEGN checks the last digit of a Bulgarian number.
func isEGN(s string) bool {
	return weighted(s, 2, 4, 8, 5, 10, 9, 7, 3, 6)%11%10 == digitAt(s, 9)
}

// isOIB checks the last digit of a Croatian number (ISO 7064, MOD 11,10).
func isOIB(s string) bool {
	product := 10
	for i := range 10 {
		sum := (digitAt(s, i) + product) % 10
		if sum == 0 {
			sum = 10
		}
		product = sum * 2 % 11
	}
	return (11-product)%10 == digitAt(s, 10)
}

// isTFN checks the weighted sum of an Australian tax file number.
func isTFN(s string) bool {
	switch s = onlyDigits(s); len(s) {
	case 8:
		return weighted(s, 10, 7, 8, 4, 6, 3, 5, 1)%11 == 0
	case 9:
		return weighted(s, 1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0
	}
	return false
}
