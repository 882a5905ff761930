package auth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"fmt"
	"slices"
)

// algorithm is a signature of RFC 7518 §3.1 or RFC 8037 §3.1, and the keys that go with it.
// Each algorithm takes one type of key, so that nobody can pass a public key off as a shared
// secret.
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

// minSecret is the least length of a shared secret in bytes: the hash's (RFC 7518 §3.2).
const minSecret = 32

// The bounds of RSA keys in bits: less is weak (RFC 7518 §3.3), and more takes a verifier
// too long.
const (
	minRSA = 2048
	maxRSA = 16_384
)

// secretOf returns what tells a shared secret of at least n bytes.
func secretOf(n int) func(any) bool {
	return func(key any) bool {
		secret, ok := key.([]byte)
		return ok && len(secret) >= n
	}
}

func isRSA(key any) bool {
	k, ok := key.(*rsa.PublicKey)
	return ok && k.N != nil && k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA
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

// fits reports whether key is one for the algorithm of that name.
func fits(name string, key any) bool {
	return slices.ContainsFunc(algorithms, func(a algorithm) bool { return a.name == name && a.fits(key) })
}

// usable reports whether key is one for any algorithm.
func usable(key any) bool {
	return slices.ContainsFunc(algorithms, func(a algorithm) bool { return a.fits(key) })
}

// allowed returns the names of the algorithms that are wanted, or of those that go with
// key, if none are. A nil key goes with all but the shared secrets.
func allowed(want []string, key any) ([]string, error) {
	var names []string
	for _, a := range algorithms {
		asked := slices.Contains(want, a.name)
		goes := key == nil && (asked || a.name[0] != 'H') || key != nil && a.fits(key)
		switch {
		case asked && !goes:
			return nil, fmt.Errorf("auth: JWTOptions.Algorithms: %s does not go with the key", a.name)
		case goes && (asked || len(want) == 0):
			names = append(names, a.name)
		}
	}
	for _, w := range want {
		if !slices.Contains(names, w) {
			return nil, fmt.Errorf("auth: JWTOptions.Algorithms: %q is not one that is known here", w)
		}
	}
	return names, nil
}
