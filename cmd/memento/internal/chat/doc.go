// Package chat is a conversation with Claude that has a memory: what "memento chat"
// shows in a terminal.
//
// A [Conversation] sends what the user writes to the Messages API, executes the calls of
// the memory tool in the answer, and goes on until the answer is complete. Everything is
// kept in a [Session], which [Sessions] saves in a file after each step, so that a
// conversation that was interrupted, in whatever way, can be resumed. [Terminal] is the
// conversation in a terminal.
package chat
