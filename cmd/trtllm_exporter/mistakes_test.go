package main

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

// mistake is a mistake with its command, the running servers, and the files that it names.
type mistake struct {
	name, command string
	there         func(t *testing.T, h host)
	files         map[string]string
	// varies matches parts of the output that differ between machines.
	varies string
}

// printedHost replaces the host in the output and has the same length.
const printedHost = "gpu-host-01.lan"

// TestFirstRunMistakes compares the output for each mistake with a file. Read the file
// before you change a message.
func TestFirstRunMistakes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs more addresses on loopback than one")
	}
	all := mistakes()
	require.GreaterOrEqual(t, len(all), 35)
	golden := filepath.Join("testdata", "mistakes.txt")
	table, err := os.ReadFile(golden)
	require.True(t, fixture.Updating() || err == nil, "run the test with -update once")
	var got strings.Builder
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			text := m.printed(t)
			got.WriteString(text)
			_, want, _ := strings.Cut(string(table), "## "+m.name+"\n")
			want, _, _ = strings.Cut(want, "\n## ")
			if !fixture.Updating() {
				want, text = strings.TrimSpace("## "+m.name+"\n"+want)+"\n", strings.TrimSpace(text)+"\n"
				require.Empty(t, string(diff.Diff(golden, []byte(want), "now", []byte(text))))
			}
		})
	}
	if fixture.Updating() {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
	} else if !t.Failed() {
		require.Empty(t, string(diff.Diff(golden, table, "now", []byte(got.String()))), "the table has a mistake that nobody makes any more")
	}
}

// printed returns the output on a terminal of 80 columns.
func (m *mistake) printed(t *testing.T) string {
	t.Helper()
	h := freeHost(t)
	golden, err := os.Getwd()
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "80")
	for name, text := range m.files {
		require.NoError(t, os.WriteFile(name, []byte(strings.ReplaceAll(text, "HOST", string(h))), 0o600))
	}
	if m.there != nil {
		m.there(t, h)
	}
	var stdout, stderr bytes.Buffer
	code := run(strings.Fields(strings.ReplaceAll(m.command, "HOST", string(h)))[1:], &stdout, &stderr)
	t.Chdir(golden)
	text := strings.ReplaceAll(stdout.String()+stderr.String(), string(h), printedHost)
	if m.varies != "" {
		text = regexp.MustCompile(m.varies).ReplaceAllString(text, "...\n")
	}
	require.NotZero(t, code)
	command := strings.ReplaceAll(m.command, "HOST", printedHost)
	return fmt.Sprintf("## %s\n$ %s\n%s[exit code %d]\n\n", m.name, command, text, code)
}

// host is a loopback address with unused ports.
type host string

// freeHost returns a host of constant length.
func freeHost(t *testing.T) host {
	t.Helper()
	for i := range 800 {
		h := host(fmt.Sprintf("127.177.%d.%d", 100+(os.Getpid()+i)%100, 100+i/8))
		claim, err := net.ListenPacket("udp", string(h)+":9802") // Another process may try it too.
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = claim.Close() })
		if h.free() {
			return h
		}
	}
	require.Fail(t, "no address of loopback is free")
	return ""
}

func (h host) free() bool {
	for _, port := range []string{"8000", "8001", "8002", "8003", "8004", "8443", "9802"} {
		l, err := net.Listen("tcp", string(h)+":"+port)
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	return true
}

func simulated(spec simulate.Spec) func(t *testing.T, h host) {
	return func(t *testing.T, h host) {
		t.Helper()
		spec.Host, spec.APIPort = string(h), 8000
		if spec.Kind == simulate.KindTriton {
			spec.MetricsPort = 8002
			h.serve(t, 8001, grpcOnly)
		}
		ailing(t, spec)
	}
}

func answers(status int, contentType, body string) func(t *testing.T, h host) {
	return func(t *testing.T, h host) {
		t.Helper()
		h.serve(t, 8002, func(s *http.Server) {
			s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", contentType)
				w.Header().Set("Location", "https://login.example.com/")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			})
		})
	}
}

// grpcOnly restricts a server to HTTP/2 without TLS.
func grpcOnly(s *http.Server) {
	s.Protocols = new(http.Protocols)
	s.Protocols.SetUnencryptedHTTP2(true)
}

// serve starts an HTTP server, with TLS if there is a configuration for it.
func (h host) serve(t *testing.T, port int, change func(*http.Server)) {
	t.Helper()
	s := &http.Server{
		ReadHeaderTimeout: waitsAtMost,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "# TYPE nv_inference_request_success counter\n"+
				"nv_inference_request_success{model=\"m\",version=\"1\"} 1\n")
		}),
	}
	change(s)
	h.listen(t, port, func(l net.Listener) {
		if s.TLSConfig != nil {
			l = tls.NewListener(l, s.TLSConfig)
		}
		_ = s.Serve(l)
	}, s.Close)
}

// listen runs a function with a listener until the test ends.
func (h host) listen(t *testing.T, port int, serve func(net.Listener), stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", h, port))
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		serve(l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		_ = stop()
		<-done
	})
}

// speaker starts a server of another protocol that only sends a greeting.
func speaker(greeting string) func(t *testing.T, h host) {
	return func(t *testing.T, h host) {
		t.Helper()
		h.listen(t, 8002, func(l net.Listener) {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					_, _ = io.WriteString(conn, greeting)
					_, _ = io.Copy(io.Discard, conn)
					_ = conn.Close()
				}()
			}
		}, func() error { return nil })
	}
}

// secured starts a server with TLS at port 8443; ca.pem is its CA.
func secured(name string, ends time.Duration, clients tls.ClientAuthType) func(t *testing.T, h host) {
	return func(t *testing.T, h host) {
		t.Helper()
		cert := certificate(t, ".", ends, cmp.Or(name, string(h)))
		h.serve(t, 8443, func(s *http.Server) {
			s.TLSConfig = &tls.Config{
				Certificates: []tls.Certificate{cert},
				ClientAuth:   clients,
				MinVersion:   tls.VersionTLS12,
			}
		})
	}
}

// certificate returns a self-signed certificate for servers and clients, and writes it to ca.pem
// and key.pem in a folder. With a duration of 0 it has expired.
func certificate(t *testing.T, dir string, ends time.Duration, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ended := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: ended.Add(-time.Hour), NotAfter: ended,
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth,
		},
	}
	if ends > 0 {
		template.NotAfter = time.Now().Add(ends)
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{
		"ca.pem":  {Type: "CERTIFICATE", Bytes: der},
		"key.pem": {Type: "PRIVATE KEY", Bytes: secret},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}
