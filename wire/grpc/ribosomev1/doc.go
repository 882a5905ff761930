// Package ribosomev1 is what protoc-gen-go makes of ribosome.proto, which documents
// it: the messages of wire/grpc, for tests and for programs that speak to a node
// without the rest of Ribosome. For an example see [Frame] and its use in the tests of
// package wire/grpc.
package ribosomev1

//go:generate go run -C ../../../tools/proto . ../../wire/grpc/ribosomev1/ribosome.proto
