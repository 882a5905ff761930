package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/discovery"
)

// introductionTime is the time limit for connecting and introducing the agent.
const introductionTime = 10 * time.Second

// stay connects by calls of connect until ctx ends, and prints each change. When connected, it
// calls begin, if it is not nil. It returns the error of the first attempt, the refusal of the
// agent by a node, or the takeover of the agent by another connection.
func (l *link) stay(ctx context.Context, connect func(context.Context) error, begin func() error, say *printer) error {
	backoff := actors.Backoff{Jitter: 0.5}
	for attempt, first := 1, true; ; attempt++ {
		err := connect(ctx)
		if err == nil {
			say.line(fmt.Sprintf("connected to %s as %s", l.at.url, l.name))
			if begin != nil {
				err = begin()
			}
		}
		if err == nil {
			first = false
			if l.lasts(ctx) {
				attempt = 0
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		why := l.explain(err, string(systemAgent))
		if why == nil {
			why = &problem{Text: l.cut()}
		}
		if err != nil && (first || isAuth(why.Code)) {
			return why.failure()
		}
		if err == nil && l.isReplaced() {
			return failf("another connection to %s speaks for %s now; end that, or use another name with --as", l.at.url, l.name)
		}
		wait := backoff.Delay(max(attempt, 1), rand.Float64)
		say.line(fmt.Sprintf("not connected, next attempt in %v: %s", wait.Round(time.Millisecond), why.Text))
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// reach connects.
func (l *link) reach(ctx context.Context) error {
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	return silent(ctx, patient, l.uplink.Connect(patient))
}

// introduce connects, and sends the capabilities of the agent to the node.
func (l *link) introduce(ctx context.Context, self actors.Self) error {
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	if err := l.uplink.Connect(patient); err != nil {
		return silent(ctx, patient, err)
	}
	_, err := discovery.Handshake(patient, self, systemAgent)
	if err != nil {
		l.ending(patient, func() {}) // the next attempt opens another connection
	}
	return silent(ctx, patient, err)
}

// steady is the duration of a connection after which the backoff starts again. Without it,
// two agents of one name would replace each other in quick succession.
const steady = time.Minute

// lasts waits for the end of the connection or of ctx. It reports whether the connection
// was steady.
func (l *link) lasts(ctx context.Context) bool {
	since := time.Now()
	select {
	case <-l.session.Load().Done():
	case <-ctx.Done():
	}
	return time.Since(since) >= steady
}

// silent returns err, or errSilent if patient has ended and ctx has not.
func silent(ctx, patient context.Context, err error) error {
	if err != nil && ctx.Err() == nil && patient.Err() != nil {
		return errSilent
	}
	return err
}

var errSilent = errors.New("no answer; check --addr, with its scheme, and whether a node listens there")

// pause waits, and reports false when ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
