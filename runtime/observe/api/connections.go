package api

import (
	"fmt"
	"net/http"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// Limit bounds the connections of a server of the interface. Requests of further ones are answered 503 with the code busy, and their connections closed; only
// /healthz and /readyz are served there, so that a probe does not take a node with many readers for a dead one. Connections beyond the next 128 are closed
// without an answer.
//
// Limit has to be called before the server begins to serve. It wraps its Handler, and sets its ConnContext and ConnState. most has to be above 0.
func Limit(server *http.Server, most int) {
	open := &sockets.Connections{Most: most}
	server.ConnContext, server.ConnState = open.Context, open.State
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		fail(w, http.StatusServiceUnavailable, "busy", fmt.Sprintf("the interface serves at most %d connections at a time; close one, or try again later", most))
	})
}
