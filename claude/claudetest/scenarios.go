package claudetest

import _ "embed"

//go:embed scenarios/support.yaml
var supportYAML []byte

//go:embed scenarios/refactoring.yaml
var refactoringYAML []byte

// Support returns the scenario of a support agent that meets a customer twice, each
// time with an empty context.
func Support() *Scenario { return mustLoad(supportYAML) }

// Refactoring returns the scenario of a programming agent that makes more than 200
// tool calls, and needs values from the beginning of its work at the end of it.
func Refactoring() *Scenario { return mustLoad(refactoringYAML) }

// mustLoad parses a scenario of this package.
func mustLoad(data []byte) *Scenario {
	s, err := Load(data)
	if err != nil {
		panic(err)
	}
	return s
}
