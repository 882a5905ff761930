// Package compare measures the nodes of a cluster beside other systems that do the same, in one run. It is a module of its own, so that
// nobody who imports Ribosome gets their dependencies. It has benchmarks only:
//
//	go test -run '^$' -bench . -count 5 ./...
package compare
