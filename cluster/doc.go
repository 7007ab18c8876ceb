// Package cluster holds tests only: of several servers of memento that share a
// database or a bucket, while what lies between and below them fails.
//
// A test starts three processes of "memento serve" on one backend. Clients call them
// in turn, over HTTP, with edits that conflict; connections are cut, delayed and
// refused, answers get lost, storage refuses or restarts, and servers are killed. All
// calls and their answers are recorded. In the end they must make sense:
//
//   - Histories are linearizable. A call whose answer is unknown may have taken
//     effect at any time since, or not.
//   - What was acknowledged is there, in the order in which it was acknowledged, and
//     what was refused or said not to have happened is not. Nothing is there by half.
//   - The history of versions, replayed, explains what there is.
//   - All servers show the same.
//   - Errors say what they mean: no fault below looks like a mistake of the client.
//
// Clients work in arenas, which are small directories of a store, one after the other:
// a history is checked arena by arena. See arena for the model, op for the calls.
//
//	go test ./cluster                                # one round on each backend
//	go test ./cluster -run Postgres -seed 7 -v       # another round
//	go test ./cluster -timeout 2h -long -rounds 50   # longer rounds, with the seeds that follow
//
// A test that fails says its seed and leaves the recorded calls, the versions and the
// servers' logs in a folder that it names.
package cluster
