//go:build !unix

package storeurl

func exposedFolder(string) []string { return nil }

func exposedFile(string) []string { return nil }
