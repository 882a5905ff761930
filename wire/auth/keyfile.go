package auth

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// maxKeyFile is the largest length of a key file in bytes.
const maxKeyFile = 64 << 10

// loadPublicKey reads a public key, or the key of a certificate, from a PEM file.
func loadPublicKey(path string) (any, error) {
	text, err := readSmall(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("auth: %s: no PEM block in it", path)
	}
	key, err := publicKey(block)
	switch {
	case err != nil:
		return nil, fmt.Errorf("auth: %s: %w", path, err)
	case !usable(key):
		return nil, fmt.Errorf("auth: %s: want an RSA key of %d to %d bits, an EC key on P-256, P-384 or P-521, or an Ed25519 key", path, minRSA, maxRSA)
	}
	return key, nil
}

func publicKey(block *pem.Block) (any, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	case "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		return c.PublicKey, nil
	case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("it holds a private key: want the public one")
	}
	return nil, errors.New("the PEM block is not a public key")
}

// loadSecret reads a shared secret: the bytes of the file without trailing newlines.
func loadSecret(path string) ([]byte, error) {
	secret, err := readSmall(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	secret = bytes.TrimRight(secret, "\r\n")
	if bytes.HasPrefix(secret, []byte("-----BEGIN ")) {
		return nil, fmt.Errorf("auth: %s: a PEM file is not a shared secret: set JWTOptions.KeyFile instead", path)
	}
	if len(secret) < minSecret {
		return nil, fmt.Errorf("auth: %s: a shared secret has at least %d bytes", path, minSecret)
	}
	return secret, nil
}
