package api

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// Limit bounds the connections of a server of the interface. Requests of further ones are answered
// 503 with the code busy, and their connections closed; only /healthz and /readyz are served there,
// so that a probe does not take a node with many readers for a dead one. Connections beyond the
// next 128 take the places of the oldest of these, which are closed without an answer: clients that
// hold all connections do not keep out a probe. The same holds for the connections of another
// machine beyond a quarter of the bound. The body of a request may take ten seconds. A request that
// is refused is answered without its body, and its connection closed.
//
// Limit has to be called before the server begins to serve. It wraps its Handler, and sets its
// ConnContext and ConnState. most has to be above 0.
func Limit(server *http.Server, most int) {
	open := &sockets.Connections{Most: most, PerHost: max(1, most/4)}
	server.ConnContext, server.ConnState = open.Context, open.State
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		boundBody(w, r)
		if !sockets.Surplus(r.Context()) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		fail(w, failed(http.StatusServiceUnavailable, "busy", fmt.Sprintf("the interface serves at most %d connections at a time; close one, or try again later", most)))
	})
}

// bodyTime is how long the body of a request may take.
const bodyTime = 10 * time.Second

// boundBody bounds the time that the body of a request may take. Until the body has been read, an
// answer closes the connection: the server would read the rest of the body before it answers.
func boundBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 { // a deadline would end streams
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // all connections have one
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
	r.Body = &boundedBody{r.Body, func() {
		_ = control.SetReadDeadline(time.Time{}) // otherwise the request would end with the deadline
		w.Header().Del("Connection")
	}}
}

// boundedBody calls read when the body has been read to its end.
type boundedBody struct {
	io.ReadCloser
	read func()
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.read()
	}
	return n, err
}
