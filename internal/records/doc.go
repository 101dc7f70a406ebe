// Package records keeps what was run: a plain folder of JSON files, each named by the hash of its
// contents. Any number of processes may write into a folder at once, also over a network file
// system, for a record appears under its name with all of its contents or not at all; and a record
// that is written twice is one record. Tags are empty files beside them.
package records
