package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/ribosome-agents/ribosome/internal/sockets"
)

// checkURL says whether a URL is one that keys or tokens can be had from safely: https, or
// http to this host. insecure allows http to any.
func checkURL(u *url.URL, insecure bool) error {
	switch {
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("want an https URL")
	case u.User != nil:
		return errors.New("want a URL without a password")
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return errors.New("want https: over http anyone on the way could change what it says")
	}
	return nil
}

// loopback reports whether a host is this one.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parseURL reads a URL, which the error does not show.
func parseURL(text string, insecure bool) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is no URL")
	}
	return u, checkURL(u, insecure)
}

// maxRedirects is how many redirections are followed.
const maxRedirects = 3

// httpClient returns a client for one request now and then: it keeps no connection, and goes
// nowhere that checkURL would not. The requests bring their own deadlines.
func httpClient(base *http.Client, insecure bool) *http.Client {
	c := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: sockets.Harden(&tls.Config{}),
	}}
	if base != nil {
		c = *base
	}
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("too many redirections")
		}
		return checkURL(r.URL, insecure)
	}
	return &c
}

// fetch gets what is at a URL, at most limit bytes in at most timeout.
func fetch(ctx context.Context, c *http.Client, u *url.URL, limit int64, timeout time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, plainError(err)
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	answer, err := c.Do(r)
	if err != nil {
		return nil, plainError(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %d", answer.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return nil, plainError(err)
	case int64(len(b)) > limit:
		return nil, fmt.Errorf("the answer is longer than %d bytes", limit)
	}
	return b, nil
}

// plainError takes the URL, whose query may hold a secret, out of an error of net/http.
func plainError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
