// Package memento keeps what Claude remembers.
//
// Claude's memory tool, memory_20250818, is executed by the application: the
// model asks to view, create, str_replace, insert, delete and rename files under
// /memories, and expects certain sentences back. A [Tool] executes those
// commands, and answers in the words of the tool's documentation, on a [Store]:
// a set of small text files with history, limits and safe concurrent edits. A
// Store keeps them in a [Backend]; package sqlitestore is the one to start with,
// dirstore keeps plain files, memstore is for tests. What looks like a secret is
// replaced before it is written, as the store's [Settings] say.
//
//	backend, err := sqlitestore.Open(ctx, "memories.db", nil)
//	...
//	defer backend.Close()
//	store := memento.OpenNamed(backend, memento.DefaultWorkspace, memento.StoreSpec{Name: "default"}, &memento.StoreOptions{Detector: sensitive.Default()})
//	tool := memento.NewTool(store, nil)
//	result := tool.Run(ctx, toolUse.Input)
//
// # What holds
//
// A write that returned without an error is on the medium, and in the history.
// Changes happen wholly or not at all. Two edits of one file never lose each
// other, whichever goroutines, processes or machines they come from. Contents
// come back byte for byte, but for what was replaced, which a [Receipt] tells. [Backend] has the whole list; package storetest
// checks it on every backend.
//
// # Who does what
//
// The answer's text and the rules of the commands are [Tool]'s; the rules about
// documents are [Store]'s and, where they must hold inside a transaction,
// [Planner]'s; keeping and finding things is the [Backend]'s.
package memento
