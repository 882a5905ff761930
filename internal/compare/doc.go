// Package compare measures the nodes of a cluster beside protoactor's remote, in one run. It is a
// module of its own, so that programs which import Ribosome do not get its dependencies
// (docs/adr/0050-comparison.md):
//
//	go test -run '^$' -bench . -count 5 ./...
//
// In such a run what one benchmark leaves in memory for a while, such as a node of Ribosome for a
// second after its stop, is marked by the garbage collector in the next one. In the following one,
// each system has processes of its own:
//
//	go test -c -o compare.test
//	for round in 1 2 3 4 5; do
//	  for system in ribosome protoactor; do
//	    for benchmark in OneWay/$system'$' Ask/$system/'^1$' Ask/$system/'^64$'; do
//	      ./compare.test -test.run '^$' -test.bench "$benchmark"
//	    done
//	  done
//	done
package compare
