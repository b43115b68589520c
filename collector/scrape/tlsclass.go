package scrape

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
)

// classifyCertificate knows the failures of a handshake that have types.
func classifyCertificate(_ context.Context, _ stage, err error) *Error {
	var (
		invalid   x509.CertificateInvalidError
		name      x509.HostnameError
		authority x509.UnknownAuthorityError
		roots     x509.SystemRootsError
		record    tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return advise(ReasonTLS, ClassExpired, err, "renew the certificate of the server, or set the clocks")
	case errors.As(err, &name):
		return advise(ReasonTLS, ClassName, err, "set tls_config.server_name to a name of the certificate")
	case errors.As(err, &authority), errors.As(err, &roots), errors.As(err, &invalid):
		return advise(ReasonTLS, ClassAuthority, err, "set tls_config.ca_file to the authority of the server")
	case errors.As(err, &record):
		return advise(ReasonTLS, ClassNotTLS, err, "the port does not speak TLS; set scheme: http")
	case errors.As(err, &verify):
		return advise(ReasonTLS, ClassHandshake, err, "check the certificate of the server")
	}
	return nil
}

// classifyAlert knows the other failures of a handshake by the texts of
// crypto/tls/alert.go, as alerts have no exported type.
func classifyAlert(ctx context.Context, _ stage, err error) *Error {
	text := err.Error()
	if strings.Contains(text, "unable to use specified") {
		return advise(ReasonTLS, ClassHandshake, err, "replace the file that tls_config names by a valid one")
	}
	_, alert, found := strings.Cut(text, "tls: ")
	if !found {
		return nil
	}
	if strings.Contains(alert, "protocol version") {
		return advise(ReasonTLS, ClassVersion, err, "the server has no TLS 1.2 or later; update it")
	}
	if strings.Contains(text, "remote error") && (certificateAsked(ctx) || isCertificateAlert(alert)) {
		return advise(ReasonTLS, ClassClientCert, err, "set tls_config.cert_file and key_file to a certificate that the server trusts")
	}
	return advise(ReasonTLS, ClassHandshake, err, "check tls_config against the server")
}

// certificateAsked is true when the server asked for a client certificate in
// the handshake of this request.
func certificateAsked(ctx context.Context) bool {
	scope := scopeOf(ctx)
	return scope != nil && scope.certificateAsked.Load()
}

func isCertificateAlert(alert string) bool {
	return strings.Contains(alert, "certificate") || strings.HasPrefix(alert, "access denied")
}
