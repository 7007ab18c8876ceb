// Package history goes back in the history of a store: it shows what a store held at a
// time, and who wrote each line, and it takes changes back.
//
//   - [AsOf] returns the memories of a time in the past, and [Annotate] the lines of a
//     memory, each with the version that wrote it. [RenamedFrom] finds renames.
//   - [RestoreVersion], [RestoreAsOf], [RestorePathAsOf] and [UndoLast] bring back
//     contents of the past.
//   - [Undo] takes back everything that one actor wrote in a span of time, and keeps what
//     others have written since.
//
// All of it is computed from the versions that [memento.Store.Versions] yields, so it
// works on every backend. Taking a change back is a change as well: it adds versions, is
// masked as every write, and can be taken back itself. Each function that writes does so
// under conditions on what it has read, and plans again if others were faster.
package history
