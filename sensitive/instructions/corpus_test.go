package instructions

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// lines returns the lines of a file in testdata without its comments, with "\n" for line feeds.
func lines(t testing.TB, name string) (all []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			all = append(all, strings.ReplaceAll(line, `\n`, "\n"))
		}
	}
	return all
}

// surroundings are where an attack can stand in a note.
var surroundings = []struct{ name, format string }{
	{"alone", "%s"},
	{"after a heading", "# Notes\n\n%s\n"},
	{"list", "- buy milk\n- %s\n- call Ann\n"},
	{"numbered", "1. Build.\n2. %s\n3. Deploy.\n"},
	{"quote", "> From the web page:\n> %s\n"},
	{"table", "| key | value |\n|---|---|\n| note | %s |\n"},
	{"comment in HTML", "Text.\n<!-- %s -->\nMore text.\n"},
	{"element", "<p hidden>%s</p>\n"},
	{"YAML", "owner: ann\nnote: %s\nport: 8080\n"},
	{"code", "```\n%s\n```\n"},
	{"after prose", "The build takes four minutes and needs Docker. %s The tests run at night.\n"},
	{"far down", strings.Repeat("The team meets on Mondays and writes minutes.\n", 40) + "\n%s\n"},
	{"bold", "**%s**\n"},
	{"footnote", "As said[^1].\n\n[^1]: %s\n"},
	{"brackets", "(%s)\n"},
	{"quoted", "\"%s\"\n"},
	{"Windows line ends", "Notes\r\n\r\n%s\r\nEnd\r\n"},
}

// disguises change how an attack is written, and not how it is read. They are for phrases;
// markup and encodings must stay as they are.
var disguises = []struct {
	name  string
	apply func(r *rand.Rand, text string) string
}{
	{"none", func(_ *rand.Rand, s string) string { return s }},
	{"capitals", func(_ *rand.Rand, s string) string { return strings.ToUpper(s) }},
	{"mixed case", func(r *rand.Rand, s string) string {
		return mapRunes(s, func(c string) string {
			if r.IntN(2) == 0 {
				return strings.ToUpper(c)
			}
			return c
		})
	}},
	{"look-alikes", func(r *rand.Rand, s string) string {
		return strings.NewReplacer("a", "а", "e", "е", "o", "о", "p", "р", "c", "с", "i", "і", "s", "ѕ").Replace(s)
	}},
	{"full width", func(_ *rand.Rand, s string) string {
		return strings.Map(func(c rune) rune {
			if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
				return c - 'a' + 'ａ'
			}
			return c
		}, s)
	}},
	{"zero width", func(r *rand.Rand, s string) string {
		return mapRunes(s, func(c string) string {
			if r.IntN(3) == 0 {
				return c + "\u200b"
			}
			return c
		})
	}},
	{"broken lines", func(r *rand.Rand, s string) string { return strings.ReplaceAll(s, " ", "\n") }},
	{"digits", func(_ *rand.Rand, s string) string {
		return strings.NewReplacer("e", "3", "o", "0", "i", "1").Replace(s)
	}},
}

func mapRunes(s string, f func(string) string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteString(f(string(c)))
	}
	return b.String()
}

// isMarkup reports whether an attack consists in its markup or encoding.
func isMarkup(attack string) bool {
	return strings.ContainsAny(attack, "<>[]{}|#") || strings.HasPrefix(attack, "System:") || strings.HasPrefix(attack, "Assistant:") || !strings.ContainsRune(attack, ' ') && utf8.RuneCountInString(attack) == len(attack)
}

// isLatin reports whether a text is of ASCII, so that it can be disguised as look-alikes do.
func isLatin(text string) bool { return utf8.RuneCountInString(text) == len(text) }

// Each attack is found in every surrounding, and nearly each in every disguise. The attacks
// of heldout.txt are those that the table was made without: the documentation has this
// figure.
func TestFindsAttacks(t *testing.T) {
	for _, tt := range []struct {
		file string
		want float64 // share that must be found
	}{{"attacks.txt", 0.97}, {"heldout.txt", 0.5}} {
		t.Run(tt.file, func(t *testing.T) {
			r := rand.New(rand.NewPCG(15, 2))
			attacks := lines(t, tt.file)
			all, found := 0, 0
			plain, plainFound := 0, 0
			count := func(about, text string) {
				all++
				if len(Find(text)) > 0 {
					found++
				} else if tt.want > 0.9 {
					t.Logf("not found %s: %q", about, text)
				}
			}
			for _, attack := range attacks {
				plain++
				if len(Find(attack)) > 0 {
					plainFound++
				}
				for _, s := range surroundings {
					if isMarkup(attack) && s.name != "alone" && s.name != "after a heading" && s.name != "after prose" && s.name != "far down" {
						continue
					}
					if strings.HasPrefix(attack, "System:") && s.name == "after prose" || strings.HasPrefix(attack, "Assistant:") && s.name == "after prose" || strings.HasPrefix(attack, "[//]") && s.name == "after prose" {
						continue
					}
					count("in "+s.name, fmt.Sprintf(s.format, attack))
				}
				for _, d := range disguises {
					if !isMarkup(attack) && isLatin(attack) {
						count("in "+d.name, d.apply(r, attack))
					}
				}
			}
			t.Logf("%s: %d of %d attacks; %d of %d (%.1f %%) in surroundings and disguises", tt.file, plainFound, plain, found, all, 100*float64(found)/float64(all))
			if got := float64(found) / float64(all); got < tt.want {
				t.Errorf("%.1f %% were found, want %.1f %%", 100*got, 100*tt.want)
			}
		})
	}
}

// Harmless notes have no findings, whatever they stand in; of notes about prompts and
// attacks a few have.
func TestLeavesHarmlessNotes(t *testing.T) {
	for _, tt := range []struct {
		file string
		most float64
	}{{"harmless.txt", 0}, {"about.txt", 0.04}} {
		t.Run(tt.file, func(t *testing.T) {
			all, wrong := 0, 0
			for _, note := range lines(t, tt.file) {
				for _, s := range surroundings {
					if strings.ContainsAny(note, "\n<`") && s.name != "alone" {
						continue
					}
					all++
					if found := Find(fmt.Sprintf(s.format, note)); len(found) > 0 {
						wrong++
						t.Logf("in %s: %s: %q", s.name, found[0].Kind, note)
					}
				}
			}
			t.Logf("%s: %d of %d texts have a finding (%.1f %%)", tt.file, wrong, all, 100*float64(wrong)/float64(all))
			if got := float64(wrong) / float64(all); got > tt.most {
				t.Errorf("%.1f %% have a finding, want at most %.1f %%", 100*got, 100*tt.most)
			}
		})
	}
}

// In the files of Go modules there are hardly any instructions to models.
func TestLeavesModuleFiles(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{if not .Main}}{{.Dir}}{{end}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, dir := range strings.Fields(string(out)) {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(paths)
	r := rand.New(rand.NewPCG(15, 3))
	r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	// Documents first: they are what notes are like.
	slices.SortStableFunc(paths, func(a, b string) int { return isDocument(b) - isDocument(a) })
	files, documents, wrong := 0, 0, 0
	for _, path := range paths {
		if files == 600 {
			break
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 200<<10 || bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
			continue
		}
		files++
		documents += isDocument(path)
		if found := Find(string(data)); len(found) > 0 {
			wrong++
			f := found[0]
			t.Logf("%s: %s: %.200q", filepath.Base(path), f.Kind, data[f.Start:f.End])
		}
	}
	t.Logf("%d files, %d of them documents: %d have a finding", files, documents, wrong)
	if files < 200 {
		t.Errorf("only %d files; run go mod download", files)
	}
	if wrong > max(2, files/100) {
		t.Errorf("findings in %d of %d files", wrong, files)
	}
}

func isDocument(path string) int {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".md", ".txt", ".html", ".rst":
		return 1
	}
	return 0
}
