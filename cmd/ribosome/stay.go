package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
)

// introductionTime is how long the node may take to let an agent in.
const introductionTime = 10 * time.Second

// stay keeps the agent connected until ctx ends, and says when it is and when it is not.
// The error is that of the first attempt, or that the node does not want the agent.
func (l *link) stay(ctx context.Context, self actors.Self, say *printer) error {
	backoff := actors.Backoff{Jitter: 0.5}
	for attempt, first := 1, true; ; attempt++ {
		err := l.introduce(ctx, self)
		if err == nil {
			say.line(fmt.Sprintf("connected to %s as %s", l.at.url, l.name))
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
		wait := backoff.Delay(max(attempt, 1), rand.Float64)
		say.line(fmt.Sprintf("not connected, next attempt in %v: %s", wait.Round(time.Millisecond), why.Text))
		if !pause(ctx, wait) {
			return nil
		}
	}
}

// introduce connects, and tells the node what the agent can do.
func (l *link) introduce(ctx context.Context, self actors.Self) error {
	patient, cancel := context.WithTimeout(ctx, introductionTime)
	defer cancel()
	if err := l.uplink.Connect(patient); err != nil {
		return silent(ctx, patient, err)
	}
	_, err := codons.Handshake(patient, self, systemAgent)
	if err != nil {
		l.ending(patient, func() {}) // the next attempt begins anew
	}
	return silent(ctx, patient, err)
}

// steady is how long a connection lasts at least for the next attempt to be the first
// again. Two agents of one name would replace one another for ever.
const steady = time.Minute

// lasts waits for the end of the connection, or of ctx, and reports whether that was not
// soon.
func (l *link) lasts(ctx context.Context) bool {
	since := time.Now()
	select {
	case <-l.session.Load().Done():
	case <-ctx.Done():
	}
	return time.Since(since) >= steady
}

// silent is err, or that the node did not answer within patient.
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
