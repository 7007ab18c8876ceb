// Package openapi proves, with tests alone, that memento's OpenAPI document is one,
// and tells the truth: a validator looks at every request and every answer of a run
// over all endpoints, errors included, and knows nothing but the document. In its
// copy of it, objects have no other fields than those described.
package openapi
