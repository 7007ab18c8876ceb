// Package transcripts plays conversations with the memory tool and compares the answers,
// byte for byte. It also sends the tool what no agent should, made by a fuzzer.
//
// A transcript is a file in testdata, one section for each turn. Its sections are
//
//	mount NAME       the following sections, up to the next mount, are about the store mounted as NAME
//	mount NAME ro    the same, and the mount is read-only
//	store            limits of the store, as JSON
//	settings         settings of the store, as JSON; what is left out is the default
//	tool             options of the tool, as JSON
//	profile NAME     the profile of the tool
//	put P            a memory that exists already, at the store's path P
//	put P xN         the same, its text N times
//	archive          the store is archived here
//	input            what the agent sends
//	result           the answer to it
//	error            the answer to it, marked as an error
//
// Without mounts the tool is on one store. The newline before the next section is not part
// of an answer. After a deliberate change of an answer run
//
//	go test ./test/transcripts -update
//
// and read the differences.
package transcripts
