package auth

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// recheck is the shortest time between two checks of a file.
const recheck = time.Second

// watched detects changes of a file.
type watched struct {
	path string
	last os.FileInfo
}

// changed reports whether the file has changed since the last call. A missing file is an
// error.
func (w *watched) changed() (bool, error) {
	info, err := os.Stat(w.path)
	if err != nil {
		return false, fmt.Errorf("auth: %w", err)
	}
	same := w.last != nil && os.SameFile(w.last, info) && w.last.ModTime().Equal(info.ModTime()) && w.last.Size() == info.Size()
	w.last = info
	return !same, nil
}

// certificate is a certificate with its key, which are read again when their files change.
type certificate struct {
	mu        sync.Mutex
	cert, key watched
	pair      *tls.Certificate
	checked   time.Time
	stale     bool // the files have changed and could not be loaded yet
	failed    func(error)
}

// loadCertificate loads the files for the first time.
func loadCertificate(f Files) (*certificate, error) {
	c := &certificate{cert: watched{path: f.Cert}, key: watched{path: f.Key}, failed: f.Failed}
	if err := c.reload(); err != nil {
		return nil, err
	}
	c.checked = time.Now()
	return c, nil
}

// current returns the certificate. It checks the files at most once per second.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	var err error
	if time.Since(c.checked) >= recheck {
		c.checked = time.Now()
		err = c.reload()
	}
	pair := c.pair
	c.mu.Unlock()
	if err != nil && c.failed != nil {
		c.failed(err)
	}
	return pair
}

// reload loads the files if they have changed. It retries a pair that does not match, because
// one file may have been written before the other.
func (c *certificate) reload() error {
	cert, errC := c.cert.changed()
	key, errK := c.key.changed()
	if err := errors.Join(errC, errK); err != nil {
		c.stale = true
		return err
	}
	if !cert && !key && !c.stale {
		return nil
	}
	c.stale = true
	pair, err := loadPair(c.cert.path, c.key.path)
	if err != nil {
		return err
	}
	c.pair, c.stale = pair, false
	return nil
}

// loadPair loads a certificate and its key. The error names the files.
func loadPair(cert, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("auth: %w", err)
	case err != nil:
		return nil, fmt.Errorf("auth: %s and %s: %w", cert, key, err)
	}
	return &pair, nil
}
