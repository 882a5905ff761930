package auth

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// recheck is the least time between two looks at a file.
const recheck = time.Second

// watched tells when a file is another than it was.
type watched struct {
	path string
	last os.FileInfo
}

// changed reports whether the file is another than at the last call. A file that cannot be
// found is an error.
func (w *watched) changed() (bool, error) {
	info, err := os.Stat(w.path)
	if err != nil {
		return false, fmt.Errorf("auth: %w", err)
	}
	same := w.last != nil && os.SameFile(w.last, info) && w.last.ModTime().Equal(info.ModTime()) && w.last.Size() == info.Size()
	w.last = info
	return !same, nil
}

// certificate is a certificate and its key, read again when their files change.
type certificate struct {
	mu        sync.Mutex
	cert, key watched
	now       *tls.Certificate
	looked    time.Time
	stale     bool // the files have changed, and cannot be used yet
	failed    func(error)
}

// loadCertificate reads the files for the first time.
func loadCertificate(f Files) (*certificate, error) {
	c := &certificate{cert: watched{path: f.Cert}, key: watched{path: f.Key}, failed: f.Failed}
	if err := c.reload(); err != nil {
		return nil, err
	}
	c.looked = time.Now()
	return c, nil
}

// current returns the certificate, of the files as they are now or were a second ago.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	var err error
	if time.Since(c.looked) >= recheck {
		c.looked = time.Now()
		err = c.reload()
	}
	now := c.now
	c.mu.Unlock()
	if err != nil && c.failed != nil {
		c.failed(err)
	}
	return now
}

// reload reads the files if they have changed. A pair that does not fit together, since
// one was written and the other not yet, is tried again.
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
	c.now, c.stale = pair, false
	return nil
}

// loadPair reads a certificate and its key. The error names the files.
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
