// Package embedding finds memories by meaning: "automobile" finds the memory about a car. A
// [Searcher] does it beside the search by words of any backend, with the vectors of an
// [Embedder], such as [HTTP], a service.
//
// It is off unless a program makes a Searcher and gives it to [memento.StoreOptions]. Then
// the contents of the stores that are searched go to the Embedder, and so do the queries.
//
// # Words first
//
// A search ranks by words as always, and by meaning what has vectors; [fuse] joins both
// lists. Nothing that words find is missing if vectors are, or if the Embedder does not
// answer in time: then words alone decide. Queries with operators that restrict what is
// found, such as +must, are left to words.
//
// # Vectors
//
// A memory has a vector for each of its sections ([textindex.Sections]). All of a store's are
// compared with the query's: that is exact, and fast enough as long as they fit into
// [Options].MaxBytes; a store with more is searched by words alone.
//
// A backend that is a [backend.VectorKeeper] keeps them with its memories, for all processes
// that use it. With any other, and for encrypted stores, they are in main memory only.
//
// # Catching up
//
// In the background, a Searcher follows the history of each store that it has searched, and
// asks for the vectors of what was written. [Searcher.Changed] tells it of writes at once; it
// finds those of other processes within [Options].Interval. If several processes share a
// backend, one at a time embeds a store, and the others take over what it has made.
//
// # Erasure
//
// Vectors reveal what a text is about, so they do not outlive it. There are vectors of
// present contents only: what changes or deletes a memory removes those that the backend
// keeps in the same transaction, and before new texts are embedded, those of changed and
// deleted memories are dropped from main memory, whether or not the Embedder works. What can
// be redacted or pruned is no present content, so it has no vectors. A result is read from
// the backend again, so a vector that is behind shows nothing.
package embedding
