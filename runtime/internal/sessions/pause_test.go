package sessions

import (
	"testing"
	"testing/synctest"
	"time"
)

// Many short pauses are one longer pause.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l link
		began := time.Now()
		took := func() time.Duration { defer func() { began = time.Now() }(); return time.Since(began) }
		for i := range 3 {
			for range owedTime/time.Millisecond - 1 {
				l.pause(time.Millisecond)
				l.pause(0)
			}
			if d := took(); d != 0 {
				t.Errorf("round %d: a pause of %v too early", i, d)
			}
			l.pause(time.Millisecond)
			if d := took(); d != pauseTime {
				t.Errorf("round %d: a pause of %v", i, d)
			}
		}
	})
}
