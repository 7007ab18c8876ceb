package httpapi

import (
	"slices"
	"strings"

	"memento"
)

// The names of the API's betas, one of which the hosted service asks for.
const (
	memoryBeta = "agent-memory-2026-07-22"
	agentsBeta = "managed-agents-2026-04-01"
)

// maxHostedDepth is the most segments that a path of the hosted service has.
const maxHostedDepth = 20

// checkDepth refuses, if the hosted service's strictness is asked for, a path that it
// does not take.
func (c *call) checkDepth(p memento.Path) error {
	if n := p.Depth(); c.api.opts.StrictBetas && n > maxHostedDepth {
		return invalid("path: has %d segments; at most %d are allowed", n, maxHostedDepth)
	}
	return nil
}

// checkBetas refuses, if that is asked for, what the hosted service refuses.
func (c *call) checkBetas() error {
	if !c.api.opts.StrictBetas {
		return nil
	}
	var betas []string
	for _, line := range c.r.Header.Values("anthropic-beta") {
		for name := range strings.SplitSeq(line, ",") {
			betas = append(betas, strings.TrimSpace(name))
		}
	}
	memory, agents := slices.Contains(betas, memoryBeta), slices.Contains(betas, agentsBeta)
	switch {
	case memory && agents:
		return invalid("anthropic-beta: %s and %s cannot be used together", memoryBeta, agentsBeta)
	case !memory && !agents:
		return invalid("anthropic-beta: this endpoint needs %s", memoryBeta)
	}
	switch v := c.r.Header.Get("anthropic-version"); v {
	case "2023-06-01", "2026-10-21":
		return nil
	case "":
		return invalid("anthropic-version: header is required")
	default:
		return invalid("anthropic-version: %q is not a valid version", printable(v))
	}
}
