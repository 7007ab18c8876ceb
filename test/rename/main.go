// Command rename gives the module another path, for whoever publishes it:
//
//	go run ./test/rename github.com/you/memento
//
// It changes what names a package: imports, the go.mod files of this module and the modules
// in its folders, documents, comments and the patches of seeded bugs. It changes neither the
// name of the program nor that of the root package, and commits nothing.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./test/rename NEW/PATH, in the top folder of the module")
		os.Exit(2)
	}
	changed, err := rename(context.Background(), ".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf(`changed %d files. Next:
  go test ./test/archtest -run TestMarkdownLines -update    wraps the documents
  go vet ./... && go test ./test/archtest                   checks the result
README.md and docs/embedding.md still say that there is no public address.
`, changed)
}
