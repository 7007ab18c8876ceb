// Package cluster contains only tests: of several memento servers that share a database
// or a bucket, under faults of the network and the storage.
//
// A test starts three processes of "memento serve" on one backend. Clients call them in
// turn, over HTTP, with conflicting edits. Meanwhile connections are cut, delayed and
// refused, responses get lost, the storage refuses requests or restarts, and servers are
// killed. All calls and their results are recorded. At the end they must be consistent:
//
//   - Histories are linearizable. A call with an unknown outcome may have taken
//     effect at any time since, or not at all.
//   - Acknowledged writes are there, in the order of their acknowledgement. Writes
//     that were refused or reported as not carried out are not. No write is there
//     in part.
//   - The history of versions, replayed, gives the present state.
//   - All servers show the same.
//   - Errors have the right meaning: no fault of the infrastructure is reported as an
//     error of the client.
//
// Clients work in arenas, which are small directories of a store, one after the other: a
// history is checked arena by arena. See arena for the model, op for the calls.
//
//	go test ./test/cluster                                # one round on each backend
//	go test ./test/cluster -run Postgres -seed 7 -v       # another round
//	go test ./test/cluster -timeout 2h -long -rounds 50   # longer rounds, with the seeds that follow
//
// A test that fails prints its seed, and keeps the recorded calls, the versions and the
// servers' logs in a folder that it names.
package cluster
