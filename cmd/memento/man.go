package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages of a release. Packages contain them, so nobody else
// needs the command.
func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages",
		Long: `Man writes a manual page for each command into a folder, which is created if it does
not exist. Their date is that of SOURCE_DATE_EPOCH, so that two builds are the same.`,
		Example: "  memento man build/man && man build/man/memento-serve.1",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			date := a.now()
			if text := os.Getenv("SOURCE_DATE_EPOCH"); text != "" {
				seconds, err := strconv.ParseInt(text, 10, 64)
				if err != nil {
					return usage("SOURCE_DATE_EPOCH is %q, want the seconds since 1970", text)
				}
				date = time.Unix(seconds, 0).UTC()
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true // it has the date once more
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "memento", Manual: "memento"}, args[0]); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			return nil
		},
	}
}
