package main

import (
	"testing"
	"time"
)

// pgbenchSaid is what pgbench of PostgreSQL 15 says.
const pgbenchSaid = `pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: <builtin: simple update>
scaling factor: 16
query mode: prepared
number of clients: 16
number of threads: 2
maximum number of tries: 1
duration: 5 s
number of transactions actually processed: 19268
number of failed transactions: 0 (0.000%)
latency average = 4.155 ms
initial connection time = 39.298 ms
tps = 3850.372618 (without initial connection time)
`

func TestParsePgbench(t *testing.T) {
	m, err := parsePgbench([]byte(pgbenchSaid))
	if err != nil {
		t.Fatal(err)
	}
	if m.Calls != 19268 || m.perSecond() < 3850.37 || m.perSecond() > 3850.38 {
		t.Errorf("%d calls, %f a second; want 19268 and 3850.37", m.Calls, m.perSecond())
	}
	if took := time.Duration(m.Nanos); took < 5*time.Second || took > 5100*time.Millisecond {
		t.Errorf("they took %v", took)
	}
	for _, said := range []string{"", "tps = 12.5 (without initial connection time)", "number of transactions actually processed: 5"} {
		if _, err := parsePgbench([]byte(said)); err == nil {
			t.Errorf("%q is understood", said)
		}
	}
}
