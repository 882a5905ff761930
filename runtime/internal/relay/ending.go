package relay

import (
	"cmp"
	"errors"
	"time"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// sendEndings sends the last messages of ended records. At the stop of the node, it tries each
// message once, before it returns.
func (r *Relay) sendEndings(all []ending, stopping bool) {
	if len(all) == 0 {
		return
	}
	send := func() {
		var messages []*performatives.Message
		for _, e := range all {
			messages = append(messages, e.messages(r, stopping)...)
		}
		r.deliverWithRetry(messages, stopping)
	}
	if stopping {
		send()
		return
	}
	r.system.Work(send)
}

// messages returns the last messages of a record: to the asker FAILURE, to the worker CANCEL.
func (e ending) messages(r *Relay, stopping bool) (all []*performatives.Message) {
	if e.tellAsker && r.reaches(e.asker) {
		if m := e.asked.Refuse(e.voice, r.system.Stamp(), e.why.ErrorCode, e.why.ErrorText); m != nil {
			all = append(all, m)
		}
	}
	if e.tellWorker && r.reaches(e.worker) {
		reason := cmp.Or(e.why.ErrorText, e.why.ErrorCode.Traits().Text)
		if m, err := e.request.Follow(r.system.Stamp(), performatives.Cancel{Reason: reason}); err == nil { // the error is an invalid stamp
			if !stopping {
				r.withdrawn(e.record, m.ID())
			}
			all = append(all, m)
		}
	}
	return all
}

// reaches reports whether a party can be told anything: an agent of this process runs.
func (r *Relay) reaches(p party) bool {
	if p.via != nil {
		return true
	}
	_, runs := r.system.Lookup(p.id)
	return runs
}

// busyRetryPeriod is the time for which deliverWithRetry retries while a mailbox is full.
const busyRetryPeriod = 10 * time.Second

// deliverWithRetry delivers messages made on behalf of an agent. It retries while a mailbox or an
// outbox is full, because the end of a session may produce more messages than one has room for.
func (r *Relay) deliverWithRetry(messages []*performatives.Message, once bool) {
	for _, m := range messages {
		if events.Wants[events.MessageSent](&r.system.Events) {
			r.system.Events.Publish(events.MessageSent{At: events.At{Time: time.Now()}, Message: m})
		}
	}
	until := time.Now().Add(busyRetryPeriod)
	for wait := time.Millisecond; len(messages) > 0; wait = min(2*wait, 100*time.Millisecond) {
		messages = r.deliverAll(messages, !once && time.Now().Before(until))
		if len(messages) > 0 {
			room := time.NewTimer(wait)
			<-room.C
		}
	}
}

// deliverAll delivers the messages past the records, which have ended. If again is true, it returns
// those that were refused as busy, to be retried.
func (r *Relay) deliverAll(messages []*performatives.Message, again bool) []*performatives.Message {
	var left []*performatives.Message
	for _, m := range messages {
		err := r.deliverEnding(m)
		switch {
		case err == nil:
		case again && errors.Is(err, performatives.CodeBusy):
			left = append(left, m)
		default:
			r.system.DeadLetter(string(m.Receiver()), m, wire.AsRefusal(err).Code)
		}
	}
	return left
}

// deliverEnding delivers the last message of a record.
func (r *Relay) deliverEnding(m *performatives.Message) error {
	switch d, found := r.find(m.Receiver()); {
	case d != nil:
		return d.Via().out.Send(d.Labelled(m))
	case !found:
		if to := r.beyond(m.Receiver()); to != nil {
			return to.out.Send(m)
		}
	}
	return r.system.Deliver(m.Receiver(), m)
}
