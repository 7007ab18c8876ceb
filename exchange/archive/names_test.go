package archive

import (
	"strings"
	"testing"
)

func TestNameFault(t *testing.T) {
	for _, tc := range []struct {
		name, goos string
		fine       bool
	}{
		{"a.md", "linux", true},
		{strings.Repeat("n", 255), "linux", true},
		{strings.Repeat("n", 256), "linux", false},
		{strings.Repeat("é", 128), "linux", false},
		{"con", "linux", true},
		{"a:b?", "darwin", true},
		{strings.Repeat("é", 128), "windows", true},
		{strings.Repeat("n", 256), "windows", false},
		{"con", "windows", false},
		{"Con.txt", "windows", false},
		{"nul .md", "windows", false},
		{"COM1", "windows", false},
		{"lpt¹.log", "windows", false},
		{"com", "windows", true},
		{"console", "windows", true},
		{"a:b", "windows", false},
		{`a\b`, "windows", false},
		{"what?", "windows", false},
		{"dot.", "windows", false},
		{"space ", "windows", false},
		{".hidden", "windows", true},
	} {
		if fault := nameFault(tc.name, tc.goos); (fault == "") != tc.fine {
			t.Errorf("nameFault(%q, %s) = %q", tc.name, tc.goos, fault)
		}
	}
}
