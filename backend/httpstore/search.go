package httpstore

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"memento"
	"memento/internal/wire"
)

// Limits of the server.
const (
	maxQuery   = 10_000 // bytes; the relevant part of a query is shorter
	maxMatches = 10_000
)

// Search returns matching memories, best first, at most 10,000.
func (b *Backend) Search(ctx context.Context, id memento.StoreID, opts memento.SearchOptions) ([]memento.Match, error) {
	const op = "search"
	if opts.Dir != "" && opts.Dir != memento.Root && !isPath(opts.Dir) { // there is nothing below such a path
		return nil, b.exists(ctx, op, id)
	}
	text := strings.ToValidUTF8(opts.Query, " ")
	if len(text) > maxQuery {
		text = strings.ToValidUTF8(text[:maxQuery], "")
	}
	query := url.Values{"query": {text}}
	if opts.Dir != "" {
		query.Set("path_prefix", opts.Dir.Prefix())
	}
	if opts.Limit > 0 {
		query.Set("limit", strconv.Itoa(min(opts.Limit, maxMatches)))
	}
	if opts.All {
		query.Set("match", "all")
	}
	var answer struct {
		Data []wire.Match `json:"data"`
	}
	if err := b.in(ctx, id, request{op: op, method: http.MethodGet, path: "/search", query: query, safe: true}, &answer); err != nil {
		return nil, err
	}
	var found []memento.Match
	for i := range answer.Data {
		found = append(found, answer.Data[i].Match())
	}
	return found, nil
}
