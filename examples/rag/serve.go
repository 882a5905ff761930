package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// serve ingests the folder, and hosts the agents for peers until ctx ends: the peers are System.
func (o *options) serve(ctx context.Context, m *model, stdout, stderr io.Writer) (err error) {
	x, err := openIndex(o.index)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	node, err := start(ctx, x, m, o.question.Folder)
	if err != nil {
		return err
	}
	defer program.StopNode(node)
	if o.question.Folder != "" {
		c := call{agentIngestion, taskFolder, thread("ing", performatives.ConversationID(performatives.NewID()), 1), nil}
		report, err := ask[folderReport](ctx, node, c, folder{o.question.Folder})
		if err != nil {
			return err
		}
		report.write(stderr)
	}
	peers, err := runtime.NewPeers(node, runtime.PeerOptions{})
	if err != nil {
		return err
	}
	server, err := wire.NewServer(wire.Options{Handler: peers, Dialects: []wire.Dialect{rag.Dialect{}}, Anonymous: true})
	if err != nil {
		return err
	}
	const stopTime = 10 * time.Second
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		err = errors.Join(err, server.Stop(within))
	}()
	for _, l := range []struct {
		addr, url, path string
		open            func(addr string) (listener, error)
	}{
		{o.ws, "ws://", ws.DefaultPath, func(addr string) (listener, error) { return ws.Listen(server, ws.Options{Addr: addr}) }},
		{o.tcp, "tcp://", "", func(addr string) (listener, error) { return tcp.Listen(server, tcp.Options{Addr: addr}) }},
	} {
		if l.addr == "" {
			continue
		}
		opened, err := l.open(l.addr)
		if err != nil {
			return err
		}
		defer func() {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
			defer cancel()
			_ = opened.Stop(within) // the server stops after it, and says what did not
		}()
		fmt.Fprintln(stdout, "listening on "+l.url+opened.Addr().String()+l.path)
	}
	<-ctx.Done()
	return nil
}

// listener is that of one transport.
type listener interface {
	Addr() net.Addr
	Stop(ctx context.Context) error
}
