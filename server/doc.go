// Package server runs memento as one process that serves the Memory Stores API. It has
// the configuration, the listeners, and logs, metrics, traces and health for the
// operator.
//
// [Load] reads the configuration from flags, the environment and a YAML file.
// [Settings] is the one table of settings. [New] opens the listeners. [Server.Run]
// serves until its context ends, and then finishes the accepted requests. The API
// itself is package httpapi. The caller opens and closes the backend.
//
// Logs, metrics, traces and health never contain the contents or the path of a memory,
// a credential, or the query of a request.
package server
