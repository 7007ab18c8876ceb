package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
)

type result = anthropic.BetaToolResultBlockParamContentUnion

func text(s string) result { return result{OfText: &anthropic.BetaTextBlockParam{Text: s}} }

type file struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// schema returns the schema of a tool whose parameters are texts, all required.
func schema(parameters ...string) anthropic.BetaToolInputSchemaParam {
	properties := map[string]any{}
	for _, name := range parameters {
		properties[name] = map[string]any{"type": "string"}
	}
	return anthropic.BetaToolInputSchemaParam{Properties: properties, Required: parameters}
}

func readFile(root *os.Root) anthropic.BetaTool {
	return toolrunner.NewBetaTool("read_file", "Read a file of the project.", schema("path"),
		func(_ context.Context, f file) (result, error) {
			data, err := root.ReadFile(f.Path)
			return text(string(data)), err
		})
}

func writeFile(root *os.Root) anthropic.BetaTool {
	return toolrunner.NewBetaTool("write_file", "Create or replace a file of the project.", schema("path", "text"),
		func(_ context.Context, f file) (result, error) {
			if err := root.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
				return result{}, err
			}
			return text("wrote " + f.Path), root.WriteFile(f.Path, []byte(f.Text), 0o644)
		})
}
