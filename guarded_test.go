package memento_test

import (
	"regexp"

	"memento"
)

// guarded opens stores with a detector whose findings a test can foresee; what
// package sensitive finds is its own tests' to show.
func guarded() *memento.StoreOptions { return &memento.StoreOptions{Detector: planted{}} }

// planted finds "sk-test-" and eight digits, and, as personal data, "person-" and
// a digit.
type planted struct{}

func (planted) Detect(text string, personal bool) (found []memento.Finding) {
	for _, m := range regexp.MustCompile(`sk-test-\d{8}|(person-\d)`).FindAllStringSubmatchIndex(text, -1) {
		kind := "test-key"
		if m[2] >= 0 {
			if kind = "test-person"; !personal {
				continue
			}
		}
		found = append(found, memento.Finding{Kind: kind, Start: m[0], End: m[1]})
	}
	return found
}
