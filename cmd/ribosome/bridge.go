package main

import (
	"context"
	"strings"

	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
)

// bridgeFlags has the settings of the link to a node outside of the cluster.
type bridgeFlags struct {
	Bridge          string `placeholder:"URL" help:"Another node, to which this one connects by the bridge protocol, such as ws://10.0.0.2:8443/mcp: this one's agents are found there, and ids that are unknown here are there"`
	BridgeTokenFile string `placeholder:"FILE" help:"File with the token of this node there"`
}

// plan returns the link of the flags without a connection, or nil.
func (f *bridgeFlags) plan(frame size) (*link, error) {
	if f.Bridge == "" {
		if f.BridgeTokenFile != "" {
			return nil, usagef("--bridge-token-file is about --bridge; give both")
		}
		return nil, nil //nolint:nilnil // there is no link
	}
	at, err := parseAddress("--bridge", f.Bridge)
	if err != nil {
		return nil, err
	}
	if at.transport == "grpc" {
		return nil, usagef("--bridge %s: gRPC has one protocol; want a ws or tcp address", at.url)
	}
	l := &link{at: at, limits: wire.Limits{Frame: int(frame)}}
	if f.BridgeTokenFile != "" {
		text, err := readFile("--bridge-token-file", f.BridgeTokenFile, maxSecret)
		if err != nil {
			return nil, err
		}
		l.token = func() string { return strings.TrimSpace(string(text)) }
	}
	return l, nil
}

// bridge links the node to the one of --bridge, until ctx ends or the endpoint stops.
func (c *nodeCmd) bridge(ctx context.Context, p *endpoint) error {
	l, err := c.bridgeFlags.plan(c.MaxFrame)
	if l == nil || err != nil {
		return err
	}
	p.uplink, err = p.node.Uplink(runtime.UplinkOptions{Introduce: true, Dial: func(ctx context.Context, h wire.Handler) (*wire.Session, error) {
		o := wire.Options{Handler: h, Dialects: []wire.Dialect{bridge.Dialect{Node: c.Name}}, Limits: l.limits, Logger: p.log}
		conn, err := l.connect(ctx, &o)
		if err != nil {
			return nil, err
		}
		return wire.Connect(conn, o)
	}})
	if err != nil {
		return err
	}
	p.bridging.Go(func() { _ = p.uplink.Run(ctx) }) // it connects again until ctx ends
	return nil
}
