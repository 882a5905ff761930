package ws

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/wire"
)

// Every input of a client ends with an error, and allocates a bounded amount of memory.
func FuzzRead(f *testing.F) {
	for _, seed := range [][]byte{
		nil, frame(0x81, []byte("hello")), frame(0x82, make([]byte, 300)), announce(0x81, 1<<63), announce(0x81, 4<<30),
		append(frame(0x01, []byte("a")), frame(0x80, []byte("b"))...), frame(0xc1, compressedZeros(f, 1<<20)), frame(0xc1, compressedZeros(f, 100)),
		append(frame(0x89, []byte("ping")), frame(0x8a, nil)...), frame(0x88, []byte{3, 0xe8, 'b', 'y', 'e'}),
		{0x81, 1, 'x'},
		append(frame(0x41, compressedZeros(f, 10)), frame(0x80, nil)...),
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	const limit = 4 << 10
	f.Fuzz(func(t *testing.T, in []byte, compress bool) {
		c := serverOn(t, &fakeNet{in: bytes.NewReader(in)}, compress, limit)
		before := allocated()
		frames := 0
		control := func(fr wire.Frame) {
			frames++
			if len(fr.Data) > maxControl {
				t.Errorf("a control frame of %d bytes", len(fr.Data))
			}
		}
		var err error
		for ; err == nil; frames++ {
			var data []byte
			if data, err = c.Read(control); len(data) > limit {
				t.Fatalf("a message of %d bytes", len(data))
			}
		}
		if frames > 1+len(in)/6 && frames > 2 {
			t.Errorf("%d frames in %d bytes", frames, len(in))
		}
		if _, again := c.Read(control); !errors.Is(again, err) {
			t.Errorf("after %v Read returns %v", err, again)
		}
		if cost := allocated() - before; cost > 4<<20+1024*uint64(len(in)) {
			t.Errorf("%d bytes allocated %d", len(in), cost)
		}
		if err := c.Write([]wire.Frame{{Kind: wire.KindError, Err: wire.AsRefusal(err)}, {Kind: wire.KindClose}}); err != nil {
			t.Error(err)
		}
	})
}

// Each end reads what the other end wrote.
func FuzzRoundTrip(f *testing.F) {
	for _, n := range lengths {
		f.Add(text(n), []byte("between"), false)
	}
	f.Add(make([]byte, 5000), []byte{0xff}, true)
	f.Fuzz(func(t *testing.T, first, second []byte, compress bool) {
		var f fakeNet
		out := output{network: &f, client: true, deflates: compress, time: 1}
		frames := []wire.Frame{{Kind: wire.KindData, Data: first}, {Kind: wire.KindPing, Data: second}, {Kind: wire.KindData, Data: second}}
		before := [2][]byte{bytes.Clone(first), bytes.Clone(second)}
		if err := out.write(frames, nil, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(first, before[0]) || !bytes.Equal(second, before[1]) {
			t.Fatal("Write changed the caller's data")
		}
		c := serverOn(t, &fakeNet{in: bytes.NewReader(f.out)}, compress, wire.DefaultMaxFrame)
		for _, want := range [][]byte{first, second} {
			got, err := c.Read(func(fr wire.Frame) {
				if !bytes.Equal(fr.Data, second[:min(len(second), maxControl)]) {
					t.Errorf("the ping arrived as %q", fr.Data)
				}
			})
			if !utf8.Valid(want) {
				if err == nil {
					t.Fatal("invalid UTF-8 was accepted as text")
				}
				return
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes arrived as %d, %v", len(want), len(got), err)
			}
		}
	})
}

// Dial returns an error for every answer that lacks the accept key, and the error is short.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 401 Unauthorized\r\nRetry-After: 3\r\nContent-Length: 50\r\n\r\n" + `{"code":"UNAUTHORIZED","message":"the token is wr"}`))
	f.Add([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n"))
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, in []byte) {
		o := DialOptions{Limits: wire.Limits{}.WithDefaults()}
		c, err := o.upgrade(context.Background(), &url.URL{Scheme: "ws", Host: "x", Path: "/mcp"}, &fakeNet{in: bytes.NewReader(in)})
		if c != nil || err == nil || len(err.Error()) > maxText+200 {
			t.Errorf("%v, %v", c, err)
		}
	})
}
