package needs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mainEnv makes this test binary one whose tests all need something missing.
const mainEnv = "MEMENTO_NEEDS_MAIN"

var errServer = fmt.Errorf("the server is %w", ErrMissing)

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" && LeftOut(errServer) {
		os.Exit(LeaveOut(m, errServer))
	}
	os.Exit(m.Run())
}

func TestLeftOut(t *testing.T) {
	for _, tt := range []struct {
		err      error
		required string
		want     bool
	}{
		{nil, "", false},
		{errors.New("it does not start"), "", false},
		{errServer, "", true},
		{errServer, "1", false},
		{errors.Join(nil, errServer), "", true},
	} {
		t.Setenv(Variable, tt.required)
		if got := LeftOut(tt.err); got != tt.want {
			t.Errorf("%v, required %q: %v", tt.err, tt.required, got)
		}
	}
}

// A test is skipped if what it needs is missing, and fails if it is required.
func TestCheck(t *testing.T) {
	for required, want := range map[string]string{"": "skipped", "1": "failed"} {
		t.Setenv(Variable, required)
		r := recorder{TB: t}
		Check(&r, errServer)
		if r.became != want {
			t.Errorf("required %q: %q", required, r.became)
		}
		r.became = ""
		if Check(&r, nil); r.became != "" {
			t.Errorf("nothing is missing, required %q: %q", required, r.became)
		}
	}
}

type recorder struct {
	testing.TB
	became string
}

func (r *recorder) Skipf(string, ...any) { r.became = "skipped" }
func (r *recorder) Fatal(...any)         { r.became = "failed" }

// A package whose tests are left out passes, and says so.
func TestLeaveOut(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run", "TestCheck", "-test.v")
	cmd.Env = append(os.Environ(), mainEnv+"=1", Variable+"=")
	out, err := cmd.CombinedOutput()
	text := string(out)
	if err != nil || !strings.Contains(text, "left out: the server is not installed") || strings.Contains(text, "TestCheck") {
		t.Errorf("%v: %s", err, text)
	}
	if !strings.Contains(text, "no tests to run") { // for which go test looks
		t.Errorf("the summary of go test will not say it: %s", text)
	}
}
