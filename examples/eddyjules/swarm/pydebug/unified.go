package pydebug

import "github.com/aymanbagabas/go-udiff"

// Diff returns the difference between two texts in the unified format of patch, under the file name
// a/name and b/name; empty if they are equal. The line "\ No newline at end of file" follows a last
// line without line ending.
func Diff(name, before, after string) string {
	return udiff.Unified("a/"+name, "b/"+name, before, after)
}
