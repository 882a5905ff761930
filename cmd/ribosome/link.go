package main

import (
	"context"
	"crypto/tls"
	"io"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// link is a node of this process with one agent, and its connection to the node at --addr.
type link struct {
	at       address
	operator *operator        // asked for at first; nil if --addr is where agents connect
	tls      *tls.Config      // nil without TLS
	token    func() string    // nil without a token
	issuer   auth.TokenSource // the issuer of the token; nil for a token from a flag or a file
	name     performatives.AgentID
	nameless bool     // name is random
	verbose  *printer // where the name is printed; nil for nowhere
	task     bool     // the message is a task, which the node itself gives to one of its agents
	limits   wire.Limits

	sealer actors.Sealer               // of the sender; nil without --keys
	learns func(context.Context) error // asks the agents of --trust for their keys; nil without --keys

	node    *runtime.Node
	uplink  *runtime.Uplink
	session atomic.Pointer[wire.Session] // the latest; nil before the first
	worked  atomic.Bool                  // the node has sent a message
	cutOff  bool                         // the connection ended before leave
}

// plan makes a link of the flags, without any connection. With --verbose, the link prints its name
// to stderr.
func (f *clientFlags) plan(stderr io.Writer) (l *link, err error) {
	l = &link{limits: wire.Limits{Frame: int(f.MaxFrame)}}
	if f.byHTTP() {
		if l.operator, err = (&operatorFlags{Addr: f.Addr, credentialFlags: f.credentialFlags}).plan(); err != nil {
			return nil, err
		}
		l.at = l.operator.at
	} else if l.at, err = parseAddress("--addr", f.Addr); err != nil {
		return nil, err
	}
	failed := seldom(func(err error) {
		newPrinter(stderr).line("ribosome: the credentials were not renewed: " + oneLine(reason(err)))
	})
	if l.tls, err = f.config(l.at, failed); err != nil {
		return nil, err
	}
	if l.token, err = f.bearer(failed); err != nil {
		return nil, err
	}
	if l.issuer, err = f.OAuth.source(); err != nil {
		return nil, err
	}
	if l.issuer != nil {
		if l.token != nil {
			return nil, usagef("there is a token, and --oauth-url gets another; leave one")
		}
		l.token = auth.Func(context.Background(), l.issuer, failed)
	}
	if f.Verbose {
		l.verbose = newPrinter(stderr)
	}
	l.nameless = f.As == ""
	if l.name, err = f.speaker(); err != nil {
		return nil, err
	}
	return l, f.seal(l)
}

// open starts the node under that name, without connecting it.
func (l *link) open(name performatives.AgentID) (err error) {
	o := runtime.Options{Name: string(name)}
	if l.sealer != nil {
		o.Sealers = map[performatives.AgentID]actors.Sealer{l.name: l.sealer}
	}
	if l.node, err = runtime.New(o); err != nil {
		return usagef("--as %.40q: %v", l.name, err)
	}
	if l.uplink, err = l.node.Uplink(runtime.UplinkOptions{Dial: l.dial}); err != nil {
		l.leave()
	}
	return err
}

// join starts the node under the name of the sender, and connects it.
func (l *link) join(ctx context.Context) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	if err := l.open(l.name); err != nil {
		return err
	}
	err := l.uplink.Connect(ctx)
	if err == nil && l.learns != nil {
		err = l.learns(ctx)
	}
	if err != nil {
		l.leave()
	}
	return err
}

// Self returns the sender of the messages.
func (l *link) Self() actors.Self { return l.node.Self() }

// stopTime is the time for the node to stop. After it, the process ends anyway.
const stopTime = 2 * time.Second

// leave stops the node, and then the connection, so that the last messages are sent.
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

// ending calls stop to end the connection, waits for its end, and records whether the peer
// or an error had ended it before.
func (l *link) ending(ctx context.Context, stop func()) {
	l.cutOff = l.isCut()
	stop()
	s := l.session.Load()
	if s == nil {
		return
	}
	_ = s.Stop(ctx)                                           // stop has begun to end it
	l.cutOff = l.cutOff || s.Err() != nil && ctx.Err() == nil // else the end of ctx has cut it off
}
