// Package gencorpus generates the texts that package sensitive is measured with: secrets
// of every kind, generated from the format that the issuer documents (random, with the
// right checksum), in every surrounding in which a note may have them; personal data; and
// texts in which there is nothing to find.
//
// The same seed makes the same texts. No secret is stored in this repository.
package gencorpus
