// Package sensitive finds secrets and personal data in texts: it is the
// [memento.Detector] that a store uses unless it is given another. Start with
// [Default], or with [New] to add rules.
//
// # What it finds
//
// Secrets: keys and tokens of some two hundred services (clouds, forges, chat,
// payment, models), private keys, JSON Web Tokens, passwords in URLs, connection
// strings and Authorization headers, passwords and passcodes in prose and in
// configuration, and values that look random behind a name such as api_key.
//
// Personal data, only when asked for: e-mail addresses, phone numbers, payment
// cards (checksum), IBANs (checksum and length of the country), and national
// numbers that have a checksum or an unmistakable form.
//
// Placeholders (YOUR_API_KEY, ${TOKEN}, sk-ant-api03-xxxx, ********), hashes,
// UUIDs and IDs are not findings. Nor is anything in [REDACTED:KIND], if KIND is that
// of a rule; what else stands in such brackets is looked at as if they were not
// there, and replaced with them.
//
// # How
//
// The rules for tokens are those of gitleaks, from the configuration file that it
// embeds. What gitleaks is blind to (passwords outside assignments, most of all)
// has rules of our own, in tokens.go, passwords.go and personal.go.
//
// gitleaks' own detector is not used: it runs each expression over the whole text,
// which takes 3 ms for 4 kB and 170 ms for 100 kB of our ordinary notes; it returns
// lines and columns of the match around a secret rather than the secret's bytes;
// and it can write what it found to a log. Here one pass of an Aho-Corasick
// automaton finds the rules' keywords, and each rule then looks only at windows of
// the text around its own. A window is as wide as the longest match of the rule's
// expression, and ends at white space, so that what is found is what a search of
// the whole text finds. Rules whose keywords are in every text match only where the
// keyword begins. Before an expression is run on a window, it is looked there for what
// every match has, such as forty characters of base64 in a row; what that is, is
// derived from the expression itself, for everybody's rules (necessary.go).
//
// # Cost
//
// A Detector is free until its first Detect, which reads the rules in some 2 ms. An
// expression is compiled when something may match it for the first time; the first
// text with a secret takes some 4 ms. Ordinary prose costs 1.5 µs a kB and no memory,
// however many rules there are, and twice or thrice as much with personal data; notes
// that talk of little but keys and passwords cost 50 to 100 µs a kB. A text with
// findings is searched again with each replaced by its placeholder, until nothing is
// left, which makes sure that a masked text is clean; the second search is confined
// to where the first found something. The cost grows with the length of a text,
// whatever is in it: 100 kB of nothing but keywords cost less than 120 ms.
//
// # What it cannot find
//
// Passwords of letters only, unless they stand in a URL or a connection string;
// passwords that nothing announces, or whose announcement ("password s0lar") could
// as well be about something else; secrets that are encoded, split over lines, or
// spelled out; national numbers of countries not listed in personal.go; names and
// postal addresses. A full stop at the end of a password is taken for that of the
// sentence.
//
// # Adding a rule
//
// For one installation: [Options.Rules], in gitleaks' schema. For everybody: a
// line in tokens.go if the token has a prefix of its own, else a rule with the
// words that announce it as keywords, and a refine function that tells a secret
// from what only looks like it. Add notes to testdata for both sides; its README
// says how.
package sensitive
