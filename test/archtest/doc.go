// Package archtest holds the rules about which package may import which, and
// about which modules the project depends on, as tests. It has no other code.
package archtest
