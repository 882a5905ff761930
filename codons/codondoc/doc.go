// Package codondoc writes the documentation of codons in Markdown, from the tables that run
// the conversations, the Go types of their payloads, and the Go examples.
//
// A program that writes the pages of an application's codons is one line of code:
//
//	func main() {
//		if err := codondoc.Write("docs/codons", review.Codon); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// and "go generate" runs it when a package of the application has the line
//
//	//go:generate go run ./internal/codonpages
//
// The package reads sources: comments of the payload types, and examples. It finds them from
// the working directory, which must be in the application's module. Packages of other
// modules are found with the go command.
//
// The package is for tools. It links the explorer of tables.
package codondoc
