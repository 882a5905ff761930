package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/subscribe"
	"github.com/ribosome-agents/ribosome/internal/terminal" //nolint:depguard // a terminal is no part of the API of a runtime
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// subscribeCmd is ribosome subscribe.
type subscribeCmd struct {
	Agent string   `arg:"" type:"name" help:"Agent that publishes"`
	Topic []string `arg:"" name:"topic" help:"Topics of the agent"`

	Data  string `short:"d" placeholder:"JSON" help:"Parameters of the subscriptions: JSON as it is, @FILE, or @- for stdin"`
	Quiet bool   `short:"q" help:"Print nothing but events, and why the command ends"`

	clientFlags `group:"The node:"`
}

// published is one event, as it is printed.
type published struct {
	Topic     string          `json:"topic"`
	Seq       uint64          `json:"seq,omitempty"`       // its number in the topic, from 1; none if the publisher sends none
	Lost      uint64          `json:"lost,omitempty"`      // the number of events of the topic that were lost before it
	Uncounted bool            `json:"uncounted,omitempty"` // more events may have been lost
	Value     json.RawMessage `json:"value"`
}

// run prints the events of the topics until ctx ends or one of the subscriptions does. When the
// connection is lost, it connects and subscribes again.
func (c *subscribeCmd) run(ctx context.Context, std streams) error {
	parameters, err := c.parameters(std.in)
	if err != nil {
		return err
	}
	l, err := c.plan(std.err)
	if err != nil {
		return err
	}
	ctx, cancel := terminal.UntilUnread(ctx, std.out)
	defer cancel()
	if err := l.settle(ctx); err != nil && ctx.Err() == nil { // else an orderly end follows
		return l.explain(err, "").failure()
	}
	if err := l.open(l.name); err != nil {
		return err
	}
	defer l.leave()
	s := &subscriptions{link: l, agent: c.Agent, out: newPrinter(std.out), say: std.notes(c.Quiet)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	defer s.cancel()
	err = l.stay(s.ctx, l.reach, func() error { return s.begin(c.Topic, parameters) }, s.say)
	if ended := s.end(); err == nil {
		err = ended
	}
	if err != nil {
		return err
	}
	return s.out.end()
}

// parameters returns the parameters of the subscriptions.
func (c *subscribeCmd) parameters(stdin io.Reader) (performatives.Content, error) {
	var none performatives.Content
	switch {
	case slices.Contains(c.Topic, ""):
		return none, usagef("a topic may not be empty")
	case isNode(c.Agent):
		return none, usagef("%s stands for all agents of a node, and publishes nothing; name an agent, see ribosome agents for a list", c.Agent)
	case c.Data == "":
		return none, nil
	}
	text, err := readJSON("--data", c.Data, stdin, wire.DefaultMaxFrame)
	return performatives.RawContent(text), err
}

// subscriptions are the streams of one command.
type subscriptions struct {
	link   *link
	agent  string
	out    *printer
	say    *printer
	ctx    context.Context //nolint:containedctx // its end ends the streams
	cancel context.CancelFunc

	streams []*subscribe.Stream[json.RawMessage]
	reading sync.WaitGroup

	mu    sync.Mutex
	ended error // of the first stream that ended before ctx
}

// begin subscribes to the topics with the first connection. After later ones, the streams subscribe
// again by themselves.
func (s *subscriptions) begin(topics []string, parameters performatives.Content) error {
	if s.streams != nil {
		return nil
	}
	for _, topic := range topics {
		var began atomic.Bool
		agreed := func() {
			began.Store(true)
			s.say.line(fmt.Sprintf("subscribed to %s of %s", topic, s.agent))
		}
		stream, err := subscribe.Start[json.RawMessage](s.ctx, s.link, performatives.AgentID(s.agent),
			subscribe.Subscription{Topic: topic, Parameters: parameters}, codons.WithAgreed(agreed), codons.WithGrace(receiptTime))
		if err != nil {
			return err
		}
		s.streams = append(s.streams, stream)
		s.reading.Go(func() { s.read(topic, stream, &began) })
	}
	return nil
}

// read prints the events of one topic until its stream ends or the output takes no more. Then it
// ends the command. began says that the publisher has agreed.
func (s *subscriptions) read(topic string, stream *subscribe.Stream[json.RawMessage], began *atomic.Bool) {
	defer s.cancel()
	for e := range stream.Events() {
		s.out.json(published{Topic: topic, Seq: e.Seq, Lost: e.Lost, Uncounted: e.Uncounted, Value: e.Value})
		if s.out.broken() {
			return
		}
	}
	err := stream.Err()
	if s.ctx.Err() != nil || err == nil {
		return
	}
	text := "cannot subscribe to " + topic
	if began.Load() {
		text = "the subscription to " + topic + " has ended"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended == nil {
		s.ended = failf("%s: %s", text, s.link.explain(err, s.agent).Text)
	}
}

// end unsubscribes from all topics. It returns the reason why a stream ended before, or that the
// publisher has not confirmed the end.
func (s *subscriptions) end() error {
	s.cancel()
	var unconfirmed error
	for _, stream := range s.streams {
		if err := stream.Unsubscribe(); err != nil && unconfirmed == nil {
			unconfirmed = err
		}
	}
	printed := make(chan struct{})
	go func() {
		s.reading.Wait()
		close(printed)
	}()
	select {
	case <-printed:
	case <-time.After(stopTime):
		return failf("the output is not complete: it takes no more; run it again with an output that is read")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		return s.ended
	case unconfirmed != nil:
		return failf("interrupted; %s was told, and has not said that the subscription has ended", s.agent)
	}
	return nil
}
