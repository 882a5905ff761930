package runtime

import "github.com/ribosome-agents/ribosome/actors"

// WithNetwork puts a network of a test's between the agents and the node's router.
func (o Options) WithNetwork(network func(actors.Router) actors.Router) Options {
	o.network = network
	return o
}
