// Package subscribe holds two protocols in which one agent informs another again and again:
// subscribe and request whenever.
//
// The initiator sends SUBSCRIBE with a [Subscription], or REQUEST_WHENEVER. The responder, a
// [Publisher] or [WheneverHandler], agrees with a [Feed] of one of its topics, and its codon
// sends an INFORM for each event until either side ends the conversation (FIPA SC00035H,
// SC00037J; addenda §6).
//
//   - [Topic]: events of one type, published to all subscribers. A [Feed] is a topic, or the
//     part of it that a predicate selects.
//   - [Stream]: the initiator's side. It spans several conversations: after a break it
//     subscribes again, from the last event that it has.
//
// # Losses
//
// Each subscriber has a bounded queue at the publisher ([TopicOptions.Buffer]), and each
// Stream a bounded queue of its own ([WithBuffer]). A full queue drops its oldest event and
// counts it: [Event.Lost] of the next event is the number of lost events before it. A topic
// remembers its latest events ([TopicOptions.History]), from which a subscriber resumes.
// Event.Uncounted says that further events may be missing that the publisher does not remember.
//
// # Heartbeat
//
// The initiator repeats its opening act as a heartbeat, and the publisher answers by AGREE
// ([WithHeartbeat]). After three heartbeats without a message the Stream breaks, after four
// the publisher ends the subscription.
//
// # Ordering
//
// Events of one topic have increasing positions. A Stream returns them in that order, each at
// most once; an event that arrives after a later one is dropped and counted as lost.
//
// # Backpressure
//
// [Topic.Publish] never blocks. The publisher sends as many events as the Stream has room for,
// and waits for a CONFIRM before it sends more. An event that finds the mailbox of the
// subscriber's agent full is sent again later.
//
// # Shutdown
//
// The end of a Stream's context, or [Stream.Unsubscribe], sends CANCEL; [Stream.Done] is
// closed when the publisher's receipt has come. [Topic.Close], or the stop of the publishing
// agent, ends its subscriptions with FAILURE.
//
// # Concurrency
//
// All methods of a Topic and of a Stream may be called from any goroutine. Predicates of feeds
// run on the goroutine that publishes and must not block.
package subscribe
