// Command mcpb makes what MCP clients install memento from: bundles (.mcpb files), one for
// each platform, and the description of them for a registry (server.json).
//
//	go run ./cmd/mcpb bundle --binary FILE --os OS --version VERSION --output FILE
//	go run ./cmd/mcpb registry --name NAME --url URL --version VERSION BUNDLE... > server.json
//
// The release calls the first for each program that it builds. The second is for who
// publishes the bundles: only they know the name and the address. Two runs with the same input
// make the same files, byte for byte.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "mcpb: %v\n", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to make: bundle or registry")
	}
	f := flag.NewFlagSet("mcpb "+args[0], flag.ContinueOnError)
	f.SetOutput(stderr)
	version := f.String("version", "", "version of the release, such as 1.2.3")
	switch args[0] {
	case "bundle":
		binary := f.String("binary", "", "program that is bundled")
		goos := f.String("os", "", "operating system of the program: linux, darwin or windows")
		output := f.String("output", "", "file that is written")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		if *binary == "" || *output == "" || f.NArg() > 0 {
			return errors.New("bundle needs --binary and --output, and nothing else")
		}
		m, err := newManifest(*version, *goos)
		if err != nil {
			return err
		}
		return writeBundle(*output, m, *binary)
	case "registry":
		name := f.String("name", "", "name in the registry, such as io.github.OWNER/memento")
		url := f.String("url", "", "URL of the folder with the bundles")
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		s, err := newServer(*name, *url, *version, f.Args())
		if err != nil {
			return err
		}
		return writeJSON(stdout, s)
	}
	return fmt.Errorf("%q is neither bundle nor registry", args[0])
}
