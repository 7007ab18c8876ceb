package server

import "flag"

var update = flag.Bool("update", false, "rewrite the tables in docs/configuration.md")
