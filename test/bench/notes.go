package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// The vocabulary of generated notes: what an agent that helps with customers and
// code might write down.
var (
	subjects = []string{"customer", "team", "reviewer", "build server", "release", "migration", "importer", "invoice",
		"dashboard", "parser", "scheduler", "client", "gateway", "report", "schema", "index", "cache", "pipeline"}
	verbs = []string{"needs", "prefers", "keeps", "expects", "returns", "rejects", "loads", "sends", "waits for",
		"replaces", "documents", "measures", "retries", "skips", "validates"}
	objects = []string{"short answers", "plain text", "a second review", "smaller batches", "exact totals",
		"the old format", "weekly summaries", "stable names", "fewer requests", "clear errors", "one owner"}
	reasons = []string{
		"because the last attempt failed on large inputs",
		"as agreed in the planning call",
		"until the new version is out",
		"when the nightly job is late",
		"unless the account is on trial",
		"so that nobody has to ask twice",
		"since the numbers must match the ledger",
	}
)

// The states of a note's only line that str_replace changes. Each occurs once in
// a note, on one line, because the SDK's tool looks for matches line by line.
const (
	statePending = "Review state: pending"
	stateDone    = "Review state: finished"
)

const (
	noteBytes = 2048 // that a note reaches, within one sentence
	noteLines = 30   // that every note has at the least
)

// newNote writes a note of about 2 KB in some 40 lines, in statePending.
func newNote(rng *rand.Rand, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Notes on %s %s\n\n%s\n", pick(rng, subjects), name, statePending)
	for lines := 0; b.Len() < noteBytes; lines++ {
		switch {
		case lines%9 == 0:
			fmt.Fprintf(&b, "\n## %s %s\n", pick(rng, subjects), pick(rng, objects))
		case lines%3 == 0:
			fmt.Fprintf(&b, "- [%d] %s\n", lines, sentence(rng))
		default:
			fmt.Fprintf(&b, "%s\n", sentence(rng))
		}
	}
	return b.String()
}

func sentence(rng *rand.Rand) string {
	return fmt.Sprintf("The %s %s %s %s.", pick(rng, subjects), pick(rng, verbs), pick(rng, objects), pick(rng, reasons))
}

func pick(rng *rand.Rand, words []string) string { return words[rng.IntN(len(words))] }
