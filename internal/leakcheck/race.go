//go:build race

package leakcheck

import cmap "github.com/orcaman/concurrent-map"

// The registry of each actor system has 1,024 maps of SHARD_COUNT shards: 32,768 allocations, which
// the race detector makes slow. One shard each will do in tests.
func init() { cmap.SHARD_COUNT = 1 }
