package ws

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/gorilla/websocket"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// Handler returns an http.Handler that accepts connections for server on the caller's HTTP
// server. An accepted connection becomes a session, which continues after ServeHTTP has
// returned and ends with server.Stop. Any other request gets an HTTP error. Options.Addr and
// Options.TLS are ignored. Handler panics when server is nil or an option is invalid.
func Handler(server *wire.Server, o Options) http.Handler {
	h, err := newHandler(server, o)
	if err != nil {
		panic(err)
	}
	return h
}

// handler upgrades requests to sessions.
type handler struct {
	server  *wire.Server
	opts    Options
	pending sync.WaitGroup // requests

	lock    sync.Mutex
	streams map[string]*stream // by token
}

func newHandler(server *wire.Server, o Options) (*handler, error) {
	o.Path = cmp.Or(o.Path, DefaultPath)
	if server == nil {
		return nil, errors.New("ws: the server is nil")
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	return &handler{server: server, opts: o}, nil
}

// ServeHTTP upgrades the request or answers with an error.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.pending.Add(1)
	defer h.pending.Done()
	if h.opts.Posts != nil && (r.URL.Path == RequestPath || r.URL.Path == EventsPath) {
		h.posting(w, r)
		return
	}
	id, err := h.admit(r, h.wellFormed, true)
	if err != nil {
		writeError(w, err)
		return
	}
	c, err := h.upgrade(w, r)
	if err != nil {
		h.server.Options().Logger.Debug("no upgrade", "peer", r.RemoteAddr, "err", err)
		return
	}
	// The goroutine of the request would keep the request and the HTTP server's buffers in memory.
	_ = h.server.Start(c, id) // the peer has been told
}

// admit returns the identity of the peer, or the error for the answer. wellFormed checks the form
// of the request; opens says that it opens a session.
func (h *handler) admit(r *http.Request, wellFormed func(*http.Request) error, opens bool) (*wire.Identity, error) {
	if sockets.Surplus(r.Context()) {
		return nil, denied(http.StatusServiceUnavailable, performatives.CodeBusy, "too many connections without a session")
	}
	if err := wellFormed(r); err != nil {
		return nil, err
	}
	if origin := r.Header.Get("Origin"); origin != "" && !h.opts.allowsOrigin(origin, r.Host) {
		return nil, denied(http.StatusForbidden, performatives.CodeForbidden, "pages of that origin may not connect")
	}
	if opens {
		if err := h.server.Admit(peerOf(r)); err != nil {
			return nil, unavailable(err)
		}
	}
	return h.authenticate(r)
}

// wellFormed checks that the request asks for a WebSocket upgrade.
func (h *handler) wellFormed(r *http.Request) error {
	switch {
	case !h.opts.servesPath(r.URL.Path):
		return denied(http.StatusNotFound, performatives.CodeUnknownAgent, "there is nothing at this path")
	case !r.ProtoAtLeast(1, 1): // RFC 6455 §4.1
		return denied(http.StatusHTTPVersionNotSupported, performatives.CodeParsingError, "want HTTP/1.1")
	case r.Method != http.MethodGet:
		return denied(http.StatusMethodNotAllowed, performatives.CodeParsingError, "want the method GET")
	case !websocket.IsWebSocketUpgrade(r):
		return denied(http.StatusUpgradeRequired, performatives.CodeParsingError, "want an upgrade to websocket")
	case r.Header.Get("Sec-Websocket-Version") != "13":
		return denied(http.StatusUpgradeRequired, performatives.CodeParsingError, "want version 13 of websocket")
	}
	return nil
}

// authenticate verifies the peer's certificate or token.
func (h *handler) authenticate(r *http.Request) (*wire.Identity, error) {
	ctx, cancel := context.WithTimeout(r.Context(), h.server.Options().AuthTime)
	defer cancel()
	cred := wire.Credentials{Token: sockets.Bearer(r.Header.Get("Authorization")), Peer: peerOf(r)}
	if r.TLS != nil {
		cred.Certificates = sockets.Verified(*r.TLS)
	}
	id, err := h.server.Authenticate(ctx, cred)
	agent := h.opts.agentOf(r.URL.Path)
	switch {
	case err == nil && cred.Token != "" && agent != "" && id != nil && !id.MaySpeakAs(agent):
		return nil, denied(http.StatusForbidden, performatives.CodeForbidden, "the token is not that of the agent of the path")
	case err == nil:
		return id, nil
	case errors.Is(err, wire.ErrNoCredentials) && cred.Token == "" && h.opts.LateAuth:
		return nil, nil //nolint:nilnil // the messages must carry credentials
	case errors.Is(err, wire.ErrNoCredentials) && cred.Token == "":
		return nil, denied(http.StatusUnauthorized, performatives.CodeUnauthorized, "credentials are required")
	case errors.Is(err, wire.ErrNoCredentials):
		return nil, denied(http.StatusUnauthorized, performatives.CodeUnauthorized, "the token is not accepted")
	}
	return nil, &handshakeError{status: wire.StatusOf(wire.AsRefusal(err).Code), err: err}
}

func peerOf(r *http.Request) wire.Peer {
	return wire.Peer{Transport: "ws", Addr: r.RemoteAddr, Path: r.URL.Path, TLS: r.TLS != nil}
}
