// Package console is the web page on which an operator sees a node: its agents, its conversations
// as they grow, refusals, and the steps that wait for an approval. It is HTML, CSS and JavaScript
// modules as they are in the folder static, without a build and without libraries of others, and
// reads the interface of package api. docs/console.md shows it. [New] returns it as an
// [http.Handler].
//
// # Security
//
// The page sends the operator's token in the header Authorization only, and keeps it for the
// browser's tab. Whatever comes from agents is inserted as text; the Content-Security-Policy
// forbids inline scripts and styles, and lets no text become markup.
//
// # Concurrency
//
// The handler may be used from any goroutine.
package console
