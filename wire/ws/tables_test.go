package ws

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

func TestCloseCodes(t *testing.T) {
	for code, want := range map[performatives.Code]int{
		performatives.CodeParsingError: websocket.CloseInvalidFramePayloadData, performatives.CodeUnauthorized: websocket.ClosePolicyViolation,
		performatives.CodeForbidden: websocket.ClosePolicyViolation, performatives.CodeUnknownAgent: websocket.ClosePolicyViolation,
		performatives.CodeRateLimited: websocket.ClosePolicyViolation, performatives.CodeBusy: websocket.CloseTryAgainLater,
		performatives.CodeInternal: websocket.CloseInternalServerErr,
	} {
		if got := closeCode(code); got != want {
			t.Errorf("%s, which is %d: %d, want %d", code, wire.StatusOf(code), got, want)
		}
	}
}

// The window is of 8 to 15 bits. It may be quoted.
func TestWindowBits(t *testing.T) {
	for value, want := range map[string]bool{
		"8": true, "15": true, "10": true, `"8"`: true, `"15"`: true, "7": false, "16": false, "": false, `"`: false, `""`: false, `"9`: false, `9"`: false,
		"08": false, "+9": false, "x": false, "9.0": false, "-9": false,
	} {
		if windowBits(value) != want {
			t.Errorf("%s: %t", value, !want)
		}
	}
}

func TestHeaderOfAFrame(t *testing.T) {
	for n, want := range map[int][]byte{
		0: {1, 0}, 125: {1, 125}, 126: {1, 126, 0, 126}, 0xffff: {1, 126, 0xff, 0xff}, 0x10000: {1, 127, 0, 0, 0, 0, 0, 1, 0, 0},
	} {
		if got := appendHeader(nil, 1, n, false); !bytes.Equal(got, want) {
			t.Errorf("%d bytes: %v", n, got)
		}
		if got := appendHeader(nil, 1, n, true); len(got) != len(want) || got[1] != want[1]|maskBit {
			t.Errorf("%d masked bytes: %v", n, got)
		}
	}
	keys := make(map[[4]byte]bool)
	for range 8 {
		keys[newMask()] = true
	}
	if len(keys) < 2 {
		t.Errorf("the keys are %v", keys)
	}
	for n := range 20 {
		key, b := [4]byte{1, 2, 3, 4}, bytes.Repeat([]byte{9}, n)
		mask(b, key)
		for i, c := range b {
			if c != 9^key[i%4] {
				t.Errorf("byte %d of %d is %d", i, n, c)
			}
		}
	}
}

func TestURLs(t *testing.T) {
	const other = "ws: want a URL such as ws://host:port/mcp or wss://host/mcp"
	for text, want := range map[string]string{
		"ws://a": "", "wss://a/x": "", "http://a": other, "ws://": other, "a": other, "ws://u:p@a": "ws: the URL holds a user or a password: set DialOptions.Token instead",
		"ws://a b": `ws: invalid URL: invalid character " " in host name`, "ws://a:x": `ws: invalid URL: invalid port ":x" after host`,
	} {
		u, err := parse(text)
		if (err == nil) != (want == "") || err != nil && err.Error() != want || err == nil && u.Path == "" {
			t.Errorf("%s: %v, %v", text, u, err)
		}
	}
}

func TestHandlerNeedsAServer(t *testing.T) {
	if _, err := Listen(nil, Options{}); err == nil || err.Error() != "ws: the server is nil" {
		t.Error(err)
	}
	refused := denied(403, performatives.CodeForbidden, "no")
	if !errors.Is(refused, performatives.CodeForbidden) || refused.Error() != "no (forbidden)" {
		t.Error(refused)
	}
}
