package sensitive

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"memento"
)

// specimens are numbers that their issuers or standards publish as examples.
var specimens = map[string][]string{
	"cn-resident-id":     {"11010519491231002X"},
	"jp-my-number":       {"1234 5678 9018"},
	"in-aadhaar":         {"2341 2341 2346"},
	"mx-curp":            {"BOXW310820HNERXN09", "HEGG560427MVZRRL04"},
	"ar-cuit":            {"20-12345678-6"},
	"cl-rut":             {"12.345.678-5"},
	"za-id":              {"8001015009087"},
	"tr-tckn":            {"10000000146"},
	"il-id":              {"123456782"},
	"fi-hetu":            {"131052-308T"},
	"tw-id":              {"A123456789"},
	"sg-nric":            {"S1234567D"},
	"uk-nhs-number":      {"943 476 5919"},
	"ru-snils":           {"112-233-445 95"},
	"es-dni":             {"12345678Z"},
	"pl-pesel":           {"44051401359"},
	"nl-bsn":             {"111222333"},
	"hr-oib":             {"69435151530"},
	"au-tfn":             {"123456782"},
	"be-national-number": {"85.07.30-033.28"},
	"ie-pps":             {"1234567T"},
}

func TestSpecimens(t *testing.T) {
	for kind, all := range specimens {
		for _, s := range all {
			valid := false
			for _, n := range nationalNumbers {
				valid = valid || n.kind == kind && matchesWhole(n.pattern, s) && n.valid(s)
			}
			if !valid {
				t.Errorf("%s: %s is not valid", kind, s)
			}
		}
	}
}

func matchesWhole(pattern, s string) bool {
	return regexp.MustCompile(`^(?:` + pattern + `)$`).MatchString(s)
}

// numbers returns n numbers in the form of the pattern that are valid.
func numbers(t *testing.T, w writer, pattern string, valid func(string) bool, n int) []string {
	t.Helper()
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for range 200_000 {
		if s := w.match(parsed); valid(s) {
			if all = append(all, s); len(all) == n {
				return all
			}
		}
	}
	t.Fatalf("%s: only %d valid numbers", pattern, len(all))
	return nil
}

// With a checksum, at most a few of the characters that can stand at a place are right.
func TestChecksums(t *testing.T) {
	weak := map[string]bool{"us-ssn": true, "uk-nino": true, "in-pan": true, "my-nric": true, "dk-cpr": true, "kr-rrn": true}
	w := writer{rand.New(rand.NewPCG(21, 22))}
	for _, n := range nationalNumbers {
		if weak[n.kind] {
			continue
		}
		changed, accepted := 0, 0
		form := regexp.MustCompile(`^(?:` + n.pattern + `)$`)
		for _, s := range numbers(t, w, n.pattern, n.valid, 10) {
			for i := range len(s) {
				if !isDigit(s[i]) {
					continue
				}
				for c := byte('0'); c <= '9'; c++ {
					other := s[:i] + string(c) + s[i+1:]
					if c == s[i] || !form.MatchString(other) {
						continue
					}
					changed++
					if n.valid(other) {
						accepted++
					}
				}
			}
		}
		if changed < 50 || accepted*9 > changed {
			t.Errorf("%s: of %d numbers with one other digit, %d are accepted", n.kind, changed, accepted)
		}
	}
}

// Valid numbers are found in every surrounding, those that need it after a word.
func TestFindsNationalNumbers(t *testing.T) {
	w := writer{rand.New(rand.NewPCG(23, 24))}
	d := Default()
	found, total := 0, 0
	for _, n := range nationalNumbers {
		missed := 0
		for _, s := range numbers(t, w, n.pattern, n.valid, 10) {
			for _, around := range []string{"{}", "it is {}.", "({})", "这是{}。", "「{}」", "| {} |", "- {}\r\n", "number {}, valid", "`{}`", `"{}"`, "{}؛", "番号：{}です"} {
				before, after, _ := strings.Cut(around, "{}")
				if n.words != nil && !n.letters {
					before = n.words[w.IntN(len(n.words))] + " " + before
				}
				text := "Kim: " + before + s + after
				start := len(text) - len(after) - len(s)
				total++
				if covers(d.Detect(text, true), span{start, start + len(s)}) {
					found++
				} else if missed++; missed == 1 {
					t.Logf("%s: nothing found in %q", n.kind, text)
				}
			}
		}
		if missed > 6 {
			t.Errorf("%s: missed %d of 120", n.kind, missed)
		}
	}
	t.Logf("found %d of %d", found, total)
}

func covers(findings []memento.Finding, s span) bool {
	for _, f := range findings {
		if f.Start <= s.start && s.end <= f.End {
			return true
		}
	}
	return false
}

// Telephone numbers as they are written where they are used.
func TestFindsPhoneNumbers(t *testing.T) {
	d := Default()
	for _, tt := range []string{
		"+1 415 555 2671", "(415) 555-2671", "415-555-2671", "415.555.2671", "1-415-555-2671", // United States
		"+44 20 7946 0958", "020 7946 0958", "07700 900418", "07700 900 418", "0161 496 0123", // Britain
		"+49 30 7715 4482", "030 7715 4482", "0171 5538214", "0171/5538214", "089-12345678", // Germany
		"+33 1 42 68 53 00", "01 42 68 53 00", "06.12.34.56.78", // France
		"+34 612 345 678", "móvil 612 345 678", "tel. 91 123 45 67", // Spain
		"+39 347 123 4567", "347 123 4567", "tel 06 1234 5678", // Italy
		"+31 6 12345678", "06-12345678", "020-1234567", "06 12345678", // the Netherlands
		"+48 601 234 567", "tel. 601 234 567", // Poland
		"+7 916 123-45-67", "8 (916) 123-45-67", "8 916 123-45-67", "тел. 8 916 123 45 67", // Russia
		"+86 138 0013 8000", "138 0013 8000", "138-0013-8000", "手机：13800138000", "电话：010-12345678", "010-12345678", // China
		"+81 90-1234-5678", "090-1234-5678", "03-1234-5678", "携帯は090-1234-5678です", // Japan
		"+82 10-1234-5678", "010-1234-5678", "02-312-3456", "전화번호: 010-1234-5678", // Korea
		"+91 98765 43210", "98765 43210", "98765-43210", // India
		"+55 11 91234-5678", "(11) 91234-5678", "(11) 3123-4567", // Brazil
		"+41 44 668 18 00", "044 668 18 00", "+43 664 1234567", "0664 1234567", // Switzerland, Austria
		"+46 70 123 45 67", "070-123 45 67", "+32 470 12 34 56", "0470 12 34 56", "02 123 45 67", // Sweden, Belgium
		"+61 412 345 678", "0412 345 678", "(02) 9876 5432", "+90 532 123 45 67", "0532 123 45 67", // Australia, Turkey
		"+972 50-123-4567", "050-1234567", "050-123-4567", "+27 82 123 4567", "082 123 4567", // Israel, South Africa
		"+52 55 1234 5678", "tel 55 1234 5678", "+65 9123 4567", "phone 9123 4567", "+852 9123 4567", "+353 85 123 4567", "085 123 4567", // Mexico, Singapore, Ireland
	} {
		number := tt[strings.IndexAny(tt, "+(0123456789"):]
		number = strings.TrimRight(number, "です")
		for _, around := range []string{"{}", "Kim, {}.", "({})", "Kim：{}。", "| Kim | {} |\n"} {
			text := strings.Replace(around, "{}", tt, 1)
			start := strings.Index(text, number)
			if !covers(d.Detect(text, true), span{start, start + len(number)}) {
				t.Errorf("nothing found in %q", text)
			}
		}
	}
}
