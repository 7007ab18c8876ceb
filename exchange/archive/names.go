package archive

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"memento"
)

// checkNames refuses a path with a name that the file systems of an operating system
// cannot hold. A particular file system may still refuse a path that passes.
func checkNames(p memento.Path, goos string) error {
	for name := range p.Segments() {
		if fault := nameFault(name, goos); fault != "" {
			return failed("export", p, fmt.Errorf("%w: the file system cannot hold the name %s: %s", memento.ErrInvalid, quoted(name), fault))
		}
	}
	return nil
}

// The longest name, in bytes, or on Windows in UTF-16 code units.
const maxName = 255

func nameFault(name, goos string) string {
	if goos != "windows" {
		if len(name) > maxName {
			return fmt.Sprintf("it has %d bytes; at most %d are possible", len(name), maxName)
		}
		return ""
	}
	if n := len(utf16.Encode([]rune(name))); n > maxName {
		return fmt.Sprintf("it has %d characters; at most %d are possible", n, maxName)
	}
	if i := strings.IndexAny(name, `<>:"|?*\`); i >= 0 {
		return fmt.Sprintf("it has the character %q", name[i])
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return "it ends with a dot or a space"
	}
	if isDevice(name) {
		return "it is that of a device"
	}
	return ""
}

// isDevice reports whether a name, with any extension, means a device on Windows.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		port, ok = strings.CutPrefix(stem, "LPT")
	}
	return ok && port != "" && strings.Contains("0123456789¹²³", port)
}
