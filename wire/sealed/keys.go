package sealed

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
)

// The values of the member use of a JSON Web Key (RFC 7517 §4.2).
const (
	useSign    = "sig"
	useEncrypt = "enc"
)

// Keys are the private keys of one agent, or of an authority: one to sign with and one to decrypt
// with. They are immutable. The zero Keys are not valid.
type Keys struct {
	signing, encryption jose.JSONWebKey
}

// GenerateKeys returns new random keys: Ed25519 to sign, P-256 to agree on the keys of encryption.
func GenerateKeys() (Keys, error) {
	_, sign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("sealed: generate: %w", err)
	}
	decrypt, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Keys{}, fmt.Errorf("sealed: generate: %w", err)
	}
	return newKeys(jose.JSONWebKey{Key: sign, Use: useSign}, jose.JSONWebKey{Key: decrypt, Use: useEncrypt})
}

// ParseKeys reads private keys from the JSON Web Key Set that [Keys.Secret] writes: one with use
// sig, of Ed25519 or P-256, and one with use enc, of P-256. The error describes the fault, and has
// no part of a key.
func ParseKeys(secret []byte) (Keys, error) {
	var set jose.JSONWebKeySet
	if err := jsonscan.Unmarshal(secret, &set); err != nil {
		return Keys{}, errors.New("sealed: the keys are no JSON Web Key Set")
	}
	byUse := make(map[string]jose.JSONWebKey)
	for _, k := range set.Keys {
		if _, twice := byUse[k.Use]; twice {
			return Keys{}, fmt.Errorf("sealed: want one key with the use %.16q, got more", k.Use)
		}
		byUse[k.Use] = k
	}
	if len(byUse) != 2 {
		return Keys{}, errors.New("sealed: want two keys, one with the use sig and one with the use enc")
	}
	return newKeys(byUse[useSign], byUse[useEncrypt])
}

func newKeys(signing, encryption jose.JSONWebKey) (Keys, error) {
	for _, k := range []*jose.JSONWebKey{&signing, &encryption} {
		if k.Key == nil || k.IsPublic() || !k.Valid() {
			return Keys{}, errors.New("sealed: want private keys with the use sig and the use enc")
		}
		public := k.Public()
		if err := checkPublic(public); err != nil {
			return Keys{}, err
		}
		*k = jose.JSONWebKey{Key: k.Key, Use: k.Use, KeyID: thumbprint(public)}
	}
	return Keys{signing, encryption}, nil
}

// checkPublic refuses a key of a type that its use does not allow.
func checkPublic(k jose.JSONWebKey) error {
	switch key := k.Key.(type) {
	case ed25519.PublicKey:
		if k.Use == useSign && k.Valid() {
			return nil
		}
	case *ecdsa.PublicKey:
		if (k.Use == useSign || k.Use == useEncrypt) && key.Curve == elliptic.P256() && k.Valid() {
			return nil
		}
	}
	return fmt.Errorf("sealed: want a key of Ed25519 or P-256 to sign, or of P-256 to encrypt, got %T with the use %.16q", k.Key, k.Use)
}

// algorithm returns the one algorithm of a signature by that key.
func algorithm(public jose.JSONWebKey) jose.SignatureAlgorithm {
	if _, ok := public.Key.(ed25519.PublicKey); ok {
		return jose.EdDSA
	}
	return jose.ES256
}

// thumbprint returns the id of a key, its JWK thumbprint (RFC 7638). Ids are computed, never taken
// from a peer.
func thumbprint(public jose.JSONWebKey) string {
	sum, err := public.Thumbprint(crypto.SHA256)
	if err != nil {
		return "" // not for a key that checkPublic allows
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// ID returns the id of the key that signs: its JWK thumbprint, as [Trust].Pins has it.
func (k Keys) ID() string { return k.signing.KeyID }

// Secret returns the private keys as a JSON Web Key Set. Anyone with this set can read the payloads
// that are sealed for the agent, and can sign as the agent.
func (k Keys) Secret() ([]byte, error) {
	return json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{k.signing, k.encryption}})
}

// Public returns the public keys as a JSON Web Key Set.
func (k Keys) Public() ([]byte, error) {
	return json.Marshal(jose.JSONWebKeySet{Keys: k.public()})
}

func (k Keys) public() []jose.JSONWebKey {
	return []jose.JSONWebKey{k.signing.Public(), k.encryption.Public()}
}

// String returns the id of the keys, so that a log has no private key.
func (k Keys) String() string { return "sealed.Keys(" + k.ID() + ")" }

// GoString is String.
func (k Keys) GoString() string { return k.String() }

func (k Keys) valid() bool { return k.signing.Key != nil && k.encryption.Key != nil }
