package main

import (
	"crypto/tls"
	"crypto/x509"
	"strings"

	"github.com/ribosome-agents/ribosome/wire/auth"
)

// config returns the TLS configuration of a client; nil for none. failed is called when a changed
// certificate cannot be loaded; it may be nil.
func (f *credentialFlags) config(a address, failed func(error)) (*tls.Config, error) {
	switch {
	case (f.Cert == "") != (f.Key == ""):
		return nil, usagef("--cert and --key belong together; give both")
	case !a.secure && (f.CA != "" || f.Cert != ""):
		return nil, usagef("--ca, --cert and --key are about TLS, and %s is without; use %ss://", a.url, a.transport)
	case !a.secure:
		return nil, nil //nolint:nilnil // no TLS
	}
	if err := readable("--ca", f.CA, "--cert", f.Cert, "--key", f.Key); err != nil {
		return nil, err
	}
	config, err := auth.ClientTLS(auth.Files{RootCA: f.CA, Cert: f.Cert, Key: f.Key, Failed: failed})
	if err != nil {
		return nil, usagef("TLS: %s; check --ca, --cert and --key", reason(err))
	}
	return config, nil
}

// mismatch returns the reason of a failed TLS handshake; nothing for another error. gRPC
// transmits only the text of some errors.
func mismatch(err error, a address) string {
	said := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case is[x509.UnknownAuthorityError](err), said("certificate signed by unknown authority"):
		return "nobody that is trusted has signed its certificate; name the authority with --ca"
	case is[x509.HostnameError](err), said("certificate is valid for"), said("certificate is not valid for any names"):
		return "its certificate is for another host; use a name in --addr that the certificate has"
	case is[x509.CertificateInvalidError](err), said("certificate has expired"):
		return "its certificate has expired, or is not for this use; have the node use another"
	case is[tls.RecordHeaderError](err), said("first record does not look like a TLS handshake"):
		return "it does not speak TLS there; use " + a.transport + ":// if that is right"
	case is[tls.AlertError](err), said("remote error: tls: "):
		return "it refused the TLS handshake; it may want a client certificate, see --cert and --key"
	}
	return ""
}
