// Package mcpserver gives agents memory over the Model Context Protocol: the six
// commands of the memory tool, search, the history, files as resources, and the memory
// protocol as prompts.
//
// [New] makes a server for one client's memory. [Server.Serve] speaks with the client over
// a pair of streams, as "memento mcp" does over standard input and output; [NewHandler]
// makes the HTTP endpoint, for many clients. Both speak the protocol of 2026-07-28, which
// has no sessions, and the versions before it.
//
// Commands are executed by a memento.Tool, so an agent reads the same sentences as over
// any other front end. Every answer to a model is bounded: see [MaxAnswerBytes].
//
// Messages and requests under way are bounded in size and number before they are read. A
// message that cannot be understood is answered with an error, and the next one is read.
package mcpserver
