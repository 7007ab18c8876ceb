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
// # Catching up
//
// In the background, a Searcher follows the history of each store that it has searched, and
// asks for the vectors of what was written. [Searcher.Changed] tells it of writes at once; it
// finds those of other processes within [Options].Interval. Stores that it has not searched,
// but whose vectors are in the cache, it follows only to drop those of what is not there any
// more.
//
// # Erasure
//
// Vectors reveal what a text is about, so they do not outlive it. There are vectors of
// present contents only: before new texts are embedded, those of changed and deleted
// memories are dropped, from main memory and from the cache, whether or not the Embedder
// works. What can be redacted or pruned is no present content, so it has no vectors. A
// result is read from the backend again, so a vector that is behind shows nothing.
//
// # Cache
//
// Vectors cost time and money, so a SQLite file that is not part of the store,
// [Options].CacheFile, keeps them between processes. It can always be made again. It has no
// texts, but it has vectors in the clear: for encrypted stores there is none, and vectors are
// in main memory only. One process has a cache file at a time, and removes from it what is
// erased; whoever stops using a cache file removes it.
package embedding
