// Package jsonscan scans JSON text for the dialects: in one pass, without copying, with
// bounded nesting depth, and several times faster than encoding/json.
package jsonscan
