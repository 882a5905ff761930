// Package mediation holds the protocols in which one agent finds others on behalf of a third:
// brokering, recruiting and delivery.
//
// The initiator sends a PROXY with a [Proxy] to a [Mediator]: which agents it wants, and what
// they are asked. The mediator finds the agents and asks them in conversations of its own,
// which are children of the PROXY's conversation. [Broker] is a ready-made mediator that finds
// agents by the Whispering Wind.
//
//   - Brokering ([AskThrough], FIPA SC00033H): the mediator, as a broker, passes the answers on
//     as they come, and ends with all of them.
//   - Recruiting ([Recruit], FIPA SC00034H): the agents, as recruits, deliver their results
//     themselves, to the designated receiver. That is the initiator, or any other agent.
//   - Delivery ([DeliveryHandler]): a recruit sends its result to the designated receiver
//     until the receiver confirms it.
//
// # Who delivers
//
// The recruiter adds a member deliver_to to the task, with the receiver and a ticket. A worker
// with [Recruitable] delivers its result there and reports to the recruiter that it did. A worker
// without it answers the recruiter as usual, and the recruiter delivers on its behalf. The
// receiver recognises a delivery by its ticket. Where the initiator is the receiver, [Recruit]
// makes the ticket, so only agents that were given the task can deliver.
//
// # Backpressure
//
// A mediator has at most 64 open conversations for one PROXY. It queues at most 64 progress
// reports for the initiator and drops further ones; it drops no final answer. A recruit sends a
// delivery again while the receiver's mailbox is full.
//
// # Shutdown
//
// A CANCEL, the deadline or the stop of the initiator or the mediator withdraws what the mediator
// has asked. The receipt comes when all of these conversations have ended.
//
// # Concurrency
//
// The methods of a [Mediator] and [DeliveryHandler].HandleDelivery run on goroutines of their
// conversations. [AskThrough] and [Recruit] wait: they may be called from any goroutine but
// an agent's own actor.
package mediation
