package sensitive

import "strings"

// digits are the keywords of rules for numbers.
var digits = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}

// personalRules returns the rules for personal data. Numbers without a word before them
// are accepted by their checksum, or by a form that little else has.
func personalRules() []*rule {
	rules := []*rule{
		{
			kind: "email-address", keywords: []string{"@"}, reach: 100,
			pattern:   `[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}`,
			refine:    refineEmail,
			plausible: isAddressed,
		},
		{
			kind: "phone-number", keywords: []string{"+"},
			pattern: `\+[1-9]\d{0,2}(?:[ .\x{a0}/-]?(?:\(\d{1,4}\)|\d{1,12})){1,7}`,
			refine:  standalone(func(s string) bool { n := len(onlyDigits(s)); return 8 <= n && n <= 15 }),
		},
		{
			kind: "phone-number", keywords: append([]string{"("}, digits...), anchored: true, atWordStart: true,
			pattern: nationalPhone,
			refine:  standalone(func(s string) bool { n := len(onlyDigits(s)); return 9 <= n && n <= 12 }),
		},
		{ // after a word for it, so any form is accepted
			kind: "phone-number", keywords: []string{"phone", "mobile", "mobil", "cell", "tel", "call", "whatsapp", "handy", "rufnummer", "móvil", "portable", "fax", "komórk", "cep", "gsm"}, reach: 80,
			pattern: `(?i)\b(?:phone|mobile|mobil|cell|tele(?:ph|f)on\w*|tel|call(?: me| him| her| them)?(?: at| on)?|whatsapp|handy|rufnummer|tel[eé]fono|telefoon|telefone|t[eé]l[eé]phone|m[oó]vil|mobiel|m[oó]bil|celular|cellulare|portable|komórk\w*|cep(?: tel)?|gsm|fax)(?: ?(?:number|no|nr))?\.?(?: is)?["*]{0,3}[:=]?["*]{0,3}[ \t]{1,3}"?(\+?\(?\d(?:[ ./()-]{0,2}\d){7,14})`,
			refine:  standalone(func(s string) bool { return true }),
		},
		{ // the same in other scripts
			kind: "phone-number", keywords: foreignPhoneWords, anchored: true, reach: 80,
			pattern: `(?:` + strings.Join(foreignPhoneWords, "|") + `)\pL{0,4}[.。]?["*]{0,3}[ \t]*(?:[:：—-]|는|은|は|是|为|為)?["*]{0,3}[ \t]*"?(\+?\(?\d(?:[ ./()-]{0,2}\d){6,14})`,
			refine:  standalone(func(s string) bool { return true }),
		},
		{
			kind: "payment-card", keywords: digits, anchored: true, atWordStart: true,
			pattern: `(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6\d{3}|35\d\d)(?:[ -]?\d{4}){2}[ -]?\d{1,4}(?:\d{3})?|3[47]\d\d[ -]?\d{6}[ -]?\d{5}|3[068]\d\d[ -]?\d{6}[ -]?\d{4}`,
			refine:  standalone(isCard),
		},
		{
			kind: "iban", keywords: digits,
			pattern: `[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?`,
			refine:  refineIBAN,
		},
		{
			kind: "passport-number", keywords: []string{"passport", "reisepass", "passeport", "pasaporte"},
			pattern: `(?i)(?:passport|reisepass|passeport|pasaporte)(?:[ -]?(?:number|nummer|num[ée]ro|número|no|nr|#))?\.?(?: is)?["*]{0,3}[:=#]?["*]{0,3}[ \t]{1,3}([A-Z0-9]{8,9})\b`,
			refine:  standalone(func(s string) bool { return countChars(s).digits >= 5 }),
		},
	}
	for _, n := range nationalNumbers {
		r := &rule{kind: n.kind, keywords: n.words, pattern: n.pattern, refine: standalone(n.valid)}
		switch {
		case n.words == nil:
			r.keywords, r.anchored, r.atWordStart = digits, true, true
		case !n.letters:
			r.pattern = `(?i)(?:` + strings.Join(n.words, "|") + `)[^\n\d]{0,40}?(?-i:(` + n.pattern + `))`
			r.anchored = true
		}
		rules = append(rules, r)
	}
	for _, r := range rules {
		r.personal = true
	}
	return rules
}

// nationalPhone matches telephone numbers as they are written within their countries, in
// the groups that are usual there. Numbers whose groups could also be those of an amount,
// such as 612 345 678 in Spain, need a word before them.
var nationalPhone = strings.Join([]string{
	`(?:1[ .-])?\([2-9]\d\d\) ?[2-9]\d\d[ .-]\d{4}`, `(?:1[.-])?[2-9]\d\d[.-][2-9]\d\d[.-]\d{4}`, // North America
	`\(\d\d\) ?9?\d{4}[- ]\d{4}`,                                                          // Brazil, Australia
	`\(0\d{2,3}\) ?\d{3,4}-\d{4}`,                                                         // Argentina, Japan
	`0\d(?:[ .-]\d\d){4}`,                                                                 // France
	`0\d\d (?:\d{3} \d\d \d\d|\d{4} \d{3,4}|\d{3} \d{4})`,                                 // Switzerland, Ireland, South Africa, Finland
	`0\d{3} (?:\d\d \d\d \d\d|\d{3} \d{4}|\d{3} \d\d \d\d|\d{3} \d{3}|\d{6,7})`,           // Belgium, Australia, Turkey, Austria, Britain
	`0\d \d{3} \d\d \d\d|0\d \d{4} \d{4}`,                                                 // Belgium, Australia
	`0(?:2\d \d{4} \d{4}|1\d\d \d{3} \d{4}|1\d{3} \d{6}|7\d{3} \d{6}|7\d{3} \d{3} \d{3})`, // Britain
	`0(?:1[5-7]\d|[2-9]\d{1,3})[ /-]{1,3}\d{3,4}[ -]?\d{3,5}`,                             // Germany
	`0\d{1,3}-\d{2,4}-\d{4}`,                                                              // Japan, Korea
	`0\d{1,3}-\d{6,8}`,                                                                    // China, the Netherlands, Israel
	`0\d{1,2}-\d{3} \d\d \d\d`,                                                            // Sweden
	`06[ -]?\d{8}`,                                                                        // the Netherlands
	`1[3-9]\d[ -]\d{4}[ -]\d{4}`,                                                          // China
	`[6-9]\d{4}[ -]\d{5}`,                                                                 // India
	`3[2-9]\d \d{3} \d{4}`,                                                                // Italy
	`8 ?[ (-]\d{3}\)?[ -]\d{3}[ -]\d\d[ -]\d\d`,                                           // Russia
}, "|")

// foreignPhoneWords are words for telephones that precede a number.
var foreignPhoneWords = []string{
	"电话", "手机", "手机号", "電話", "手機", "携帯", "전화", "휴대폰", "핸드폰", "연락처", "телефон", "Телефон", "тел", "Тел", "моб", "Моб", "τηλ", "Τηλ", "هاتف", "جوال", "טלפון", "נייד", "फोन", "मोबाइल", "โทร",
}

// nationalNumbers lists the national identification numbers. Where a checksum is not
// specific enough, one of words must precede the number.
var nationalNumbers = []struct {
	kind, pattern string
	valid         func(string) bool
	words         []string // that precede the number; nil: none, and it begins with a digit
	letters       bool     // the number begins with letters, and words are digits or a text within it
}{
	{"us-ssn", `\d{3}[- ]\d\d[- ]\d{4}`, isSSN, nil, false},
	{"uk-nino", `[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]`, isNINO, digits, true},
	{"de-tax-id", `[1-9]\d(?: ?\d{3}){3}`, isGermanTaxID, []string{"steuer", "tax id", "idnr", "tin:"}, false},
	{"es-dni", `\d{8}-?[A-HJ-NP-TV-Z]`, isDNI, nil, false},
	{"es-dni", `[XYZ]\d{7}-?[A-HJ-NP-TV-Z]`, isDNI, digits, true},
	{"fr-nir", `[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-4]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d`, isNIR, nil, false},
	{"it-codice-fiscale", `[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]`, isCodiceFiscale, digits, true},
	{"br-cpf", `\d{3}\.\d{3}\.\d{3}-\d\d`, isCPF, nil, false},
	{"ch-ahv", `756\.\d{4}\.\d{4}\.\d\d`, isAHV, []string{"756."}, true},
	{"se-personnummer", `(?:(?:19|20)\d\d|\d\d)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-+]\d{4}`, isPersonnummer, nil, false},
	{"in-aadhaar", `[2-9]\d{3} \d{4} \d{4}`, isAadhaar, nil, false},
	{"nl-bsn", `\d{9}`, isBSN, []string{"bsn", "burgerservicenummer", "sofinummer"}, false},
	{"ca-sin", `\d{3}[ -]?\d{3}[ -]?\d{3}`, func(s string) bool { return luhn(onlyDigits(s)) }, []string{"sin:", "sin is", "social insurance"}, false},
	{"pl-pesel", `\d{11}`, isPESEL, []string{"pesel"}, false},

	// Asia
	{"cn-resident-id", `[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx]`, isResidentID, nil, false},
	{"kr-rrn", `\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{6}`, isRRN, nil, false},
	{"kr-rrn", `\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-?[1-8]\d{6}`, anyNumber, []string{"주민등록번호", "주민번호"}, false}, // no checksum since 2020
	{"jp-my-number", `\d{4}[ -]?\d{4}[ -]?\d{4}`, isMyNumber, []string{"マイナンバー", "個人番号", "my number", "mynumber"}, false},
	{"in-aadhaar", `[2-9]\d{11}`, isAadhaar, []string{"aadhaar", "aadhar", "आधार"}, false},
	{"in-pan", `[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]`, anyNumber, []string{"pan:", "pan card", "pan number", "pan no", "pan is"}, false},
	{"tw-id", `[A-Z][1289]\d{8}`, isTaiwanID, []string{"身分證", "身份證", "taiwan id", "national id"}, false},
	{"hk-id", `[A-Z]{1,2}\d{6}\([0-9A]\)`, isHongKongID, digits, true},
	{"sg-nric", `[STFGM]\d{7}[A-Z]`, isNRIC, digits, true},
	{"th-id", `[1-8]-\d{4}-\d{5}-\d\d-\d`, isThaiID, nil, false},
	{"th-id", `[1-8]\d{12}`, isThaiID, []string{"เลขบัตรประชาชน", "บัตรประชาชน", "thai id"}, false},
	{"my-nric", `\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-?\d\d-?\d{4}`, anyNumber, []string{"mykad", "nric", "no. ic", "ic number", "kad pengenalan"}, false},
	{"il-id", `\d{8,9}`, isIsraeliID, []string{"תעודת זהות", "ת.ז", "ת״ז", "teudat zehut", "israeli id"}, false},
	{"tr-tckn", `[1-9]\d{10}`, isTCKN, []string{"tckn", "t.c. kimlik", "tc kimlik", "kimlik no", "tc no", "t.c. no"}, false},

	// America
	{"mx-curp", `[A-Z][AEIOUX][A-Z]{2}\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[HMX][A-Z]{2}[B-DF-HJ-NP-TV-Z]{3}[A-Z\d]\d`, isCURP, digits, true},
	{"ar-cuit", `(?:2[03-7]|3[034])-\d{8}-\d`, isCUIT, nil, false},
	{"ar-cuit", `(?:2[03-7]|3[034])\d{9}`, isCUIT, []string{"cuit", "cuil"}, false},
	{"cl-rut", `\d{1,2}\.\d{3}\.\d{3}-[\dkK]`, isRUT, nil, false},
	{"cl-rut", `\d{7,8}-[\dkK]`, isRUT, []string{"rut"}, false},
	{"br-cpf", `\d{11}`, isCPF, []string{"cpf"}, false},

	// Europe
	{"fi-hetu", `(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]`, isHETU, nil, false},
	{"no-fodselsnummer", `\d{6} \d{5}`, isFodselsnummer, nil, false},
	{"no-fodselsnummer", `\d{11}`, isFodselsnummer, []string{"fødselsnummer", "fodselsnummer", "fnr", "personnummer"}, false},
	{"dk-cpr", `(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d-?\d{4}`, anyNumber, []string{"cpr"}, false}, // no checksum since 2007
	{"se-personnummer", `(?:19|20)?\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{4}`, isPersonnummer, []string{"personnummer"}, false},
	{"be-national-number", `\d\d\.\d\d\.\d\d-\d{3}[.-]\d\d`, isBelgianNumber, nil, false},
	{"pt-nif", `[1-9]\d{2} ?\d{3} ?\d{3}`, isNIF, []string{"nif", "contribuinte"}, false},
	{"at-svnr", `[1-9]\d{3} ?(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d\d`, isSVNR, []string{"svnr", "sv-nummer", "sozialversicherungsnummer"}, false},
	{"ie-pps", `\d{7}[A-W][A-IW]?`, isPPS, []string{"pps"}, false},
	{"uk-nhs-number", `\d{3}[ -]?\d{3}[ -]?\d{4}`, isNHS, []string{"nhs"}, false},
	{"ru-snils", `\d{3}-\d{3}-\d{3}[ -]\d\d`, isSNILS, nil, false},
	{"ru-inn", `\d{12}`, isINN, []string{"инн", "ИНН"}, false},
	{"ro-cnp", `[1-9]\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{6}`, isCNP, []string{"cnp", "cod numeric personal"}, false},
	{"cz-rodne-cislo", `\d\d[0-8]\d[0-3]\d/\d{4}`, isRodneCislo, nil, false},
	{"bg-egn", `\d{10}`, isEGN, []string{"егн", "ЕГН", "egn"}, false},
	{"hr-oib", `\d{11}`, isOIB, []string{"oib"}, false},
	{"gr-amka", `(?:0[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])\d{7}`, luhn, []string{"amka", "αμκα", "ΑΜΚΑ"}, false},

	// Africa, Oceania
	{"za-id", `\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{4}[01]\d\d`, luhn, []string{"id number", "id no", "sa id", "identity number", "rsa id", "id nommer", "south african id"}, false},
	{"au-tfn", `\d{3} ?\d{3} ?\d{2,3}`, isTFN, []string{"tfn", "tax file"}, false},
}

// standalone returns a refine function that accepts valid values which are not part of
// a longer number or word.
func standalone(valid func(string) bool) func(text string, s span) span {
	return func(text string, s span) span {
		for s.end > s.start && strings.IndexByte(" .-/(", text[s.end-1]) >= 0 {
			s.end--
		}
		if isJoined(text, s.start-1, s.start-2) || isJoined(text, s.end, s.end+1) || !valid(text[s.start:s.end]) {
			return span{}
		}
		return s
	}
}

// isJoined reports whether the byte at i continues a number or a word that ends next to
// it. beyond is the index of the byte on the other side of i.
func isJoined(text string, i, beyond int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	switch c := text[i]; {
	case isLetter(c) || isDigit(c) || c == '_' || c == '=' || c == '#' || c == '$' || c == '/':
		return true
	case c == '.' || c == '-' || c == ',' || c == ':' || c == '+':
		return beyond >= 0 && beyond < len(text) && (isDigit(text[beyond]) || c == '-' && isLetter(text[beyond]))
	}
	return false
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }

// isAddressed reports whether window has an "@" that may have a name before it and a
// domain after it.
func isAddressed(window string) bool {
	for i := range len(window) {
		if window[i] != '@' || i == 0 || !isNameByte(window[i-1]) && strings.IndexByte("%+", window[i-1]) < 0 {
			continue
		}
		end := i + 1
		for end < len(window) && (isLetter(window[end]) || isDigit(window[end]) || window[end] == '-') {
			end++
		}
		if end > i+1 && end < len(window) && window[end] == '.' {
			return true
		}
	}
	return false
}

// refineEmail rejects addresses of machines, and in reserved domains.
func refineEmail(text string, s span) span {
	for s.start < s.end && strings.IndexByte(".%+-", text[s.start]) >= 0 {
		s.start++
	}
	address := strings.ToLower(text[s.start:s.end])
	local, domain, _ := strings.Cut(address, "@")
	switch {
	case local == "" || local == "git" || local == "root" || strings.HasPrefix(local, "noreply") || strings.HasPrefix(local, "no-reply"):
		return span{}
	case s.start > 0 && strings.IndexByte("/:@=$", text[s.start-1]) >= 0 && strings.HasSuffix(strings.TrimRight(before(text, s.start, 256), "/:"), "ssh"):
		return span{}
	case s.end < len(text)-1 && text[s.end] == ':' && !isSpace(text[s.end+1]): // scp and git
		return span{}
	case reserved().MatchString(domain):
		return span{}
	}
	return s
}

// reserved matches reserved domains, and names of files and packages.
var reserved = lazily(`(?:^|\.)(?:example\.(?:com|org|net|edu)|test|invalid|localhost|local|internal|example|lan|png|jpe?g|gif|svg|webp|js|ts|go|py|md|json|service|socket|timer|target|mount)$`)

// refineIBAN cuts a text in the form of an IBAN to the length of the country, and checks
// it.
func refineIBAN(text string, s span) span {
	length := ibanLengths[text[s.start:s.start+2]]
	if length == 0 || isJoined(text, s.start-1, s.start-2) {
		return span{}
	}
	n := 0
	for i := s.start; i < s.end; i++ {
		if text[i] != ' ' {
			n++
		}
		if n == length {
			s.end = i + 1
			if isJoined(text, s.end, s.end+1) || !isIBAN(text[s.start:s.end]) {
				return span{}
			}
			return s
		}
	}
	return span{}
}
