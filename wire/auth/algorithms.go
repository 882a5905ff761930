package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"fmt"
	"slices"
)

// algorithm is a signature algorithm of RFC 7518 §3.1 or RFC 8037 §3.1 with the keys that it
// accepts. Each algorithm accepts one type of key, so that an attacker cannot use a public
// key as a shared secret.
type algorithm struct {
	name string
	fits func(key any) bool
}

var algorithms = []algorithm{
	{"HS256", secretOf(32)},
	{"HS384", secretOf(48)},
	{"HS512", secretOf(64)},
	{"RS256", isRSA},
	{"RS384", isRSA},
	{"RS512", isRSA},
	{"PS256", isRSA},
	{"PS384", isRSA},
	{"PS512", isRSA},
	{"ES256", onCurve(elliptic.P256())},
	{"ES384", onCurve(elliptic.P384())},
	{"ES512", onCurve(elliptic.P521())},
	{"EdDSA", isEd25519},
}

// minSecret is the smallest length of a shared secret in bytes: that of the hash (RFC 7518
// §3.2).
const minSecret = 32

// The bounds of RSA keys in bits: smaller keys are weak (RFC 7518 §3.3), larger ones make
// verification too slow.
const (
	minRSA = 2048
	maxRSA = 16_384
)

// secretOf returns a predicate for shared secrets of at least n bytes.
func secretOf(n int) func(any) bool {
	return func(key any) bool {
		secret, ok := key.([]byte)
		return ok && len(secret) >= n
	}
}

func isRSA(key any) bool {
	k, ok := key.(*rsa.PublicKey)
	return ok && k.N != nil && k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA && k.E >= 3 && k.E < 1<<31 && k.E&1 == 1
}

func onCurve(c elliptic.Curve) func(any) bool {
	return func(key any) bool {
		k, ok := key.(*ecdsa.PublicKey)
		return ok && k.Curve == c
	}
}

func isEd25519(key any) bool {
	k, ok := key.(ed25519.PublicKey)
	return ok && len(k) == ed25519.PublicKeySize
}

// fits reports whether the named algorithm accepts key.
func fits(name string, key any) bool {
	return slices.ContainsFunc(algorithms, func(a algorithm) bool { return a.name == name && a.fits(key) })
}

// usable reports whether any algorithm accepts key.
func usable(key any) bool {
	return slices.ContainsFunc(algorithms, func(a algorithm) bool { return a.fits(key) })
}

// allowed returns the algorithms in want, or, if want is empty, all that accept key. A nil
// key means a published key set: all algorithms except those with shared secrets.
func allowed(want []string, key any) ([]string, error) {
	var names []string
	for _, a := range algorithms {
		asked := slices.Contains(want, a.name)
		goes := key == nil && (asked || a.name[0] != 'H') || key != nil && a.fits(key)
		switch {
		case asked && !goes:
			return nil, fmt.Errorf("auth: JWTOptions.Algorithms: %s does not accept the key", a.name)
		case goes && (asked || len(want) == 0):
			names = append(names, a.name)
		}
	}
	for _, w := range want {
		if !slices.Contains(names, w) {
			return nil, fmt.Errorf("auth: JWTOptions.Algorithms: %q is not supported", w)
		}
	}
	return names, nil
}
