package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
)

// reply writes the answer to one request. It compresses JSON, and leaves JSON out that the client
// has.
type reply struct {
	http.ResponseWriter
	request *http.Request
}

// Unwrap is for [http.ResponseController].
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// minZipped is the length in bytes from which JSON is compressed.
const minZipped = 1 << 10

// zippers are writers of gzip that are used again.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid one
	return z
}}

// zips reports whether an answer may be compressed. The length of a compressed answer tells how
// similar its parts are (BREACH): an answer that has contents of several agents is not compressed,
// and none is for a page of another site.
func (w *reply) zips() bool {
	switch w.request.Pattern {
	case "GET /api/approvals", "GET /api/refusals":
		return false
	}
	site := w.request.Header.Get("Sec-Fetch-Site")
	return (site == "" || site == "same-origin" || site == "none") && strings.Contains(w.request.Header.Get("Accept-Encoding"), "gzip")
}

// json writes JSON.
func (w *reply) json(status int, text []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Vary", "Accept-Encoding")
	if status == http.StatusOK && w.request.Method == http.MethodGet {
		sum := sha256.Sum256(text)
		tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
		if header.Set("ETag", tag); w.request.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(text) >= minZipped && w.zips() {
		var short bytes.Buffer
		z, _ := zippers.Get().(*gzip.Writer)
		z.Reset(&short)
		_, _ = z.Write(text) // a buffer takes everything
		_ = z.Close()
		zippers.Put(z)
		header.Set("Content-Encoding", "gzip")
		text = short.Bytes()
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}
