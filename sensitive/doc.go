// Package sensitive finds secrets and personal data in texts: it is the
// [memento.Detector] that a store uses unless it is given another. Start with
// [Default], or with [New] to add rules.
//
// # What it finds
//
// Secrets: keys and tokens of some two hundred services (clouds, forges, chat,
// payment, models), private keys, JSON Web Tokens, passwords in URLs, connection
// strings, commands and Authorization headers, passwords and passcodes in prose and in
// configuration, keys that a word in one of fourteen languages announces, hashes of passwords, session cookies, seeds of authenticators, recovery
// codes and phrases, and values that look random after a name such as api_key. What is
// found in a text is also found in its base64.
//
// Personal data, only when asked for: e-mail addresses, phone numbers, payment
// cards (checksum), IBANs (checksum and length of the country), and national
// numbers that have a checksum or an unmistakable form.
//
// Placeholders (YOUR_API_KEY, ${TOKEN}, sk-ant-api03-xxxx, ********), hashes,
// UUIDs and IDs are not findings. Neither is [REDACTED:KIND] if KIND is the kind of a
// rule. Other text in such brackets is searched as if the brackets were not there, and
// masked together with them.
//
// # How
//
// formats.go is the table of the tokens that have a prefix, with their alphabets and
// lengths as their issuers document them; services.go is that of tokens which only the name
// of the service before them distinguishes. What has a structure instead, such as private
// keys and addresses with passwords, is in tokens.go; passwords in prose and configuration
// are in passwords.go, personal data in personal.go.
//
// A password is found by the word that announces it, in one of fourteen languages: what
// follows the word is read by a parser of its own (announced.go), on the same line, on the
// next, in a list, in a column of a table, beside the name in a pair of name and value, or
// before the word ("X is the password"). A plural announces a list of labels and values (lists.go). The more certain it is that a value follows,
// the less the value must look like a password. commands.go lists commands and files with
// passwords.
//
// A token begins and ends where its alphabet does, in any script: at punctuation, quotation
// marks, Markdown, or a word in another alphabet. It is not found within a longer sequence
// of the same alphabet, such as an image in base64.
//
// A token with a prefix that continues on the next line is put together again (split.go):
// in a list, a quotation, a comment, or strings that are joined. Others are not masked, but
// [Detector.DetectSplit], which is for scans, finds them (splitscan.go). The name of a column of
// comma- or tab-separated values, or of values that are aligned by spaces to either side, announces
// the values below it (columns.go).
//
// One pass finds the rules' keywords (keywords.go), and each rule then looks only at windows
// of the text around its own. A window is as wide as the longest match of the rule's
// expression, and ends at white space, so that what is found is what a search of the whole
// text finds. Rules whose keywords are in every text match only where the keyword begins.
// Before an expression is run on a window, a prefilter checks the window for bytes that every
// match contains, such as forty characters of base64 in a row. The prefilter is derived from
// the expression, also for added rules (prefilter.go). An expression that is a plain sequence
// of bytes, as most formats are, is not run by package regexp (sequence.go).
//
// # Cost
//
// A Detector is free until its first Detect, which reads the rules in some 5 ms. An
// expression is compiled when something may match it for the first time; the first
// text with a secret takes some 4 ms. Ordinary prose costs about 2 µs a kB and no memory,
// however many rules there are, and several times as much with personal data; notes
// mostly about keys and passwords cost some 10 µs a kB. A text with findings is masked
// and searched again until nothing is found, so that a masked text has no findings. The
// second search is limited to the lines around the findings of the first. The cost is
// linear in the length of a text, whatever it contains: 100 kB of the slowest texts that are
// known, which repeat a name, a sign or the start of a token without end, cost up to 70 ms
// (worst_test.go). A token of any length is tried at a few starts only of a run of its alphabet. A text that is made so
// that each masking reveals more is searched three times if it is that long, and then masked as
// a whole. BenchmarkNote, BenchmarkWorst and the tests in cost_test.go print the figures of a
// machine.
//
// # What it cannot find
//
// Passwords of letters only, unless they are in quotation marks, look like no word, or
// stand in a URL or a connection string; passwords without a word before them that names
// them, or with one that could also be about something else ("password s0lar"); secrets
// that are encoded in another way than base64, or spelled out; passwords that are split over
// lines; recovery phrases without a word for them, or in other languages than English; national numbers of
// countries not listed in personal.go; names and
// postal addresses. A full stop at the end of a password is taken for the end of the
// sentence.
//
// # Adding a rule
//
// For one installation: [Options.Rules], in the format of gitleaks. For all: a line in
// formats.go if the token has a prefix of its own, else a line in services.go if the name of
// a service precedes it, else a rule whose keywords are the words that usually precede it, and a refine function that distinguishes secrets from
// similar texts. Add examples of both to testdata; its README says how.
package sensitive
