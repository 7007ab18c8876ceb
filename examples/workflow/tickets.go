package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
)

type result = anthropic.BetaToolResultBlockParamContentUnion

// readTickets is a tool that returns the tickets in a CSV file, whose columns are the
// number and the text.
func readTickets(file string) anthropic.BetaTool {
	type input struct {
		After string `json:"after"`
	}
	schema := anthropic.BetaToolInputSchemaParam{
		Properties: map[string]any{"after": map[string]any{"type": "string", "description": "the number of the last ticket that is known; 0 if none is"}},
		Required:   []string{"after"},
	}
	return toolrunner.NewBetaTool("read_tickets", "Read the support tickets, oldest first.", schema,
		func(_ context.Context, in input) (result, error) {
			after, err := strconv.Atoi(in.After)
			if err != nil {
				return result{}, err
			}
			f, err := os.Open(file)
			if err != nil {
				return result{}, err
			}
			defer f.Close()
			rows, err := csv.NewReader(f).ReadAll()
			if err != nil {
				return result{}, err
			}
			var list strings.Builder
			for _, row := range rows {
				if number, err := strconv.Atoi(row[0]); err == nil && number > after {
					fmt.Fprintf(&list, "ticket %d: %s\n", number, row[1])
				}
			}
			if list.Len() == 0 {
				list.WriteString("no tickets\n")
			}
			return result{OfText: &anthropic.BetaTextBlockParam{Text: list.String()}}, nil
		})
}
