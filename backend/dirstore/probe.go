package dirstore

import (
	"errors"
	"os"
)

// probe finds out how the file system treats names, by making files in dir.
func probe(dir *os.Root) (t traits, err error) {
	t.reserved = reservedNames
	mark := tempName()
	t.folds, err = same(dir, mark+"-probe", mark+"-PROBE")
	if err == nil {
		t.composes, err = same(dir, mark+"-\u00e9", mark+"-e\u0301")
	}
	return t, err
}

// same reports whether a file made under one name is found under the other.
func same(dir *os.Root, made, looked string) (found bool, err error) {
	f, err := dir.OpenFile(made, os.O_WRONLY|os.O_CREATE|os.O_EXCL, ownMode)
	if err != nil {
		return false, err
	}
	_, err = dir.Lstat(looked)
	return err == nil, errors.Join(f.Close(), dir.Remove(made))
}
