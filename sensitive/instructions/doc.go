// Package instructions finds text that addresses the model that reads it, rather than
// informing it: memory is read later as if it were advice. Start with [Find]. The store's
// settings decide what is done about it: see [memento.Sensitive].
//
// # What it finds
//
// Each finding has one of these kinds:
//
//	instruction-override      "ignore previous instructions", in sixteen languages
//	instruction-persona       another role for the model, without its rules
//	instruction-secrecy       something that the user is not to know
//	instruction-disclosure    secrets, conversations or prompts that are to be sent or shown
//	instruction-address       words to "the AI that reads this"; new rules from a supposed authority
//	instruction-role          role markers and tokens of chat templates
//	instruction-comment       comments that no reader of the rendered text sees, to a model
//	instruction-link          images and links with a place for data of the conversation
//	instruction-hidden        characters that nobody sees and that carry text, or turn its direction
//
// # How
//
// signs.go is the one table: a sign is a row of words that follow one another, with bounds
// for what may stand between. Words are compared without case, accents and invisible
// characters, with characters replaced by the letters that they look like (package
// lookalike), digits by letters ("1gn0re"), and spaced letters as one word. A sentence ends
// a sign. hidden.go knows where invisible characters belong: joiners in Persian, Hindi and
// emoji, marks of direction in right-to-left text, flags.
//
// A phrase in quotation marks, on a line that talks about such phrases ("such as", "attack",
// "example"), is a mention and no finding.
//
// # Cost
//
// One pass, linear in the length of the text, whatever it contains.
//
// # What it cannot find
//
// What is said in other words, or in another language. The figures in docs/security.md are
// those of phrases that the table was made without. It is a sign to look at a memory, and
// no protection: who is trusted to write is what protects a store.
package instructions
