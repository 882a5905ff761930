package machine

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestCheckMonitor(t *testing.T) {
	for _, table := range []Table{ping(), echo(), auction(), haggle(), contractNet()} {
		start := time.Now()
		r, err := CheckMonitor(table.MustCompile(), MonitorCheck{}, rand.New(rand.NewPCG(5, 6)).IntN)
		t.Log(table.Name, r, time.Since(start))
		if err != nil {
			t.Error(err)
		}
	}
}
