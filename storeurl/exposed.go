package storeurl

import "path/filepath"

// Exposed says, a sentence each, who else than the caller's user can change or read
// what is kept at a URL, by the permissions and the owners of its folder and its
// files, and of the other files given. It looks at what there is on this machine, and
// on Unix only; a file that cannot be looked at has nothing said of it.
func Exposed(rawURL string, files ...string) []string {
	var folders []string
	if l, err := parse(rawURL); err == nil {
		switch l.scheme {
		case "sqlite":
			if path, err := l.file(); err == nil {
				folders, files = append(folders, filepath.Dir(path)), append([]string{path}, files...)
			}
		case "dir":
			if path, err := l.folder(); err == nil {
				folders = append(folders, path)
			}
		}
	}
	var found []string
	for _, path := range folders {
		found = append(found, exposedFolder(path)...)
	}
	for _, path := range files {
		if path != "" {
			found = append(found, exposedFile(path)...)
		}
	}
	return found
}
