// Package deploy tests the files in the folder deploy: with the parsers of the programs that
// read them, and with a real server. It is a module of its own, so that memento does not
// depend on these parsers.
package deploy
