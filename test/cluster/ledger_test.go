package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"

	"memento"
)

const ledgerPath = "/ledger"

// A clerk inserts lines into one memory shared by all clerks, like the official SDKs: a
// request without a response is sent again, perhaps to another server.
type clerk struct {
	name   string
	c      *cluster
	h      *recording
	random *rand.Rand
	lines  []*entry
}

// An entry is a line of the ledger.
type entry struct {
	text         string
	acknowledged bool
	unanswered   int // requests that may have written it, in addition to an acknowledged one
}

func (k *clerk) work(ctx context.Context, over *atomic.Bool) {
	for n := 0; !over.Load(); n++ {
		e := &entry{text: fmt.Sprintf("%s line %d", k.name, n)}
		k.lines = append(k.lines, e)
		for tries := 0; !e.acknowledged && (tries == 0 || !over.Load()); tries++ {
			k.send(ctx, e, n, tries)
		}
	}
}

// send sends a line once.
func (k *clerk) send(ctx context.Context, e *entry, n, tries int) {
	ctx, cancel := context.WithTimeout(ctx, impatience)
	defer cancel()
	block := map[string]any{
		"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", k.name, n), "name": "memory",
		"input": map[string]any{"command": "insert", "path": "/memories" + ledgerPath, "insert_line": 1, "insert_text": e.text},
	}
	header := http.Header{"X-Stainless-Retry-Count": {fmt.Sprint(tries)}}
	front := k.c.fronts[k.random.IntN(len(k.c.fronts))]
	a, sent, err := k.c.ask(ctx, front.Addr(), "POST", k.c.path("/tool?session_id="+k.name), header, block)
	var result memento.ResultBlock
	switch {
	case err != nil:
		if sent {
			e.unanswered++
		}
	case a.status >= http.StatusInternalServerError:
		f, why := a.meaning()
		if f == unknown {
			e.unanswered++
		}
		if why != "" {
			k.h.complain("%s: %s: %d %s", e.text, why, a.status, a.body)
		}
	case a.status != http.StatusOK || json.Unmarshal(a.body, &result) != nil:
		e.unanswered++
		k.h.complain("%s: %d %s", e.text, a.status, a.body)
	case !result.IsError:
		e.acknowledged = true
	case strings.Contains(result.Content, "Nothing was changed"):
	case strings.Contains(result.Content, "to see whether"):
		e.unanswered++
	default:
		e.unanswered++
		k.h.complain("%s: the agent reads %q", e.text, result.Content)
	}
}

// auditLedger compares the contents of the ledger with what the clerks sent.
func auditLedger(content string, clerks []*clerk) (problems []string) {
	count := map[string]int{}
	for line := range strings.Lines(content) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	if count["top"] != 1 {
		problems = append(problems, "the ledger has lost its first line")
	}
	delete(count, "top")
	for _, k := range clerks {
		for _, e := range k.lines {
			least := 0
			if e.acknowledged {
				least = 1
			}
			if n := count[e.text]; n < least || n > least+e.unanswered {
				problems = append(problems, fmt.Sprintf("the ledger has the line %q %d times; acknowledged %v, besides %d requests without an answer", e.text, n, e.acknowledged, e.unanswered))
			}
			delete(count, e.text)
		}
	}
	for line := range count {
		problems = append(problems, fmt.Sprintf("the ledger has the line %q, which nobody wrote", line))
	}
	return problems
}
