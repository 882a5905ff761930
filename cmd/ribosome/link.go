package main

import (
	"context"
	"crypto/tls"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// link is a node of this process with one agent, and the way from it to the node that
// --addr names.
type link struct {
	at       address
	tls      *tls.Config      // nil without TLS
	token    func() string    // nil without a token
	issuer   auth.TokenSource // of the token; nil when it does not come from anywhere
	name     performatives.AgentID
	nameless bool // name is a random one
	limits   wire.Limits

	node    *runtime.Node
	uplink  *runtime.Uplink
	session atomic.Pointer[wire.Session] // the latest; nil before the first
	worked  atomic.Bool                  // the node has sent a message
	cutOff  bool                         // the connection has not ended by leave
}

// plan makes a link of the flags, and touches no network.
func (f *clientFlags) plan() (*link, error) {
	at, err := parseAddress(f.Addr)
	if err != nil {
		return nil, err
	}
	l := &link{at: at, limits: wire.Limits{Frame: int(f.MaxFrame)}}
	if l.tls, err = f.config(at); err != nil {
		return nil, err
	}
	if l.token, err = f.bearer(); err != nil {
		return nil, err
	}
	if l.issuer, err = f.OAuth.source(); err != nil {
		return nil, err
	}
	if l.issuer != nil {
		if l.token != nil {
			return nil, usagef("there is a token, and --oauth-url gets another; leave one")
		}
		l.token = auth.Func(context.Background(), l.issuer, nil) // connect says why there is none
	}
	l.nameless = f.As == ""
	l.name, err = f.speaker()
	return l, err
}

// open starts the node, under a name of its own, without connecting it.
func (l *link) open(name performatives.AgentID) (err error) {
	if l.node, err = runtime.New(runtime.Options{Name: string(name)}); err != nil {
		return usagef("--as %.40q: %v", l.name, err)
	}
	if l.uplink, err = l.node.Uplink(runtime.UplinkOptions{Dial: l.dial}); err != nil {
		l.leave()
	}
	return err
}

// join starts the node as the one that speaks, and connects it.
func (l *link) join(ctx context.Context) error {
	if err := l.open(l.name); err != nil {
		return err
	}
	if err := l.uplink.Connect(ctx); err != nil {
		l.leave()
		return err
	}
	return nil
}

// Self returns who speaks.
func (l *link) Self() actors.Self { return l.node.Self() }

// stopTime is how long what still runs has to end; what does not ends with the process.
const stopTime = 2 * time.Second

// leave ends the node, and then the connection, which carries its last words.
func (l *link) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	l.ending(ctx, func() {
		_ = l.node.Stop(ctx)
		if l.uplink != nil {
			_ = l.uplink.Stop(ctx)
		}
	})
}

// ending has stop end the connection, waits until that is over, and notes whether it was
// gone by itself, or about to be.
func (l *link) ending(ctx context.Context, stop func()) {
	l.cutOff = l.isCut()
	stop()
	s := l.session.Load()
	if s == nil {
		return
	}
	_ = s.Stop(ctx) // it has stopped, or nearly so
	l.cutOff = l.cutOff || s.Err() != nil
}
