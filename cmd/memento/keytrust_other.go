//go:build !unix

package main

// keyDistrust is for systems whose permissions memento does not examine.
func keyDistrust(string, bool) (reason, next string) { return "", "" }
