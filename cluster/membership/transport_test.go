package membership

import (
	"net"
	"testing"
)

// TestStreamsOfOthersAreBounded has more streams from other nodes than a transport keeps. The
// streams that it opens itself are not counted.
func TestStreamsOfOthersAreBounded(t *testing.T) {
	tr := &transport{streams: map[*stream]bool{}}
	var all []*stream
	track := func(inbound bool) *stream {
		here, there := net.Pipe()
		t.Cleanup(func() { _ = there.Close() })
		s := tr.track(here, inbound)
		if s == nil {
			if _, err := there.Read(make([]byte, 1)); err == nil {
				t.Error("the stream that is refused is not closed")
			}
			return nil
		}
		all = append(all, s)
		return s
	}
	for i := range maxStreams {
		if track(true) == nil {
			t.Fatalf("the stream after %d others is refused, want %d", i, maxStreams)
		}
	}
	if track(true) != nil {
		t.Errorf("more than %d streams are open", maxStreams)
	}
	if track(false) == nil {
		t.Error("an own stream is refused")
	}
	if err := all[0].Close(); err != nil {
		t.Fatal(err)
	}
	if track(true) == nil {
		t.Error("a stream is refused when another one has ended")
	}
	for _, s := range all {
		_ = s.Close()
	}
	if tr.inbound != 0 || len(tr.streams) != 0 {
		t.Errorf("%d streams are counted and %d kept after all have ended", tr.inbound, len(tr.streams))
	}
}
