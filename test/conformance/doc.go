// Package conformance proves, with tests alone, that the official SDKs are clients
// of memento serve as they are: only their base URL and key differ from a client of
// the Memory Stores API.
//
// Each test starts the real binary on a new file, behind a proxy that notes what
// went over the wire and can lose an answer. The scenarios are written once, against
// the interface client, and run with four majors: the last two of anthropic-sdk-go,
// and the last two of @anthropic-ai/sdk, whose calls a Node process makes
// (sdk/calls.mjs). So are those of the session memory sync that each of them has. The
// programs in the folder examples are run as well, with a model that has a script, and so
// are the adapters, against a server and against processes of memento tool.
//
// This is a module of its own, so that the SDKs are no dependencies of memento's.
// It needs Node.js with npm, Python 3, and a shell with curl.
package conformance
