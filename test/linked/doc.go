// Package linked tests which modules a program links that imports memento, and how large
// it is: the table in docs/embedding.md.
package linked
