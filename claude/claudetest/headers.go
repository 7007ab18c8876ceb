package claudetest

import (
	"net/http"
	"slices"
	"strings"
)

// versions are the accepted values of anthropic-version.
var versions = []string{"2023-06-01", "2026-10-21"}

// Betas that switch on something that is simulated here.
const (
	betaContextManagement = "context-management-2025-06-27"
	betaCompact           = "compact-2026-01-12"
	betaCompactOnDemand   = "compact-2026-09-04"
	betaThreads           = "message-threads-2026-08-12"
	betaBinding           = "thinking-binding-controls-2026-08-01"
)

// needed are the betas that unlock a field.
var needed = []string{betaContextManagement, betaCompact, betaCompactOnDemand, betaThreads, betaBinding}

// knownBetas are the values of anthropic-beta that the official SDK for Go 2.13.0
// names, of those that concern messages.
var knownBetas = append([]string{
	"advisor-tool-2026-03-01", "agent-memory-2026-07-22", "cache-diagnosis-2026-04-07", "code-execution-2025-05-22",
	"computer-use-2024-10-22", "computer-use-2025-01-24", "computer-use-2025-11-24", "context-1m-2025-08-07",
	"dev-full-thinking-2025-05-14", "extended-cache-ttl-2025-04-11", "fallback-credit-2026-06-01",
	"fallback-credit-2026-07-01", "fast-mode-2026-02-01", "files-api-2025-04-14", "inline-tools-2026-09-15",
	"interleaved-thinking-2025-05-14", "mcp-client-2025-04-04", "mcp-client-2025-11-20", "mcp-client-2026-09-15",
	"message-batches-2024-09-24", "mid-conversation-output-config-2026-07-01",
	"mid-conversation-system-clear-at-2026-08-21", "mid-conversation-tool-changes-2026-07-01",
	"model-context-window-exceeded-2025-08-26", "oauth-2025-04-20", "output-128k-2025-02-19", "output-300k-2026-03-24",
	"pdfs-2024-09-25", "prompt-caching-2024-07-31", "redact-thinking-2026-02-12", "server-side-fallback-2026-06-01",
	"server-side-fallback-2026-07-01", "skills-2025-10-02", "structured-outputs-2025-11-13", "task-budgets-2026-03-13",
	"thinking-display-updates-2026-08-18", "thinking-token-count-2026-05-13", "token-counting-2024-11-01",
	"token-efficient-tools-2025-02-19", "user-profiles-2026-03-24", "user-profiles-2026-08-18",
	"user-profiles-2026-09-04", "user-profiles-billing-2026-10-01",
}, needed...)

// checkHeaders returns the API version and the betas of a request.
func checkHeaders(h http.Header) (version string, betas []string, err *Error) {
	version = strings.Join(h.Values("Anthropic-Version"), ", ")
	if version == "" {
		return "", nil, invalid("anthropic-version: header is required")
	}
	if !slices.Contains(versions, version) {
		return "", nil, invalid("anthropic-version: %q is not a valid version", version)
	}
	for _, line := range h.Values("Anthropic-Beta") {
		for beta := range strings.SplitSeq(line, ",") {
			switch beta = strings.TrimSpace(beta); {
			case beta == "":
			case !slices.Contains(knownBetas, beta):
				return "", nil, invalid("Unexpected value(s) `%s` for the `anthropic-beta` header. Please consult our documentation or try again without the header.", beta)
			case slices.Contains(betas, beta):
				return "", nil, invalid("anthropic-beta: duplicate value `%s`", beta)
			default:
				betas = append(betas, beta)
			}
		}
	}
	return version, betas, nil
}

// checkKey refuses a request without a key. With both headers, x-api-key counts.
func checkKey(h http.Header, want string) *Error {
	key := h.Get("X-Api-Key")
	if key == "" {
		key, _ = strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	}
	switch {
	case key == "":
		return &Error{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "x-api-key header is required"}
	case want != "" && key != want:
		return &Error{Status: http.StatusUnauthorized, Type: "authentication_error", Message: "invalid x-api-key"}
	}
	return nil
}

// hasBeta reports whether the request was sent with a beta.
func (r *request) hasBeta(beta string) bool { return slices.Contains(r.betas, beta) }

// checkBetas refuses fields whose beta was not sent. Edits are in checkEdits.
func (r *request) checkBetas(Options) *Error {
	if r.fields["thread"] != nil && !r.hasBeta(betaThreads) {
		return invalid("thread: Extra inputs are not permitted")
	}
	if t, _ := r.fields["thinking"].(map[string]any); t["block_binding"] != nil && !r.hasBeta(betaBinding) {
		return invalid("thinking.%s.block_binding: Extra inputs are not permitted", text(t, "type"))
	}
	return nil
}
