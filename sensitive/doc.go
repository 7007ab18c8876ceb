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
// UUIDs and IDs are not findings.
//
// # How
//
// The rules for tokens are those of gitleaks, from its configuration file. What
// gitleaks is blind to (passwords outside assignments, most of all) has rules of
// our own, in tokens.go, passwords.go and personal.go.
//
// gitleaks' own detector is not used, because it runs each expression over the
// whole text (5 ms for 4 kB, 120 ms for 100 kB), returns lines and columns of the
// match around a secret rather than the secret's bytes, and can write what it
// found to a log. Here one pass of an Aho-Corasick automaton finds the rules'
// keywords; each rule then looks only at the windows of text around its own. A
// window is as wide as the longest match of the rule's expression, and is cut at
// white space, so that what is found is what a search of the whole text finds.
//
// # Cost
//
// A Detector is free until its first Detect, which reads the rules: a few
// milliseconds. An expression is compiled when its keyword first appears. A text
// without keywords costs about 2 µs per kB and no memory; ordinary notes cost some
// 50 µs per kB. A text with findings is searched again with each replaced by its
// placeholder, until nothing is left, which is what makes redaction final.
//
// # What it cannot find
//
// Passwords that are made of letters only, unless they stand in a URL or a
// connection string; passwords that nothing announces; secrets that are encoded,
// split over lines, or spelled out; national numbers of countries not listed in
// personal.go; names and postal addresses.
//
// # Adding a rule
//
// For one installation: [Options.Rules], in gitleaks' schema. For everybody: a
// line in tokens.go if the token has a prefix of its own, else a rule with the
// words that announce it as keywords, and a refine function that tells a secret
// from what only looks like it. Add notes to testdata for both sides; its README
// says how.
package sensitive
