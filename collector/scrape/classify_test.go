package scrape_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

func TestErrorReason(t *testing.T) {
	failure := &scrape.Error{Reason: scrape.ReasonParse, Err: errors.New("line 3")}
	require.Equal(t, scrape.ReasonParse, scrape.ReasonOf(fmt.Errorf("scrape: %w", failure)))
	require.Equal(t, scrape.ReasonProtocol, scrape.ReasonOf(errors.New("strange")))
	require.EqualError(t, failure, "parse: line 3")
	require.EqualError(t, &scrape.Error{Reason: scrape.ReasonPanic}, "panic")
	require.EqualError(
		t, &scrape.Error{Reason: scrape.ReasonTLS, Class: "name", Err: errors.New("a\r\nb")}, "tls (name): a  b",
	)
}

func TestSystemErrorReasons(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	cases := []struct {
		err    error
		reason scrape.Reason
		inBody bool
	}{
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), scrape.ReasonResource, false},
		{dial(os.NewSyscallError("socket", syscall.ENFILE)), scrape.ReasonResource, false},
		{dial(os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)), scrape.ReasonResource, false},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), scrape.ReasonConnect, false},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), scrape.ReasonConnect, false},
		{dial(os.NewSyscallError("connect", syscall.EPERM)), scrape.ReasonConnect, false},
		{dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), scrape.ReasonTimeout, false},
		{dial(errors.New("strange")), scrape.ReasonConnect, false},
		{dial(&net.DNSError{Err: "no such host", Name: "x"}), scrape.ReasonDNS, false},
		{dial(&net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true}), scrape.ReasonTimeout, false},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, scrape.ReasonReset, true},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, scrape.ReasonReset, false},
		{&net.OpError{Op: "read", Err: errors.New("strange")}, scrape.ReasonReset, true},
		{errors.New("http: server closed idle connection"), scrape.ReasonReset, false},
		{context.Canceled, scrape.ReasonCanceled, false},
		{context.DeadlineExceeded, scrape.ReasonTimeout, true},
		{&os.PathError{Op: "open", Path: "/run/token", Err: syscall.EACCES}, scrape.ReasonResource, false},
		{errors.New("remote error: tls: internal error"), scrape.ReasonTLS, false},
		{errors.New("strange"), scrape.ReasonProtocol, true},
	}
	for _, c := range cases {
		failure := scrape.Classify(t.Context(), c.inBody, c.err)
		require.Equal(t, c.reason, failure.Reason, "%v", c.err)
		require.ErrorIs(t, failure, c.err)
	}
}

func TestContextErrorTakesPrecedence(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	given, giveUp := context.WithCancel(t.Context())
	giveUp()
	for _, err := range []error{syscall.ECONNRESET, syscall.EMFILE, &net.DNSError{}, errors.New("strange")} {
		require.Equal(t, scrape.ReasonTimeout, scrape.Classify(late, true, err).Reason)
		require.Equal(t, scrape.ReasonCanceled, scrape.Classify(given, false, err).Reason)
	}
}

func FuzzErrorClass(f *testing.F) {
	f.Add("net/http: server response headers exceeded 65536 bytes; aborted", false)
	f.Add("remote error: tls: certificate required", false)
	f.Add("malformed HTTP response \"\\x15\\x03\"", true)
	f.Add("http2: server sent GOAWAY and closed the connection; LastStreamID=1", false)
	f.Add("readLoopPeekFailLocked: %!w(<nil>)", false)
	f.Add("a\nb\r", true)
	f.Add("", false)
	reasons := scrape.Reasons()
	f.Fuzz(func(t *testing.T, text string, inBody bool) {
		for _, err := range []error{
			errors.New(text),
			&net.OpError{Op: text, Err: errors.New(text)},
			fmt.Errorf("wrapped: %w", &net.DNSError{Err: text, Name: text}),
		} {
			failure := scrape.Classify(t.Context(), inBody, err)
			require.Contains(t, reasons, failure.Reason)
			require.False(t, strings.ContainsAny(failure.Error(), "\r\n"), "%q is one line", failure.Error())
		}
	})
}

func FuzzContentType(f *testing.F) {
	for _, text := range []string{
		"", ";", "text/html", "TEXT/HTML;charset=x", "application/json", "application/problem+json",
		"text/plain; version=0.0.4", "application/openmetrics-text",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		failure := scrape.CheckContentType(text)
		if failure == nil {
			require.False(t, strings.HasPrefix(strings.ToLower(text), "text/html;"), "a web page of type %q was accepted", text)
			return
		}
		require.Equal(t, scrape.ReasonContentType, failure.Reason)
		require.Less(t, len(failure.Error()), 700)
		require.False(t, strings.ContainsAny(failure.Error(), "\r\n"), "%q is one line", failure.Error())
	})
}
