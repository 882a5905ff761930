package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/clients"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// nodeName is the node's agent id.
const nodeName = "Host"

// stopTime bounds the end of the node and of the processes.
const stopTime = 5 * time.Second

// host is a node that agents outside can join.
type host struct {
	node   *runtime.Node
	server *wire.Server
	tcp    *tcp.Listener
	web    *web
}

// start starts a node with the given agents, which listens on TCP and WebSocket.
func start(ctx context.Context, o *options, agents map[performatives.AgentID]func() actors.Agent) (h *host, err error) {
	h = &host{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.stop())
		}
	}()
	if h.node, err = runtime.New(runtime.Options{Name: nodeName}); err != nil {
		return h, err
	}
	for id, create := range agents {
		if err := h.node.Spawn(ctx, id, create); err != nil {
			return h, err
		}
	}
	if h.server, err = newServer(h.node); err != nil {
		return h, err
	}
	if h.tcp, err = tcp.Listen(h.server, tcp.Options{Addr: o.tcp}); err != nil {
		return h, fmt.Errorf("--tcp %s: %w", o.tcp, err)
	}
	if h.web, err = serve(ctx, h.server, o.ws); err != nil {
		return h, fmt.Errorf("--ws %s: %w", o.ws, err)
	}
	return h, nil
}

// newServer returns the server of both listeners: each connection becomes an agent of
// the node, in the acl or the gateway dialect.
func newServer(n *runtime.Node) (*wire.Server, error) {
	peers, err := runtime.NewPeers(n, runtime.PeerOptions{})
	if err != nil {
		return nil, err
	}
	return wire.NewServer(wire.Options{
		Handler: peers, Dialects: []wire.Dialect{acl.Dialect{}, bridge.Dialect{}, gateway.New(gateway.Options{BinaryProtocol: true})}, Anonymous: true,
	})
}

func (h *host) tcpURL() string  { return "tcp://" + h.tcp.Addr().String() }
func (h *host) wsURL() string   { return "ws://" + h.web.addr().String() + ws.DefaultPath }
func (h *host) pageURL() string { return "http://" + h.web.addr().String() + "/" }

// stop stops the listeners, then the open connections, then the agents.
func (h *host) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	var errs []error
	if h.tcp != nil {
		errs = append(errs, h.tcp.Stop(ctx))
	}
	if h.web != nil {
		errs = append(errs, h.web.stop())
	}
	if h.server != nil {
		errs = append(errs, h.server.Stop(ctx))
	}
	if h.node != nil {
		errs = append(errs, h.node.Stop(ctx))
	}
	return errors.Join(errs...)
}

// web is the HTTP server: a page, and the WebSocket that it connects to.
type web struct {
	listener net.Listener
	http     *http.Server
	served   chan struct{}
}

func serve(ctx context.Context, server *wire.Server, addr string) (*web, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.Handle(ws.DefaultPath, ws.Handler(server, ws.Options{}))
	routes.Handle("/ribosome-client/", http.StripPrefix("/ribosome-client", http.FileServerFS(clients.TypeScript())))
	routes.Handle("/", http.FileServerFS(page()))
	w := &web{
		listener: listener, served: make(chan struct{}),
		http: &http.Server{Handler: routes, ReadHeaderTimeout: stopTime},
	}
	go func() {
		defer close(w.served)
		_ = w.http.Serve(listener) // until stop
	}()
	return w, nil
}

func (w *web) addr() net.Addr { return w.listener.Addr() }

func (w *web) stop() error {
	err := w.http.Close()
	<-w.served
	return err
}
