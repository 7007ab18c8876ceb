// Package memento is memory for agents: it executes Claude's memory tool
// (memory_20250818) and stores what Claude saves with it.
//
// # Start here
//
//	store, backend, err := local.Open(ctx, "memories.db") // memento/local
//	if err != nil {
//		return err
//	}
//	defer backend.Close()
//	tool := memento.NewTool(store, nil)
//
//	// For each tool_use block named "memory" in an answer of Claude:
//	result := tool.Run(ctx, block.Input)
//	// result.Content and result.IsError go into the tool_result block.
//
// The tool is in the request's list of tools as {"type": "memory_20250818",
// "name": "memory"}. Claude calls it to view, create, edit, rename and delete
// text files below /memories, and reads the sentence that the tool returns.
//
// # The parts
//
//   - A [Tool] executes the calls, on one store or on several ([NewScopedTool]).
//   - A [Store] is a set of memories: small text files with a history. Programs
//     read and write them with [Store.Get], [Store.List], [Store.Apply] and
//     [Store.Edit], search them, and read their old versions.
//   - A [Backend] stores them. Below memento/backend, package sqlitestore keeps one
//     file, dirstore plain files, pgstore a PostgreSQL database, s3store an object
//     storage; httpstore is a client of a memento server, memstore is for tests, and
//     cryptstore encrypts what another backend stores.
//   - [Settings] and [Limits] belong to a store: whether secrets are masked before
//     they are written, what expires, how long history lasts, what is read-only.
//
// Programs that do more import more: package local opens a store in one call, package
// history brings back what a store held and undoes changes, package maintenance removes
// what has expired, package claude puts the tool into Anthropic's SDK for Go, and package
// backend is for authors of a [Backend]. The same memory is served by packages httpapi
// (HTTP), mcpserver (the Model Context Protocol) and gateway (the Messages API).
//
// # Guarantees
//
// A write that returned without an error is durable, except in memstore, and in the
// history for as long as the store's [Settings] keep it. A change happens completely or not at all. Concurrent edits of one memory, by goroutines,
// processes or machines, never lose each other. A text is returned byte for byte as
// it was written, except for what was masked, which the [Receipt] of the write lists.
// [Backend] has the complete list, and package storetest tests it on every backend.
//
// Errors are compared with [errors.Is]: [ErrNotExist] and the others in this package.
package memento
