package auth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
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

// keySet is the cached key set of a URL.
type keySet struct {
	opts   JWKSOptions
	url    *url.URL
	client *http.Client
	keys   *renewed[[]webKey]
}

func newKeySet(o JWKSOptions) (*keySet, error) {
	u, err := parseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("auth: JWKSOptions.URL: %w", err)
	}
	s := &keySet{opts: o, url: u, client: httpClient(o.Client)}
	s.keys = newRenewed(s.refresh)
	return s, nil
}

// find implements keySource.
func (s *keySet) find(ctx context.Context, kid, alg string) (any, error) {
	serves := func(keys []webKey) bool { return lookUp(keys, kid, alg) != nil }
	f, _, err := s.keys.get(ctx, serves)
	switch {
	case err != nil:
		return nil, &RejectedError{Method: methodJWT, Reason: "the connection ended before the keys were fetched", Err: wire.ErrClosed, internal: true}
	case f.valid(serves):
		return lookUp(f.value, kid, alg), nil
	case !f.valid(func(keys []webKey) bool { return keys != nil }):
		return nil, &RejectedError{Method: methodJWT, Reason: "the keys could not be fetched", Err: f.err, internal: true}
	}
	return nil, ErrNoKey
}

// refresh fetches the keys. The fetch continues when ctx ends, because every attempt counts against
// minKeyRefresh: otherwise a peer that connects and disconnects could waste each attempt.
func (s *keySet) refresh(ctx context.Context, f attempt[[]webKey]) (attempt[[]webKey], bool) {
	text, err := s.fetch(context.WithoutCancel(ctx))
	if err == nil {
		var keys []webKey
		if keys, err = parseKeys(text); err == nil {
			f.value, f.due, f.expires = keys, time.Now().Add(keyRefresh), time.Now().Add(maxKeyAge)
		}
	}
	f.retry, f.err = time.Now().Add(minKeyRefresh), err
	if err != nil && s.opts.Failed != nil {
		s.opts.Failed(fmt.Errorf("auth: the keys of %s: %w", s.url.Host, err))
	}
	return f, true
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

// lookUp returns the key with the given id for alg. Without an id it returns the only key for alg.
// It returns nil for none, and without an id if there are several.
func lookUp(keys []webKey, kid, alg string) any {
	serves := func(k webKey) bool {
		return (kid == "" || k.kid == kid) && (k.alg == "" || k.alg == alg) && fits(alg, k.key)
	}
	i := slices.IndexFunc(keys, serves)
	if i < 0 || kid == "" && slices.ContainsFunc(keys[i+1:], serves) {
		return nil
	}
	return keys[i].key
}
