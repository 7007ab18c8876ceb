// Package backend has what the author of a backend needs, or of a wrapper around one,
// besides the contract itself, which is [memento.Backend].
//
//   - [Planner] has the rules of [memento.Memories.Apply] and of imports: a backend looks
//     up memories for it ([Snapshot]) and stores the [Effect] of each change. [Pruner]
//     decides which versions [memento.History.Prune] removes.
//   - [NextTime], [LastTime] and [StoredTime] give versions their times; [NewStoreID],
//     [NewMemoryID] and [NewVersionID] their IDs; [EncodeSettings] and [DecodeSettings]
//     store settings.
//   - [Sealed] changes and [SealedImporter] are how a wrapper hands encrypted contents
//     to the backend below it.
//   - The optional interfaces are those that servers, maintenance and repair ask for, such
//     as [WorkspaceLister], [Leaser], [NoteKeeper], [BackupWriter] and [MetricSource].
//     [memento.Searcher], [memento.ReadMarker] and [memento.CachedReader], which a Store
//     uses, are in package memento, and API keys in package apikey.
//
// Packages below this one search texts (textindex), write read times in batches
// (readnotes) and sum up directories for listings (rollup). Package storetest tests a
// backend, and CONTRIBUTING.md says step by step how to add one.
package backend
