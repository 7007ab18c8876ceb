// Package server runs memento as one process that serves the Memory Stores API:
// its listeners, its configuration, and what an operator needs to see.
//
// [Load] reads the configuration from flags, the environment and a YAML file;
// [Settings] is the one table of what can be set. [New] opens the listeners and
// [Server.Run] serves until its context ends, then finishes what was accepted.
// The API itself is package httpapi, and the backend is opened and closed by the
// caller.
//
// What an operator sees (logs, metrics, traces, health) never holds the contents
// or the path of a memory, a credential, or the query of a request.
package server
