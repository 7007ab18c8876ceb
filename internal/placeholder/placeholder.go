// Package placeholder has the text that replaces a secret: one for the package that masks,
// and for the one that must not take the replacement for a secret. It knows no types of the
// root package, which uses it.
package placeholder

// Start is how a placeholder begins. The kind and "]" follow. The text stays "REDACTED", as
// in data of earlier versions.
const Start = "[REDACTED:"

// Of returns the placeholder for a secret of a kind, such as "[REDACTED:jwt]".
func Of(kind string) string { return Start + kind + "]" }
