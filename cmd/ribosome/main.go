package main

import (
	"context"
	"os"

	ragswarm "github.com/ribosome-agents/ribosome/examples/rag/swarm"
)

func main() {
	ragswarm.ReadPDFs()
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
