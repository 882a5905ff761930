package membership

import (
	"bytes"
	"errors"
	"slices"
	"sync"

	"github.com/hashicorp/memberlist"
)

// ErrKeys means that a key cannot be used: see [Keys].
var ErrKeys = errors.New("membership: key of gossip encryption")

// Keys are the keys that encrypt the gossip of one node. To replace a key while the cluster runs:
// Add the new one on all nodes, then Use it on all nodes, then Remove the old one on all nodes. All
// methods may be called at once.
type Keys struct {
	mu   sync.Mutex
	ring *memberlist.Keyring // nil: not encrypted
}

// Add makes the node also decrypt with the key. Errors: [ErrKeys] when the node was started without
// keys, or when the length of the key is wrong.
func (k *Keys) Add(key []byte) error {
	if k.ring == nil {
		return errNotEncrypted
	}
	if err := validKey(key); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ring.AddKey(bytes.Clone(key))
}

// Use makes the node encrypt with a key that it has. Errors: [ErrKeys] when it has not.
func (k *Keys) Use(key []byte) error {
	if k.ring == nil {
		return errNotEncrypted
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ring.UseKey(key) != nil {
		return errNoKey
	}
	return nil
}

// Remove makes the node forget a key. Errors: [ErrKeys] when it is the one that encrypts, or the
// node has not got it.
func (k *Keys) Remove(key []byte) error {
	if k.ring == nil {
		return errNotEncrypted
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	keys := k.ring.GetKeys()
	if bytes.Equal(keys[0], key) {
		return errInUse
	}
	if !slices.ContainsFunc(keys, func(other []byte) bool { return bytes.Equal(other, key) }) {
		return errNoKey
	}
	// memberlist removes a key from a slice that other goroutines read without a lock. It moves no
	// element when the key is the last one, and UseKey brings a key to the front of a new slice. So
	// all others are brought to the front, the one that encrypts last. With more than two keys,
	// another one encrypts for a moment.
	for _, other := range append(slices.Clone(keys[1:]), keys[0]) {
		if bytes.Equal(other, key) {
			continue
		}
		if err := k.ring.UseKey(other); err != nil {
			return err
		}
	}
	return k.ring.RemoveKey(key)
}

var (
	errNotEncrypted = wrapped{ErrKeys, "the node was started without keys"}
	errNoKey        = wrapped{ErrKeys, "the node has not got it"}
	errInUse        = wrapped{ErrKeys, "it is the one that encrypts"}
	errKeyLength    = wrapped{ErrKeys, "want 16, 24 or 32 bytes"}
)

// wrapped is an error with a detail.
type wrapped struct {
	err    error
	detail string
}

func (w wrapped) Error() string { return w.err.Error() + ": " + w.detail }
func (w wrapped) Unwrap() error { return w.err }

func validKey(key []byte) error {
	if memberlist.ValidateKey(key) != nil {
		return errKeyLength
	}
	return nil
}

// newKeys returns the keys of the options. None means that the gossip is in clear.
func newKeys(keys [][]byte) (*Keys, error) {
	if len(keys) == 0 {
		return &Keys{}, nil
	}
	own := make([][]byte, len(keys))
	for i, key := range keys {
		own[i] = bytes.Clone(key)
	}
	ring, err := memberlist.NewKeyring(own, own[0])
	if err != nil {
		return nil, err
	}
	return &Keys{ring: ring}, nil
}
