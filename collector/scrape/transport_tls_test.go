package scrape_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	promconfig "github.com/prometheus/common/config"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// authority signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "authority of the test"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{
		cert: cert,
		key:  key,
		pem:  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	}
}

// issue signs a certificate; change may spoil it.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "leaf"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
}

func (a *authority) server(t *testing.T, change func(*x509.Certificate)) *tls.Config {
	t.Helper()
	cert, key := a.issue(t, change)
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

func (a *authority) trust(c *scrape.Config) { c.TLS.CA = a.pem }

func TestTLSFaultClasses(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t), newAuthority(t)
	good := ours.server(t, nil)
	expired := ours.server(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	early := ours.server(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })
	named := ours.server(t, func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{"triton.example.com"}
	})
	old := good.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	mutual := good.Clone()
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, ours.pool()
	mutual12 := mutual.Clone()
	mutual12.MaxVersion = tls.VersionTLS12
	cert, key := theirs.issue(t, nil)
	strange := func(c *scrape.Config) { c.TLS.Cert, c.TLS.Key = cert, promconfig.Secret(key) }
	none := func(*scrape.Config) {}
	cases := []struct {
		name   string
		server *tls.Config
		change func(*scrape.Config)
		class  string
		text   string
	}{
		{"T12 expired", expired, none, scrape.ClassExpired, "renew the certificate"},
		{"T12 not valid yet", early, none, scrape.ClassExpired, "or set the clocks"},
		{"T13 wrong name", named, none, scrape.ClassName, "set tls_config.server_name"},
		{"T14 unknown authority", theirs.server(t, nil), none, scrape.ClassAuthority, "set tls_config.ca_file"},
		{"T15 TLS 1.0 only", old, none, scrape.ClassVersion, "the server has no TLS 1.2 or later"},
		{"T16 no TLS on the port", nil, none, scrape.ClassNotTLS, "set scheme: http"},
		{
			"T17 client certificate missing, TLS 1.3", mutual, none, scrape.ClassClientCert,
			"set tls_config.cert_file and key_file",
		},
		{
			"T17 client certificate missing, TLS 1.2", mutual12, none, scrape.ClassClientCert,
			"set tls_config.cert_file and key_file",
		},
		{
			"T17 client certificate of another authority, TLS 1.3", mutual, strange, scrape.ClassClientCert,
			"that the server trusts",
		},
		{
			"T17 client certificate of another authority, TLS 1.2", mutual12, strange, scrape.ClassClientCert,
			"that the server trusts",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, c.server, func(p *peer) {
				if p.request() == nil {
					p.say(answer("400 Bad Request", "", ""))
					return
				}
				p.say(answer("200 OK", "", page))
			})
			url := strings.Replace(server.url, "http:", "https:", 1)
			_, err := scrapeWithin(t, newClient(t, ours.trust, c.change), url, ample)
			requireFailure(t, err, scrape.ReasonTLS, c.class, c.text)
		})
	}
}

func TestRotatedAuthorityIsReloaded(t *testing.T) {
	t.Parallel()
	first, second := newAuthority(t), newAuthority(t)
	var current atomic.Pointer[tls.Config]
	current.Store(first.server(t, nil))
	server := serve(t, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return current.Load(), nil
	}}, replies(answer("200 OK", "", page)))

	file := filepath.Join(t.TempDir(), "ca.pem")
	write(t, file, first.pem)
	client := newClient(t, func(c *scrape.Config) { c.TLS.CAFile = file })
	_, err := scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)

	current.Store(second.server(t, nil)) // T18.
	write(t, file, second.pem)
	_, err = scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)

	write(t, file, first.pem)
	_, err = scrapeWithin(t, client, server.url, ample)
	requireFailure(t, err, scrape.ReasonTLS, scrape.ClassAuthority, "set tls_config.ca_file")

	write(t, file, "no certificate")
	_, err = scrapeWithin(t, client, server.url, ample)
	requireFailure(t, err, scrape.ReasonTLS, scrape.ClassHandshake, "replace the file named in tls_config")

	require.NoError(t, os.Remove(file))
	_, err = scrapeWithin(t, client, server.url, ample)
	requireFailure(t, err, scrape.ReasonResource, "", "make the configured file readable")

	write(t, file, second.pem)
	_, err = scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)
}

func TestRotatedClientCertificateIsReloaded(t *testing.T) {
	t.Parallel()
	root := newAuthority(t)
	config := root.server(t, nil)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, root.pool()
	server := serve(t, config, func(p *peer) {
		for p.request() != nil {
			leaf := p.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
			p.say(answer("200 OK", "", "serial "+leaf.SerialNumber.String()+"\n"))
		}
	})
	dir := t.TempDir()
	issue := func(serial int64) {
		cert, key := root.issue(t, func(c *x509.Certificate) { c.SerialNumber = big.NewInt(serial) })
		write(t, filepath.Join(dir, "cert.pem"), cert)
		write(t, filepath.Join(dir, "key.pem"), key)
	}
	issue(7)
	client := newClient(t, root.trust, func(c *scrape.Config) {
		c.TLS.CertFile, c.TLS.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	})
	got, err := scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)
	require.Equal(t, "serial 7\n", string(got.Body))
	issue(8)
	got, err = scrapeWithin(t, client, server.url, ample)
	require.NoError(t, err)
	require.Equal(t, "serial 8\n", string(got.Body))
}

func TestUnusableCertificateFilesAreRefused(t *testing.T) {
	t.Parallel()
	cfg := scrape.DefaultConfig
	cfg.TLS.CAFile = filepath.Join(t.TempDir(), "missing.pem")
	_, err := scrape.New(cfg, quiet())
	require.ErrorContains(t, err, "tls_config: unable to read CA cert")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
