package ws

import (
	"bytes"
	"compress/flate"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// minDeflate is the smallest length in bytes of a message that is compressed.
const minDeflate = 256

// deflater compresses messages without a shared context between them: gorilla negotiates only
// this mode (no_context_takeover).
type deflater struct {
	buf bytes.Buffer
	w   *flate.Writer
}

// deflaters is shared by all connections, because one deflater is larger than thousands of
// idle connections.
var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	d.w, _ = flate.NewWriter(&d.buf, flate.BestSpeed) // fails for unknown levels only
	return d
}}

// tail is the end of flushed data, which is removed before sending (RFC 7692 §7.2.1).
var tail = []byte{0, 0, 0xff, 0xff}

// deflate returns data compressed. The result is valid until release.
func (d *deflater) deflate(data []byte) ([]byte, error) {
	d.buf.Reset()
	d.w.Reset(&d.buf)
	if _, err := d.w.Write(data); err != nil {
		return nil, err
	}
	if err := d.w.Flush(); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(d.buf.Bytes(), tail), nil
}

// usableOffer reports whether a client offers permessage-deflate in a form that gorilla's answer
// agrees to. gorilla answers every offer alike, without a look at its parameters. RFC 7692 wants an
// offer with an unknown, invalid or repeated parameter declined (§7.1), and one that the answer
// does not grant: server_max_window_bits (§7.1.2.1), which package compress/flate cannot keep to.
func usableOffer(header http.Header) bool {
	return slices.ContainsFunc(strings.Split(strings.Join(header.Values("Sec-Websocket-Extensions"), ","), ","), usable)
}

// usable reports whether one offer can be accepted.
func usable(offer string) bool {
	name, rest, more := strings.Cut(offer, ";")
	if strings.TrimSpace(name) != "permessage-deflate" {
		return false
	}
	seen := make(map[string]bool)
	for more {
		var param string
		param, rest, more = strings.Cut(rest, ";")
		key, value, valued := strings.Cut(param, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if seen[key] {
			return false
		}
		seen[key] = true
		switch key {
		case "server_no_context_takeover", "client_no_context_takeover":
			if valued {
				return false
			}
		case "client_max_window_bits":
			if valued && !windowBits(value) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// windowBits reports whether value is one of 8 to 15, maybe quoted, without leading zeros.
func windowBits(value string) bool {
	if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
		value = value[1 : n-1]
	}
	n, err := strconv.Atoi(value)
	return err == nil && n >= 8 && n <= 15 && strconv.Itoa(n) == value
}

// release returns d to the pool. It drops a large buffer.
func (d *deflater) release() {
	if d.buf.Cap() > maxIdleBuffer {
		d.buf = bytes.Buffer{}
	}
	deflaters.Put(d)
}
