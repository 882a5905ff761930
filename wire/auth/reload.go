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

// reloaded is a value that is read from files, and read again when they change.
type reloaded[T any] struct {
	load  func() (T, error)
	files []watched

	mu      sync.Mutex
	value   T
	checked time.Time
	stale   bool // the files have changed and could not be loaded yet
}

// current returns the value. It checks the files at most once per second. With an error of that
// check it returns the value before.
func (r *reloaded[T]) current() (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.checked.IsZero() && time.Since(r.checked) < recheck {
		return r.value, nil
	}
	r.checked = time.Now()
	err := r.reload()
	return r.value, err
}

// reload loads the files if they have changed. It retries files that cannot be loaded, because one
// may have been written before the other.
func (r *reloaded[T]) reload() error {
	var missing error
	for i := range r.files {
		changed, err := r.files[i].changed()
		missing = errors.Join(missing, err)
		r.stale = r.stale || changed || err != nil
	}
	if missing != nil || !r.stale {
		return missing
	}
	value, err := r.load()
	if err == nil {
		r.value, r.stale = value, false
	}
	return err
}

// loadCertificate returns a function that returns the certificate of files with its key.
func loadCertificate(f Files) (func() *tls.Certificate, error) {
	pair := reloaded[*tls.Certificate]{
		load: func() (*tls.Certificate, error) { return loadPair(f.Cert, f.Key) }, files: []watched{{path: f.Cert}, {path: f.Key}},
	}
	if _, err := pair.current(); err != nil {
		return nil, err
	}
	return func() *tls.Certificate {
		cert, err := pair.current()
		if err != nil && f.Failed != nil {
			f.Failed(err)
		}
		return cert
	}, nil
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
