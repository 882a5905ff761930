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

// JWKSOptions configures a published JSON Web Key Set (RFC 7517 §5).
type JWKSOptions struct {
	// URL is the address of the key set. It must be https, or http to this host.
	URL string
	// Client fetches the keys. Nil means a new client without idle connections.
	Client *http.Client
	// Failed is called after each failed fetch. Tokens are still verified with the old keys.
	// It must not block and must be safe for concurrent use. Nil discards the errors.
	Failed func(error)
}

// The times and the size of key sets.
const (
	keyRefresh    = 15 * time.Minute // the age at which the keys are fetched again
	minKeyRefresh = 10 * time.Second // between two fetches, also when tokens name unknown keys
	maxKeyAge     = 24 * time.Hour   // at which keys are no longer trusted after fetches have failed
	maxKeySet     = 1 << 20          // bytes
)

// keySet is the cached key set of a URL. The first caller after the refresh time fetches it.
// Concurrent callers use the cached keys and block only if the key that they need is missing.
type keySet struct {
	opts   JWKSOptions
	url    *url.URL
	client *http.Client
	lock   chan struct{} // a mutex whose lock can be cancelled by a context
	state  atomic.Pointer[fetched]
}

// fetched is the last key set and the result of the last attempt to fetch it.
type fetched struct {
	keys  []webKey
	at    time.Time // when keys were fetched
	tried time.Time // when the last attempt ended
	err   error     // of the last attempt
}

func newKeySet(o JWKSOptions) (*keySet, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("auth: JWKSOptions.URL: %w", err)
	}
	s := &keySet{opts: o, url: u, client: httpClient(o.Client), lock: make(chan struct{}, 1)}
	s.state.Store(&fetched{})
	return s, nil
}

// find implements keySource.
func (s *keySet) find(ctx context.Context, kid, alg string) (any, error) {
	f := s.state.Load()
	if time.Since(f.at) >= keyRefresh && s.due(f) {
		select {
		case s.lock <- struct{}{}:
			f = s.refresh(ctx, f)
			<-s.lock
		default: // another caller fetches the keys
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
		return nil, &RejectedError{Method: methodJWT, Reason: "the keys could not be fetched", Err: f.err, internal: true}
	}
	return nil, ErrNoKey
}

// renewed returns a state after f: it fetches the keys if minKeyRefresh allows.
func (s *keySet) renewed(ctx context.Context, f *fetched) (*fetched, error) {
	if !s.due(f) {
		return f, nil
	}
	select {
	case s.lock <- struct{}{}:
		defer func() { <-s.lock }()
		return s.refresh(ctx, f), nil
	case <-ctx.Done():
		return nil, &RejectedError{Method: methodJWT, Reason: "the connection ended before the keys were fetched", Err: wire.ErrClosed, internal: true}
	}
}

// due reports whether minKeyRefresh has passed since the last attempt.
func (s *keySet) due(f *fetched) bool {
	return f.tried.IsZero() || time.Since(f.tried) >= minKeyRefresh
}

// refresh fetches the keys unless another caller has fetched them after seen was loaded. The
// caller holds the lock. The fetch continues when ctx ends, because every attempt counts
// against minKeyRefresh: otherwise a peer that connects and disconnects could waste each
// attempt.
func (s *keySet) refresh(ctx context.Context, seen *fetched) *fetched {
	f := s.state.Load()
	if f != seen && !s.due(f) {
		return f
	}
	next := *f
	text, err := s.fetch(context.WithoutCancel(ctx))
	if err == nil {
		var keys []webKey
		if keys, err = parseKeys(text); err == nil {
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

// fetch returns the text of the key set.
func (s *keySet) fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url.String(), http.NoBody)
	if err != nil {
		return nil, plainError(err)
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	return bodyOf(s.client, r, maxKeySet)
}

// usable returns the keys unless they are too old.
func (s *keySet) usable(f *fetched) []webKey {
	if time.Since(f.at) >= maxKeyAge {
		return nil
	}
	return f.keys
}

// lookUp returns the key with the given id for alg. Without an id it returns the only key for
// alg, and nothing if there are several.
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
