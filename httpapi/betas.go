package httpapi

import (
	"slices"
	"strings"

	"memento"
)

// Names of the API's betas. The hosted service requires one of them.
const (
	memoryBeta = "agent-memory-2026-07-22"
	agentsBeta = "managed-agents-2026-04-01"
)

// maxHostedDepth is the maximum number of segments of a path in the hosted service.
const maxHostedDepth = 20

// checkDepth returns an error if StrictBetas is set and the hosted service would refuse
// the path.
func (c *call) checkDepth(p memento.Path) error {
	if n := p.Depth(); c.api.opts.StrictBetas && n > maxHostedDepth {
		return invalid("path: has %d segments; at most %d are allowed", n, maxHostedDepth)
	}
	return nil
}

// checkBetas returns an error if StrictBetas is set and the hosted service would refuse
// the request's headers.
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
