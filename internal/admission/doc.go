// Package admission decides when the handlers of a node begin, so that it takes on what its
// processors can do in time. The scheduler of Go serves goroutines in turn and knows no priority:
// a thousand handlers that compute delay all else of the process a thousandfold. So a [Gate] has
// only about as many handlers compute as there are processors.
//
// It measures whether the scheduler is behind: a probe that is due each millisecond sees how late
// it runs, and how many goroutines could run and do not. While the scheduler keeps up, handlers
// begin at once, by a budget that doubles with each probe. While it is behind, a handler begins
// when fewer are under way than there are processors. One more begins when none has returned for
// some time, so that handlers waiting for each other go on. More begin with a probe if they take
// little processor time together, which is measured of a few handlers of each agent: those that
// wait for something outside of the processors are not held back by those that compute.
//
// What cannot begin at once is queued: by band, then in turn among agents, then in turn among the
// askers of an agent. A request whose turn would come too late for its deadline is refused when
// it arrives.
package admission
