package claude

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"memento/internal/memorytool"
)

// description is what models read that do not know memory_20250818.
const description = memorytool.Description

func inputSchema() anthropic.BetaToolInputSchemaParam {
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal([]byte(memorytool.Schema), &schema); err != nil {
		panic("claude: the schema of the memory tool: " + err.Error()) // a constant
	}
	return anthropic.BetaToolInputSchemaParam{Properties: schema.Properties, Required: schema.Required}
}
