// Package protofield reads and writes the fields of the protobuf messages whose code is written by
// hand: fields that have a length, and varints.
package protofield
