package actors

import (
	"errors"
	"fmt"

	"github.com/ribosome-agents/ribosome/performatives"
)

// Sealer signs and encrypts the payloads that one agent sends, for their receivers, and opens those
// that it receives. What passes a message on between the two agents cannot read its payload, nor
// change it unnoticed. Package wire/sealed has an implementation. The methods are called from any
// goroutine and must not block. When Seal or Open panics, or returns neither a message nor an
// error, the message is refused to its sender as [performatives.CodeInternal], and the agent goes
// on.
type Sealer interface {
	// Agent returns the id of the agent.
	Agent() performatives.AgentID

	// Entry returns the capabilities for the entry of the agent in the directory, which has its
	// public keys. It does not change the argument.
	Entry(performatives.Capabilities) performatives.Capabilities

	// Seal returns m with a sealed payload, or m itself if it needs none. receiver has the
	// capabilities of the receiver, if it is in the directory. The error is a
	// [*performatives.Refusal]; m is not sent then.
	Seal(m *performatives.Message, receiver performatives.Capabilities) (*performatives.Message, error)

	// Open returns the message that was sealed, which the method checks. sender has the
	// capabilities of the sender, if it is in the directory. authentic is false for a message
	// without a sealed payload that the agent may get all the same. The error is a
	// [*performatives.Refusal] for the sender.
	Open(m *performatives.Message, sender performatives.Capabilities) (opened *performatives.Message, authentic bool, err error)
}

// checkSealer checks the sealer of a new agent.
func (s Spec) checkSealer() error {
	switch {
	case s.Sealer == nil:
		return nil
	case !s.Sealer.Agent().Is(s.ID):
		return fmt.Errorf("actors: spawn %q: Spec.Sealer is that of the agent %q", s.ID, s.Sealer.Agent())
	case s.Activation != 0:
		return fmt.Errorf("actors: spawn %q: Spec.Sealer: an agent that a cluster places cannot have one", s.ID)
	}
	return nil
}

// seal returns the form in which a message of the agent, which has a Sealer, leaves it.
func (c *cell) seal(m *performatives.Message) (sealed *performatives.Message, err error) {
	if m.Sealed() {
		return m, nil
	}
	defer func() {
		if v := recover(); v != nil {
			sealed, err = nil, c.sealerFailed(m, "Seal", panicError(v))
		}
	}()
	if sealed, err = c.spec.Sealer.Seal(m, c.sys.describe(m.Receiver())); sealed == nil && err == nil {
		err = c.sealerFailed(m, "Seal", errNoMessage)
	}
	return sealed, err
}

// openSealed calls the Sealer for a received message. After runtime.Goexit, which only the mailbox
// can handle, the message is refused, too.
func (c *cell) openSealed(m *performatives.Message) (opened *performatives.Message, authentic bool, err error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			opened, authentic, err = nil, false, c.sealerFailed(m, "Open", panicError(v))
		} else if !returned {
			c.notOpened(m, c.sealerFailed(m, "Open", errGoexit))
		}
	}()
	opened, authentic, err = c.spec.Sealer.Open(m, c.sys.describe(m.Sender()))
	if opened == nil && err == nil {
		err = c.sealerFailed(m, "Open", errNoMessage)
	}
	returned = true
	return opened, authentic, err
}

var errNoMessage = errors.New("it has returned neither a message nor an error")

// sealerFailed logs the failure of a method of the Sealer on m. It returns the refusal of m, which
// has nothing of the failure, because a panic's value may have a part of the payload.
func (c *cell) sealerFailed(m *performatives.Message, method string, err error) error {
	attributes := []any{"method", method, "from", string(m.Sender()), "to", string(m.Receiver()), "message", string(m.ID()), "err", err}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		attributes = append(attributes, "stack", string(panicked.Stack))
	}
	Self{c}.Logger().Error("the sealer of an agent failed", attributes...)
	return refusal(m, c.id, performatives.CodeInternal, "the sealer of the agent failed: see the log of its node")
}

// unseal returns a received message as its sender made it: a sealed one, or any for an agent with a
// Sealer. It returns nil if the agent cannot open
// the message; the sender then gets a refusal of this copy (see notOpened). The request itself is
// not refused, because a relay that has passed on a bad copy may pass on a good one, too.
func (c *cell) unseal(m *performatives.Message) *performatives.Message {
	if c.spec.Sealer == nil {
		c.sys.RefuseCopy(c.id, m, &performatives.Refusal{Code: performatives.CodeUnknownKey, Text: "the agent opens no sealed payloads: it has no keys"})
		return nil
	}
	opened, authentic, err := c.openSealed(m)
	if err != nil {
		c.notOpened(m, err)
		return nil
	}
	if authentic {
		opened.MarkAuthentic()
	}
	return opened
}

// notOpened refuses a message to its sender. The log has the error itself: the sender of one that
// is no refusal gets no text.
func (c *cell) notOpened(m *performatives.Message, err error) {
	Self{c}.Logger().Warn("a message was not opened", "peer", string(m.Sender()), "conversation", string(m.ConversationID()), "performative", m.Performative().String(), "err", err)
	r := asRefusal(m, err)
	if errors.Is(r, performatives.CodeReplayed) { // its sender must not take this for an answer to the first copy
		c.sys.deadLetter(string(c.id), m, r.Code)
		return
	}
	c.sys.RefuseCopy(c.id, m, r)
}

// describe returns the capabilities of an agent of the directory.
func (s *System) describe(id performatives.AgentID) performatives.Capabilities {
	if r, ok := s.Find(id); ok {
		return r.Describe()
	}
	return performatives.Capabilities{}
}

// sealRefusal returns the form in which the refusal of m leaves the agent from. The refusal of an
// authentic message is sealed. That of another one is not: it may be about a message that its
// sender has never made.
func (s *System) sealRefusal(from performatives.AgentID, m, reply *performatives.Message, r *performatives.Refusal) *performatives.Message {
	if !m.Authentic() {
		return reply
	}
	c, ok := s.lookup(from)
	if !ok || c.spec.Sealer == nil {
		return bare(m, reply, r)
	}
	sealed, err := c.seal(reply)
	if err != nil {
		return bare(m, reply, r)
	}
	return sealed
}

// bare returns a refusal of m that tells nothing of its payload: the code and its usual text.
func bare(m, reply *performatives.Message, r *performatives.Refusal) *performatives.Message {
	stamp := performatives.Stamp{ID: reply.ID(), Time: reply.Timestamp()}
	refuse := (*performatives.Message).RefuseWith
	if reply.Undeliverable() {
		refuse = (*performatives.Message).RefuseCopy
	}
	if b := refuse(m, reply.Sender(), stamp, &performatives.Refusal{Code: r.Code, RetryAfter: r.RetryAfter}); b != nil {
		return b
	}
	return reply
}

// errUnsealed is the refusal of a message that is sent for an agent with a [Sealer], and not by the
// agent.
func errUnsealed(m *performatives.Message) *performatives.Refusal {
	return refusal(m, "", performatives.CodeForbidden, "the payloads of the sender are sealed: only Self.Send of the agent does it")
}

// seals reports whether the sender of m is an agent of this process with a [Sealer].
func (s *System) seals(m *performatives.Message) bool {
	c, ok := s.lookup(m.Sender())
	return ok && c.spec.Sealer != nil
}
