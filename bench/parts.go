package main

import (
	"fmt"
	"slices"
	"strings"
)

// A part is a comparison that can be run by itself.
type part string

const (
	partSDK        part = "sdk"        // the TypeScript SDK's tool
	partPostgres   part = "postgres"   // pgstore beside PostgreSQL itself
	partS3         part = "s3"         // s3store beside the object store itself
	partEncryption part = "encryption" // cryptstore beside what it wraps
	partFlatness   part = "flatness"   // large stores and workspaces beside small ones
)

var (
	engineParts = []part{partPostgres, partS3, partEncryption, partFlatness}
	allParts    = append([]part{partSDK}, engineParts...)
)

// parseParts reads a comma-separated list of parts, "engines" and "all" among them.
func parseParts(list string) ([]part, error) {
	var parts []part
	for field := range strings.SplitSeq(list, ",") {
		switch p := part(strings.TrimSpace(field)); {
		case p == "all":
			parts = append(parts, allParts...)
		case p == "engines":
			parts = append(parts, engineParts...)
		case slices.Contains(allParts, p):
			parts = append(parts, p)
		default:
			return nil, fmt.Errorf("-part: there is no part %q; the parts are %s, engines for all but the first, and all", p, join(allParts))
		}
	}
	return parts, nil
}

// parseEngines reads a comma-separated list of engines.
func parseEngines(list string) ([]engineName, error) {
	var names []engineName
	for field := range strings.SplitSeq(list, ",") {
		name := engineName(strings.TrimSpace(field))
		if !slices.Contains(allEngines, name) {
			return nil, fmt.Errorf("-engines: there is no engine %q; the engines are %s", name, join(allEngines))
		}
		names = append(names, name)
	}
	return names, nil
}

func join[S ~string](names []S) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}

func (c *config) has(p part) bool { return slices.Contains(c.parts, p) }

func (c *config) covers(e engineName) bool { return slices.Contains(c.engines, e) }
