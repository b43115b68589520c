package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// healthyPath is requested if the URL has no path.
const healthyPath = "/-/healthy"

// declareHealthcheck declares the command for container runtimes, since the image has no shell
// and no curl.
func declareHealthcheck(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("healthcheck", "Ask a running exporter whether it is healthy; exit code 0: yes, 1: no.")
	address := cmd.Arg("url", "Exporter as host:port or URL; without a path "+healthyPath+" is asked.").
		Default("http://" + defaultAddress).String()
	timeout := cmd.Flag("timeout", "Timeout of the request.").Default("3s").Duration()
	insecure := cmd.Flag("insecure", "Accept any certificate, for requests on loopback.").Bool()
	var target *url.URL
	check := func() (err error) {
		if *timeout <= 0 {
			return errors.New("healthcheck: --timeout must be longer than 0")
		}
		target, err = healthURL(*address)
		return err
	}
	return cmd.FullCommand(), checked(check, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, *timeout)
		defer cancel()
		return healthcheck(ctx, out.stdout, target, *insecure)
	})
}

// healthURL parses the URL, or host:port. Errors do not quote it: it may contain a password, and
// container runtimes keep the output.
func healthURL(address string) (*url.URL, error) {
	if _, port, err := net.SplitHostPort(address); err == nil && port != "" && !strings.Contains(address, "@") {
		address = "http://" + address
	}
	u, err := url.Parse(config.ZoneOfURL(address))
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		return nil, fmt.Errorf("healthcheck: %w; write http://host:port", urlErr.Err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("healthcheck: the URL has no scheme http or https, or no host; write http://host:port")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = healthyPath
	}
	return u, nil
}

// healthcheck fails unless the status is 200. It follows no redirects and uses no proxy, which
// would reach another process.
func healthcheck(ctx context.Context, w io.Writer, target *url.URL, insecure bool) error {
	client, err := promconfig.NewClientFromConfig(
		promconfig.HTTPClientConfig{TLSConfig: promconfig.TLSConfig{InsecureSkipVerify: insecure}},
		"healthcheck",
	)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	resp, err := client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // The outer error repeats the URL, whose query may have a secret.
	}
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	public := (&url.URL{Scheme: target.Scheme, Host: target.Host, Path: target.Path}).String()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("healthcheck: %s answers %s", public, resp.Status)
	}
	_, err = fmt.Fprintf(w, "%s: OK\n", public)
	return err
}
