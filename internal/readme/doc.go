// Package readme copies code from the examples into README.md and docs/*.md, so that
// the code of the documents is compiled code. A test fails when the two differ,
// and with -update it copies.
//
// The code is the region between two lines of a Go file below examples/:
//
//	// readme:start
//	// readme:end
//
// In a document, it is placed between
//
//	<!-- code: examples/hello/main.go -->
//	<!-- /code -->
//
// The region of a test file is copied as a program: with a package clause, and with
// main as the name of its Example function.
//
// Run it with make readme.
package readme

//go:generate go test -count=1 -run ^TestCodeOfDocumentsIsCompiledCode$ . -update
