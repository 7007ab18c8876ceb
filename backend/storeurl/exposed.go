package storeurl

import "path/filepath"

// Exposed returns a sentence for each way in which users other than the caller's can read
// or change the data at a URL, judged by the permissions and owners of its folder and
// files, and of the other files given. It examines files on this machine only, on Unix
// only, and ignores those that it cannot examine.
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
