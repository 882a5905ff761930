package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/cluster/membership"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/runtime/observe/audit"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/dialect/acl"
	"github.com/ribosome-agents/ribosome/wire/dialect/bridge"
	"github.com/ribosome-agents/ribosome/wire/dialect/gateway"
	"github.com/ribosome-agents/ribosome/wire/dialect/rag"
	"github.com/ribosome-agents/ribosome/wire/dialect/rossnet"
	"github.com/ribosome-agents/ribosome/wire/grpc"
	"github.com/ribosome-agents/ribosome/wire/tcp"
	"github.com/ribosome-agents/ribosome/wire/ws"
)

// endpoint is a node with its listeners. While it opens, it may have some of them only.
type endpoint struct {
	log       *slog.Logger
	node      *runtime.Node
	trail     *audit.Trail           // nil without --audit
	approvals *approval.Queue        // nil without --approvals
	observers *observers             // nil without --http and --otlp
	health    *observe.HealthCounter // nil with --http, whose recorder counts
	peers     *runtime.Peers
	server    *wire.Server
	listeners []listening
	uplink    *runtime.Uplink // nil without --bridge
	bridging  sync.WaitGroup

	// Of a member of a cluster: the sockets of --grpc and --http, and what serves the links of
	// other nodes at --grpc.
	socket, operators net.Listener
	links             func(*grpc.LinkStream)
}

// listening is the listener of one transport, with its address.
type listening struct {
	acceptor
	url       string
	links     bool // other nodes are connected by it, until the node has stopped
	operators bool // it is the operator's interface, and no peer connects to it
}

// acceptor is the common interface of the listeners of all transports.
type acceptor interface {
	Addr() net.Addr
	Stop(context.Context) error
}

// open starts the node and the listeners of the flags.
func (c *nodeCmd) open(ctx context.Context, p *endpoint, messages messageLog) error {
	config, err := c.config(p.log)
	if err != nil {
		return err
	}
	opts, err := c.server(p.log)
	if err != nil {
		return err
	}
	member, err := c.clusterOptions(p, config)
	if err != nil {
		return err
	}
	sealers, err := c.sealers()
	if err != nil {
		return err
	}
	o := runtime.Options{Sealers: sealers, Name: c.Name, Logger: p.log, LogMessages: c.LogMessages, MessageLog: messages.Writer, Cluster: member, Tracing: c.tracing()}
	if !c.Unmasked {
		o.MaskMessages = observe.NewMask(c.masks()).JSON
	}
	if p.node, err = runtime.New(o); err != nil {
		return c.notStarted(err)
	}
	if c.Audit != "" {
		file := audit.FileOptions{Path: c.Audit, Megabytes: int(c.AuditSize >> 20), Keep: c.AuditKeep, Logger: p.log}
		if p.trail, err = audit.Open(p.node, audit.Options{FileOptions: file}); err != nil {
			return notWritable("--audit", c.Audit, err)
		}
	}
	if err := p.observe(ctx, c); err != nil {
		return err
	}
	if c.Approvals != "" {
		p.approvals = &approval.Queue{Capabilities: performatives.Capabilities{Topics: []string{"Approval"}}}
		if err := p.node.Spawn(ctx, performatives.AgentID(c.Approvals), func() actors.Agent { return p.approvals }); err != nil {
			return usagef("--approvals %.40q: %v", c.Approvals, err)
		}
	}
	if c.Swarm != noSwarm {
		if err := swarms(c).Host(ctx, p.node, c.Swarm); err != nil {
			return failf("--swarm %s: %v", c.Swarm, errors.Unwrap(err))
		}
	}
	if err := checkSealed(p.node, sealers); err != nil {
		return err
	}
	if p.peers, err = runtime.NewPeers(p.node, runtime.PeerOptions{Operators: c.operators(), DrainTime: c.DrainTime, Health: p.healthSource()}); err != nil {
		return err
	}
	opts.Handler = p.peers
	if p.server, err = wire.NewServer(opts); err != nil {
		return err
	}
	if p.observers != nil {
		p.observers.server.Store(p.server)
	}
	if err := c.listen(ctx, p, config); err != nil {
		return err
	}
	return c.bridge(ctx, p)
}

// healthSource returns what tells peers the health of agents.
func (p *endpoint) healthSource() func(performatives.AgentID) (runtime.Health, bool) {
	if w := p.observers; w != nil && w.recorder != nil {
		return w.recorder.Health
	}
	p.health = observe.NewHealthCounter(p.node)
	return p.health.Health
}

// notStarted returns the reason why a node does not start.
func (c *nodeCmd) notStarted(err error) error {
	switch {
	case errors.Is(err, membership.ErrNameTaken):
		return failf("--name %s: another node of the cluster has that name; choose another", shown(c.Name))
	case c.Gossip != "":
		return failf("the node does not start: %v; check --name, --gossip and --join", err)
	}
	return usagef("--name %.40q: %v", c.Name, err)
}

// server returns the options of sessions, without the handler.
func (c *nodeCmd) server(log *slog.Logger) (o wire.Options, err error) {
	o = wire.Options{
		Anonymous: c.NoAuth || c.readOnly(), Logger: log, // no peer reaches a node that has --http only
		ConnectionRate: wire.Rate(c.Rate), AgentRate: wire.Rate(c.Rate), ReplayWindow: c.ReplayWindow,
		Limits: wire.Limits{Frame: int(c.MaxFrame)}, MaxConnections: c.MaxConnections, MaxPerHost: c.MaxPerHost,
		KeepAlive: wire.KeepAlive{Interval: orNever(c.PingInterval), Timeout: orNever(c.PingTimeout)},
	}
	if c.Discovery {
		o.Public = rossnet.AsksDiscovery
	}
	o.Dialects = dialects(gateway.Options{
		Name: c.Name, BinaryProtocol: c.TCP != "", PerMessageAuth: !c.NoAuth, Rate: wire.Rate(c.Rate),
	})
	if o.Registry, err = c.messageTypes(); err != nil {
		return o, err
	}
	if o.Auth, err = c.authenticator(log); err != nil {
		return o, err
	}
	o.Authorize, err = c.authorizer()
	return o, err
}

// orNever returns a length of time for package wire, in which zero means the default.
func orNever(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// listen opens the listeners.
func (c *nodeCmd) listen(ctx context.Context, p *endpoint, config *tls.Config) error {
	for _, l := range []struct {
		flag, addr, scheme, path string
		open                     func(addr string) (acceptor, error)
	}{
		{"--ws", c.WS, "ws", c.WSPath, func(addr string) (acceptor, error) {
			return ws.Listen(p.server, ws.Options{
				Addr: addr, Path: c.WSPath, AgentPath: rossnet.PathPrefix, Posts: acl.Dialect{}, TLS: config, Origins: c.WSOrigin, Compression: c.Compress, LateAuth: !c.NoAuth,
			})
		}},
		{"--tcp", c.TCP, "tcp", "", func(addr string) (acceptor, error) {
			return tcp.Listen(p.server, tcp.Options{Addr: addr, TLS: config, NoCompression: !c.Compress})
		}},
		{"--grpc", c.GRPC, "grpc", "", func(addr string) (acceptor, error) {
			return grpc.Listen(p.server, grpc.Options{Addr: addr, TLS: config, Socket: p.socket, Links: p.links})
		}},
		{"--http", c.HTTP, "http", "", func(addr string) (acceptor, error) { return c.openHTTP(ctx, p, addr, config) }},
	} {
		if l.addr == "" {
			continue
		}
		opened, err := l.open(l.addr)
		if err != nil {
			return notOpened(l.flag, l.addr, err)
		}
		if config != nil {
			l.scheme += "s"
		}
		url := l.scheme + "://" + opened.Addr().String() + l.path
		p.listeners = append(p.listeners, listening{opened, url, l.flag == "--grpc" && p.links != nil, l.flag == "--http"})
		if err := c.checkOpened(l.flag, opened.Addr()); err != nil {
			return err
		}
	}
	return nil
}

// checkOpened returns an error if another machine can reach a node without authentication.
// It checks the opened addresses, since a name such as localhost may mean any address.
func (c *nodeCmd) checkOpened(flag string, addr net.Addr) error {
	if at, ok := addr.(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return nil
	}
	switch {
	case c.NoAuth:
		return usagef("%s: --no-auth is for loopback addresses, and %s is none; use 127.0.0.1", flag, addr)
	case c.readOnly():
		return usagef("%s: without a flag that says who may connect, it is for loopback addresses, and %s is none; use 127.0.0.1", flag, addr)
	}
	return nil
}

// notOpened returns the reason why a listener cannot be opened, and an advice.
func notOpened(flag, addr string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return failf("%s %s: another program listens there; stop it, or choose another port", flag, addr)
	case errors.Is(err, syscall.EACCES):
		return failf("%s %s: this port needs rights that you do not have; choose one above 1023", flag, addr)
	case errors.As(err, &errno):
		return failf("%s %s: %v; choose an address of this machine", flag, addr, errno)
	}
	return usagef("%s %s: %v", flag, addr, err)
}

// handOver hands the placed agents of the node over to other nodes, or waits for the hand-over that
// an operator has started. If some were not handed over, it returns a text that says so.
func (p *endpoint) handOver(patience time.Duration) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.node.HandOver(ctx); err != nil {
		return []string{strings.TrimPrefix(err.Error(), "runtime: ") + "; --drain-time gives more time"}
	}
	return nil
}

// stop stops the listeners and the node, in the reverse order of opening, and returns the
// names of those that did not stop in time. A listener waits for its connections, so that
// it stops at the same time as the server.
func (p *endpoint) stop(patience time.Duration) (late []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tell := func(what string, err error) {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			late = append(late, fmt.Sprintf("%s had not stopped after %v, and was cut off; --stop-timeout gives more time", what, patience))
		case err != nil:
			late = append(late, fmt.Sprintf("%s did not stop in order: %v", what, err))
		}
	}
	stopped := make([]error, len(p.listeners))
	var listeners sync.WaitGroup
	for i, l := range p.listeners {
		if !l.links {
			listeners.Go(func() { stopped[i] = l.Stop(ctx) })
		}
	}
	if p.server != nil {
		tell("a connection", p.server.Stop(ctx))
	}
	listeners.Wait()
	if p.node != nil {
		tell("the node", p.node.Stop(ctx))
	}
	if p.uplink != nil {
		tell("the link to the node of --bridge", p.uplink.Stop(ctx))
		p.bridging.Wait()
	}
	late = append(late, p.observers.close(ctx)...)
	if p.health != nil {
		p.health.Close()
	}
	if p.trail != nil {
		tell("the audit trail", p.trail.Close(ctx))
		if n := p.trail.Counts(); n.Lost+n.Failed > 0 {
			late = append(late, fmt.Sprintf("the audit trail lacks %d events", n.Lost+n.Failed))
		}
	}
	for i, l := range p.listeners {
		if l.links {
			stopped[i] = l.Stop(ctx)
		}
		tell("the listener on "+l.url, stopped[i])
	}
	return late
}

// dialects has all dialects of JSON. A first frame of none of them is refused in the form of wire.
func dialects(o gateway.Options) []wire.Dialect {
	return []wire.Dialect{
		gateway.New(o),
		bridge.Dialect{Node: o.Name},
		acl.Dialect{},
		rag.Dialect{},
		rossnet.Dialect{},
	}
}

// dialectNamed returns the dialect that a flag names.
func dialectNamed(flag, name string) (wire.Dialect, error) {
	var names []string
	for _, d := range dialects(gateway.Options{}) {
		if d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	return nil, usagef("%s %s: there is no such dialect; want one of %s", flag, shown(name), strings.Join(names, ", "))
}
