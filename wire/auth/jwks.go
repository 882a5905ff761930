package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ribosome-agents/ribosome/wire"
)

// JWKSOptions says where the keys of tokens are published (RFC 7517 §5).
type JWKSOptions struct {
	// URL is where the keys are. It is https, or on this host.
	URL string
	// Insecure allows http to other hosts: who can change the answer can be anyone.
	Insecure bool
	// Symmetric allows shared secrets (oct), which then are published: for tests.
	Symmetric bool
	// Refresh is the age at which the keys are fetched again. Zero means 15 min.
	Refresh time.Duration
	// MinRefresh is the least time between two fetches, whatever keys tokens name. Zero
	// means 10 s.
	MinRefresh time.Duration
	// MaxStale is the age at which keys that could not be fetched again are no longer
	// trusted. Zero means 24 h.
	MaxStale time.Duration
	// Timeout bounds a fetch. Zero means 5 s.
	Timeout time.Duration
	// MaxBytes bounds what is fetched. Zero means 1 MiB.
	MaxBytes int64
	// Client fetches. Nil means one of its own, which keeps no connection.
	Client *http.Client
	// Failed is told of each fetch that fails, since tokens are verified with the keys of
	// before. It must not block, and is called from many goroutines. Nil is for those who
	// do not want to know.
	Failed func(error)
}

func (o JWKSOptions) withDefaults() JWKSOptions {
	o.Refresh = orElse(o.Refresh, 15*time.Minute)
	o.MinRefresh = orElse(o.MinRefresh, 10*time.Second)
	o.MaxStale = orElse(o.MaxStale, 24*time.Hour)
	o.Timeout = orElse(o.Timeout, 5*time.Second)
	o.MaxBytes = orElse(o.MaxBytes, 1<<20)
	return o
}

func orElse[T int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

func (o JWKSOptions) validate() error {
	for name, v := range map[string]int64{
		"Refresh": int64(o.Refresh), "MinRefresh": int64(o.MinRefresh), "MaxStale": int64(o.MaxStale),
		"Timeout": int64(o.Timeout), "MaxBytes": o.MaxBytes,
	} {
		if v < 0 {
			return fmt.Errorf("auth: JWKSOptions.%s is negative", name)
		}
	}
	return nil
}

// keySet is the keys that are published at a URL, as they were last fetched. Whoever finds
// that they should be fetched again does it; the others go on with those that are there, and
// wait only for a key that is not.
type keySet struct {
	opts   JWKSOptions
	url    *url.URL
	client *http.Client
	turn   chan struct{} // a lock that can be waited for with a context
	state  atomic.Pointer[fetched]
}

// fetched is what is known, and what became of the last attempt to know it better.
type fetched struct {
	keys  []webKey
	at    time.Time // when keys were
	tried time.Time // when the last attempt ended
	err   error     // of the last attempt
}

func newKeySet(o JWKSOptions) (*keySet, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	u, err := parseURL(o.URL, o.Insecure)
	if err != nil {
		return nil, fmt.Errorf("auth: JWKSOptions.URL: %w", err)
	}
	s := &keySet{opts: o.withDefaults(), url: u, client: httpClient(o.Client, o.Insecure), turn: make(chan struct{}, 1)}
	s.state.Store(&fetched{})
	return s, nil
}

// find implements keySource.
func (s *keySet) find(ctx context.Context, kid, alg string) (any, error) {
	f := s.state.Load()
	if time.Since(f.at) >= s.opts.Refresh && s.due(f) {
		select {
		case s.turn <- struct{}{}:
			f = s.refresh(ctx, f)
			<-s.turn
		default: // somebody does
		}
	}
	if key, ok := s.lookUp(f, kid, alg); ok {
		return key, nil
	}
	f, err := s.renewed(ctx, f)
	if err != nil {
		return nil, err
	}
	if key, ok := s.lookUp(f, kid, alg); ok {
		return key, nil
	}
	if s.usable(f) == nil {
		return nil, &RejectedError{Method: "jwt", Reason: "the keys could not be fetched", Err: f.err, ours: true}
	}
	return nil, ErrNoKey
}

// renewed returns what is known after f, if that could be more.
func (s *keySet) renewed(ctx context.Context, f *fetched) (*fetched, error) {
	if !s.due(f) {
		return f, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return s.refresh(ctx, f), nil
	case <-ctx.Done():
		return nil, &RejectedError{Method: "jwt", Reason: "nobody waits for the keys any more", Err: wire.ErrClosed, ours: true}
	}
}

// due reports whether enough time has passed since the last attempt.
func (s *keySet) due(f *fetched) bool {
	return f.tried.IsZero() || time.Since(f.tried) >= s.opts.MinRefresh
}

// refresh fetches the keys, unless somebody has since seen was loaded. The caller has the
// turn. It goes on when ctx ends: the attempt counts, and a peer that comes and goes must
// not be able to spoil each.
func (s *keySet) refresh(ctx context.Context, seen *fetched) *fetched {
	f := s.state.Load()
	if f != seen && !s.due(f) {
		return f
	}
	next := *f
	text, err := fetch(context.WithoutCancel(ctx), s.client, s.url, s.opts.MaxBytes, s.opts.Timeout)
	if err == nil {
		var keys []webKey
		if keys, err = parseKeys(text, s.opts.Symmetric); err == nil {
			next.keys, next.at = keys, time.Now()
		}
	}
	next.tried, next.err = time.Now(), err
	s.state.Store(&next)
	if err != nil && s.opts.Failed != nil {
		s.opts.Failed(fmt.Errorf("auth: the keys of %s: %w", s.url.Host, err))
	}
	return &next
}

// usable returns the keys that are not too old.
func (s *keySet) usable(f *fetched) []webKey {
	if time.Since(f.at) >= s.opts.MaxStale {
		return nil
	}
	return f.keys
}

// lookUp finds the key of that id for that algorithm. Without an id there has to be just
// one for the algorithm.
func (s *keySet) lookUp(f *fetched, kid, alg string) (any, bool) {
	keys := s.usable(f)
	serves := func(k webKey) bool {
		return (kid == "" || k.kid == kid) && (k.alg == "" || k.alg == alg) && fits(alg, k.key)
	}
	i := slices.IndexFunc(keys, serves)
	if i < 0 || kid == "" && slices.ContainsFunc(keys[i+1:], serves) {
		return nil, false
	}
	return keys[i].key, true
}
