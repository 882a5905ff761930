// Package jsonscan reads JSON text for the dialects: in one pass, without copying, with
// a bound on how deep it nests, and several times as fast as package json.
package jsonscan
