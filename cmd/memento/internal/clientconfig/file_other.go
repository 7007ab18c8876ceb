//go:build !unix

package clientconfig

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: a file has the owner of its folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// syncFolder does nothing: the file system keeps names in its journal.
func syncFolder(string) error { return nil }
