package auth

import (
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

// checkURL returns an error unless keys and tokens can be fetched from u safely: https, or
// http to this host.
func checkURL(u *url.URL) error {
	switch {
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("want an https URL")
	case u.User != nil:
		return errors.New("want a URL without a password")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("want https: http allows the network to change the answer")
	}
	return nil
}

// loopback reports whether host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// parseURL parses and checks a URL. Its errors do not contain the URL.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	return u, checkURL(u)
}

// maxRedirects is the largest number of redirects that are followed.
const maxRedirects = 3

// httpClient returns a client for occasional requests: it keeps no idle connection, and
// follows only redirects that checkURL accepts. The requests set their own deadlines.
func httpClient(base *http.Client) *http.Client {
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
		return checkURL(r.URL)
	}
	return &c
}

// fetchTime bounds the time to get keys or an answer about a token.
const fetchTime = 5 * time.Second

// bodyOf sends a request and returns the body of the answer, at most limit bytes.
func bodyOf(c *http.Client, r *http.Request, limit int64) ([]byte, error) {
	answer, err := c.Do(r)
	if err != nil {
		return nil, plainError(err)
	}
	defer func() { _ = answer.Body.Close() }() // the body was only read
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

// plainError removes the URL, whose query may hold a secret, from an error of net/http.
func plainError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
