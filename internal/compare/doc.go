// Package compare measures the nodes of a cluster beside protoactor's remote, in one run. It is a module of its own, so that programs which
// import Ribosome do not get its dependencies (docs/adr/0050-comparison.md):
//
//	go test -run '^$' -bench . -count 5 ./...
package compare
