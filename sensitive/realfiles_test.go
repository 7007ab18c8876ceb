package sensitive_test

import (
	"bytes"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"memento/sensitive"
)

var (
	long       = flag.Bool("long", false, "search 5000 files of the module cache, and generate more notes")
	sampleSeed = flag.Uint64("sample", 8, "seed of the choice of files")
)

// moduleFiles returns the paths of text files below dirs, in order.
func moduleFiles(t *testing.T, dirs []string) []string {
	t.Helper()
	var all []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (strings.Contains(path, "gitleaks") || strings.Contains(path, "testvectors")) { // made of secrets
				return fs.SkipDir
			}
			if d.IsDir() && path == filepath.Join(dir, "cache") { // of the go command: archives
				return fs.SkipDir
			}
			if d.Type().IsRegular() {
				all = append(all, path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// goOutput returns the lines that the go command prints.
func goOutput(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go %v: %v", args, err)
	}
	return strings.Fields(string(out))
}

// rightFindings are findings in the files of modules that are right: by the line up to
// the end of the finding, it is a secret, though one of a test or an example. Everything
// else that is found there counts as wrong.
var rightFindings = []struct {
	kinds string
	line  *regexp.Regexp
}{
	{"private-key", regexp.MustCompile(`PRIVATE KEY(?: BLOCK)?-----`)},                                              // whole keys of tests
	{"jwt generic-api-key", regexp.MustCompile(`eyJ[\w-]{10,}\.[\w-]*\.[\w-]+`)},                                    // signed or encrypted tokens
	{"url-password", regexp.MustCompile(`://[^\s/]*:[^\s/]+$`)},                                                     // a name and a password for a server
	{"authorization-header", regexp.MustCompile(`(?i)basic [A-Za-z0-9+/]{8,}=*$`)},                                  // a name and a password in base64
	{"google-oauth-access-token", regexp.MustCompile(`ya29\.[\w-]{40,}`)},                                           // of a recorded login
	{"generic-api-key generic-secret", regexp.MustCompile(`SharedKey \w+:[A-Za-z0-9+/]{43}=$`)},                     // signatures of recorded requests
	{"generic-api-key generic-secret", regexp.MustCompile(`(?i)(?:token|secret)"?:\s+"[A-Za-z0-9]{20,}$`)},          // access tokens in answers of servers
	{"generic-api-key generic-secret", regexp.MustCompile(`(?i)(?:key|secret)\w*"?\s*(?:=|:=|:)\s*"[0-9a-f]{32,}`)}, // keys of test vectors, in hexadecimal
	{"generic-api-key azure-storage-key", regexp.MustCompile(`AccountKey\s*=\s*"?[A-Za-z0-9+/]{86}==$`)},            // of an emulator
	{"generic-api-key", regexp.MustCompile(`SECRET_KEY(?:="?|: )my-minio-key:[A-Za-z0-9+/]{43}=$`)},
	{"generic-api-key", regexp.MustCompile(`(?i)client_?secret"?[:,]\s+"[\w-]{15,}$`)},                                        // of a client in a test
	{"connection-string-password", regexp.MustCompile(`://[^\s"]*[?&]password=\w+$`)},                                         // a password for a server
	{"password", regexp.MustCompile(`"[\w.]+:\d+:\w+:\w+:\w+$`)},                                                              // a line of .pgpass
	{"stripe-webhook-secret", regexp.MustCompile(`"whsec_[A-Za-z0-9+/]{24,}$`)},                                               // of webhooks in tests
	{"generic-api-key", regexp.MustCompile(`(?:SECRET|PRIVATE)\w*:-[0-9a-f]{32,}$`)},                                          // defaults of variables
	{"generic-api-key", regexp.MustCompile(`"eyJ(?:BUk4i|DbGllbnRSZXF1ZXN0)\w+=*$`)},                                          // of a service for secrets, with a secret
	{"azure-sas-signature", regexp.MustCompile(`[?&]sig=[\w%+/]+$`)},                                                          // of recorded requests
	{"kubernetes-secret-yaml", regexp.MustCompile(`: "?[A-Za-z0-9+/]{6,}=$`)},                                                 // data of secrets
	{"kubernetes-secret-yaml", regexp.MustCompile(`password: c29tZXB3$`)},                                                     // somepw
	{"password", regexp.MustCompile(`(?i)passw(?:or)?d"?\s*[:=]+\s*"?[a-z0-9]{7,}$|passphrase = "hunter2$|"pass" : ".{8,}$`)}, // assigned as they are
}

func isRight(kind, line string) bool {
	for _, r := range rightFindings {
		if slices.Contains(strings.Fields(r.kinds), kind) && r.line.MatchString(line) {
			return true
		}
	}
	return false
}

// In the files of Go modules there is hardly anything to find. With -long, 5000 files of
// all modules in the cache are searched, otherwise a few of those that memento needs.
func TestModuleFiles(t *testing.T) {
	most, dirs := 400, goOutput(t, "list", "-m", "-f", "{{if not .Main}}{{.Dir}}{{end}}", "all")
	if *long {
		most, dirs = 5000, goOutput(t, "env", "GOMODCACHE")
	}
	paths := moduleFiles(t, dirs)
	r := rand.New(rand.NewPCG(*sampleSeed, 0))
	r.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	d := sensitive.Default()
	files, wrong, wrongFiles := 0, 0, 0
	for _, path := range paths {
		if files == most {
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
		text, before := string(data), wrong
		for _, f := range d.DetectSplit(text, false) { // all that a scan finds
			line := text[strings.LastIndexByte(text[:f.Start], '\n')+1 : f.End]
			if isRight(f.Kind, line) {
				continue
			}
			wrong++
			t.Logf("%s: %s: %.300q", path, f.Kind, line)
		}
		if wrong > before {
			wrongFiles++
		}
	}
	t.Logf("%d of %d files: %d wrong findings, in %d files", files, len(paths), wrong, wrongFiles)
	if files < min(most, 200) {
		t.Errorf("only %d files; run go mod download", files)
	}
	if allowed := max(2, files/300); wrongFiles > allowed {
		t.Errorf("wrong findings in %d of %d files, want them in at most %d", wrongFiles, files, allowed)
	}
}
