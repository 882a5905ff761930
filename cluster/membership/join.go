package membership

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	// forgetLost is how long a member that failed is dialled.
	forgetLost = time.Hour
	// maxDials is the number of addresses that are dialled at once.
	maxDials = 8
	// maxTargets is the largest number of addresses in one attempt.
	maxTargets = 32
)

// Join waits until this node has joined another one for the first time. If this node has no seeds,
// or is its own only seed, there is no other node to join, and Join returns nil. The attempts go on
// after Join has returned an error. Errors: [ErrNameTaken] at once when another node alive has the
// name; the cause of ctx, joined with the error of the last attempt; [ErrStopped].
func (g *Gossip) Join(ctx context.Context) error {
	for {
		g.joinMu.Lock()
		attempt, last := g.attempt, g.lastErr
		g.joinMu.Unlock()
		select {
		case <-g.joined:
			return nil
		default:
		}
		if errors.Is(last, ErrNameTaken) {
			return last
		}
		select {
		case <-attempt:
		case <-g.joined:
		case <-g.ctx.Done():
			return ErrStopped
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), last)
		}
	}
}

// Joined reports whether Join would return nil at once.
func (g *Gossip) Joined() bool {
	select {
	case <-g.joined:
		return true
	default:
		return false
	}
}

// keepJoined dials the seeds and the members that failed, until Stop: memberlist does not redial
// the dead, so that the sides of a healed partition would stay apart.
func (g *Gossip) keepJoined() {
	wait := g.options.RejoinMin
	var first string // an address that is to be dialled first
	for {
		if g.doomed.Swap(false) {
			g.beginAnew()
		}
		if g.raised.Swap(false) { // the others refuse this node until they know its new epoch
			_ = g.announce(func(*announcement) {})
		}
		targets, alone, err := g.targets(first)
		reached := 0
		if len(targets) > 0 {
			var dialErr error
			reached, dialErr = g.dial(targets)
			err = errors.Join(err, dialErr)
		}
		g.attempted(reached > 0 || g.view.size() > 1 || alone && err == nil, err)
		var again <-chan time.Time
		if len(targets) > 0 || err != nil {
			// Jitter, so that the nodes that lost one member do not dial it all at once.
			again = time.After(wait/2 + rand.N(wait/2+1))
			wait = min(2*wait, g.options.RejoinMax)
		} else {
			wait = g.options.RejoinMin
			again = time.After(g.options.RejoinMax) // names may have other addresses by then
		}
		select {
		case <-g.ctx.Done():
			return
		case <-again:
			first = ""
		case first = <-g.rejoin:
			wait = g.options.RejoinMin
		}
	}
}

// targets returns at most maxTargets addresses to dial: first, if it is set, then those of seeds
// that are not members, then those of members that failed, in random order. alone means that this
// node has no seed but itself.
func (g *Gossip) targets(first string) (targets []string, alone bool, err error) {
	members, self := g.view.addresses(), g.Self().Gossip
	add := func(address string) {
		if !members[address] && !slices.Contains(targets, address) {
			targets = append(targets, address)
		}
	}
	if first != "" {
		targets = append(targets, first)
	}
	alone = true
	for _, seed := range g.options.Seeds {
		host, port, _ := splitHostPort(seed) // validated
		all, e := g.resolve(g.ctx, host)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("resolve %s: %w", seed, e))
			continue
		}
		for _, ip := range all {
			address := net.JoinHostPort(ip.String(), strconv.Itoa(int(port)))
			alone = alone && address == self
			add(address)
		}
	}
	lost := g.view.lost(time.Now().Add(-forgetLost))
	rand.Shuffle(len(lost), func(i, j int) { lost[i], lost[j] = lost[j], lost[i] })
	for _, address := range lost {
		add(address)
	}
	return targets[:min(len(targets), maxTargets)], alone, err
}

// dial joins by all of the addresses, and returns the number of those that answered.
func (g *Gossip) dial(targets []string) (reached int, err error) {
	var mu sync.Mutex
	var dials sync.WaitGroup
	slots := make(chan struct{}, maxDials)
	for _, target := range targets {
		slots <- struct{}{}
		dials.Go(func() {
			defer func() { <-slots }()
			if g.ctx.Err() != nil {
				return
			}
			_, e := g.list.Load().Join([]string{target})
			mu.Lock()
			defer mu.Unlock()
			if e != nil {
				if only := errors.Unwrap(e); only != nil { // e is a list of one, on several lines
					e = only
				}
				err = errors.Join(err, fmt.Errorf("membership: %w", e))
			} else {
				reached++
			}
		})
	}
	dials.Wait()
	return reached, err
}

// attempted tells Join about an attempt, and logs it.
func (g *Gossip) attempted(joined bool, err error) {
	if conflict := g.view.takeConflict(); conflict != nil {
		err = conflict // memberlist has it as text only
		g.log.Error("membership: refused", "err", err)
	} else if err != nil && g.ctx.Err() == nil {
		g.log.Debug("membership: join", "err", err)
	}
	g.joinMu.Lock()
	defer g.joinMu.Unlock()
	g.lastErr = err
	close(g.attempt)
	g.attempt = make(chan struct{})
	if joined && !errors.Is(err, ErrNameTaken) {
		select {
		case <-g.joined:
		default:
			close(g.joined)
		}
	}
}

// refused logs that another node was refused, at most once in a second.
func (g *Gossip) refused(err error, address string) {
	g.joinMu.Lock()
	defer g.joinMu.Unlock()
	if now := time.Now(); now.Sub(g.refusedAt) >= time.Second {
		g.refusedAt = now
		g.log.Error("membership: a node is refused", "err", err, "peer", address)
	}
}
