package longtest

import "testing"

func TestScaled(t *testing.T) {
	for value, want := range map[string]int{"": 3, "0": 3, "1": 500} {
		t.Setenv(Variable, value)
		if got := Scaled(3, 500); got != want || Enabled() != (want == 500) {
			t.Errorf("%s=%q: %d repetitions, enabled: %t", Variable, value, got, Enabled())
		}
	}
}
