package api

import (
	"errors"
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

	// Auth checks the bearer token or the client certificate of a request. Nil means that only this machine is served: see [New].
	Auth wire.Authenticator

	// Permits reports whether an identity has a right: mostly [auth.Rules.Operator]. Nil permits everything to everyone that Auth
	// accepts.
	Permits func(who wire.Identity, right auth.Right) bool

	// Draining reports whether the node is about to stop: then it is not ready. Nil means never.
	Draining func() bool

	// Metrics and Console serve /metrics and /console. Nil means that there is none (404). Metrics needs the right to read.
	// Console gets no check: it has to be static files.
	Metrics, Console http.Handler

	// Codons are codons of the application, shown besides those of package library.
	Codons []*codons.Codon

	// Approvals is the queue whose steps an operator decides. Nil means none.
	Approvals *approval.Queue
}

func (o Options) check() error {
	switch {
	case o.Node == nil:
		return errors.New("api: Options.Node is nil: want the node that is shown")
	case o.Recorder == nil:
		return errors.New("api: Options.Recorder is nil: want the recorder of the node, from observe.New")
	}
	return nil
}
