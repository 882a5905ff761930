package api

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
	"github.com/ribosome-agents/ribosome/wire"
	"github.com/ribosome-agents/ribosome/wire/auth"
)

// Options configures a [Handler]. Node and Recorder are required.
type Options struct {
	Node     *runtime.Node
	Recorder *observe.Recorder

	// Auth checks the bearer token or the client certificate of a request. Nil means that only this
	// machine is served: see [New].
	Auth wire.Authenticator

	// Permits reports whether an identity has a right: mostly [auth.Rules.Operator]. Nil permits
	// everything to everyone that Auth accepts. Without Auth it gets the zero Identity, for
	// everyone on this machine.
	Permits func(who wire.Identity, right auth.Right) bool

	// Listeners are the addresses where agents connect, such as tcp://127.0.0.1:8444. None means
	// that the node has no listener for them.
	Listeners []string

	// Draining reports whether the node is about to stop: then it is not ready. Nil means never.
	Draining func() bool

	// Metrics and Console serve /metrics and /console. Nil means that there is none (404). Metrics
	// needs the right to read. Console gets no check: it has to be static files.
	Metrics, Console http.Handler

	// Peers returns the other nodes of the cluster. It is called for each request. With it, the
	// views of agents, conversations, approvals and events cover all nodes, and a cancellation
	// reaches each. The token of an operator is sent to all of them, a certificate to none. Nil
	// means that there is only this node.
	Peers func() []Peer

	// PeerTLS checks the certificates of Peers whose URL is https. Its own certificates are not
	// used: a node must not lend its rights to operators. Nil means the authorities of the system.
	PeerTLS *tls.Config

	// Codons are codons of the application, shown besides those of package library.
	Codons []*codons.Codon

	// Drain hands over the agents of the node for a principal, and has the program stop:
	// [runtime.Peers.Drain]. Nil refuses it to everyone.
	Drain func(ctx context.Context, principal string) (lost string, err error)

	// Logger receives a line for each act of an operator, at info, and for refused requests, at
	// warn, at most one in ten seconds for each address. Nil discards them.
	Logger *slog.Logger

	// Approvals is the queue whose steps an operator decides. Nil means none.
	Approvals *approval.Queue
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Node == nil:
		return o, errors.New("api: Options.Node is nil: want the node that is shown")
	case o.Recorder == nil:
		return o, errors.New("api: Options.Recorder is nil: want the recorder of the node, from observe.New")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}
