package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	promdiscovery "github.com/prometheus/prometheus/discovery"

	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// clientOf returns the client that Prometheus made for a source that asks a server, nil if it is not found. It
// is made of the configuration alone, and what holds it is not exported.
func clientOf(d promdiscovery.Discoverer) *http.Client {
	held := reflect.Indirect(reflect.ValueOf(d)).FieldByName("client")
	if !held.IsValid() {
		return nil
	}
	held = reflect.NewAt(held.Type(), held.Addr().UnsafePointer()).Elem()
	if client, asks := reflect.TypeAssert[*http.Client](held); asks {
		return client
	}
	core := held.Elem().MethodByName("CoreV1").Call(nil)[0].Elem()
	rest := core.MethodByName("RESTClient").Call(nil)[0].Elem().Elem()
	client, _ := reflect.TypeAssert[*http.Client](rest.FieldByName("Client"))
	return client
}

// maxError is how much is read of an answer that is an error. Clients show less of it.
const maxError = 64 << 10

// careful is the transport of a source. It follows redirects within a host: another one may be a metadata service, and
// clients send it the headers of the configuration. It limits answers, and hides secrets in those that are errors
// before a client cuts them: the start of a secret cannot be told from another text.
type careful struct {
	http.RoundTripper

	secrets *secret.Store
	// limit limits each answer, in bytes.
	limit int64
}

// strays returns why a request must not be sent that follows a redirect, nil for others: it carries what was meant for
// the server that the configuration names, and nobody else may have it, nor read it on the way.
func strays(r *http.Request) error {
	if r.Response == nil {
		return nil
	}
	from := r.Response.Request
	if !strings.EqualFold(r.URL.Hostname(), from.URL.Hostname()) {
		return errors.New("it redirects to another host, which nobody named; if that host is right, name it instead")
	}
	if from.URL.Scheme == "https" && r.URL.Scheme != "https" {
		return fmt.Errorf("it redirects from https to %s, which encrypts nothing; if that is right, name it", r.URL.Scheme)
	}
	return strays(from)
}

// RoundTrip implements http.RoundTripper.
func (c careful) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := strays(r); err != nil {
		return nil, err
	}
	resp, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = limitedBody{http.MaxBytesReader(nil, resp.Body, c.limit)}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, nil
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // The status is the error; any part of the body will do.
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(c.secrets.HideInAnswer(text)))
	return resp, nil
}
