package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

// healthyPath is asked for when a URL names no path.
const healthyPath = "/-/healthy"

// healthFlags say whom to ask and how.
type healthFlags struct {
	url      string
	timeout  time.Duration
	insecure bool
}

// declareHealthcheck declares the subcommand that container runtimes call: an
// image of one binary has no curl.
func declareHealthcheck(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("healthcheck", "Ask a running exporter whether it is healthy; exit code 0: yes, 1: no.")
	var flags healthFlags
	cmd.Arg("url", "URL of the exporter; without a path "+healthyPath+" is asked.").
		Default("http://" + defaultAddress).StringVar(&flags.url)
	cmd.Flag("timeout", "Time the answer may take.").Default("3s").DurationVar(&flags.timeout)
	cmd.Flag("insecure", "Accept any certificate, for requests on loopback.").BoolVar(&flags.insecure)
	var target *url.URL
	check := func() (err error) {
		target, err = flags.target()
		return err
	}
	return cmd.FullCommand(), checked(check, func(ctx context.Context) error { return healthcheck(ctx, out.stdout, &flags, target) })
}

// target is the URL to ask. It may have a password, which container runtimes keep
// with what is printed.
func (f *healthFlags) target() (*url.URL, error) {
	u, err := url.Parse(f.url)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, fmt.Errorf("healthcheck: %w; write http://host:port", failed.Err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		// It is not quoted: without a scheme a password is no part that is known.
		return nil, errors.New("healthcheck: the URL has no scheme http or https, or no host; write http://host:port")
	}
	if f.timeout <= 0 {
		return nil, errors.New("healthcheck: --timeout must be longer than 0")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = healthyPath
	}
	return u, nil
}

// healthcheck fails unless the answer is 200 in time. Redirects and proxies are
// not followed: the question is about this one process.
func healthcheck(ctx context.Context, w io.Writer, flags *healthFlags, target *url.URL) error {
	ctx, cancel := context.WithTimeout(ctx, flags.timeout)
	defer cancel()
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: flags.insecure}, //nolint:gosec // the operator asks for it.
	}
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: %s answers %s", target.Redacted(), resp.Status)
	}
	_, err = fmt.Fprintf(w, "%s: OK\n", target.Redacted())
	return err
}
