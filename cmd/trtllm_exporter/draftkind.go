package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/draft"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// draftKind prints a file that declares the kind of the named server.
func (f *doctorFlags) draftKind(ctx context.Context, w io.Writer) error {
	pool, err := f.pool()
	if err != nil {
		return err
	}
	address, err := url.Parse(withScheme(f.urls, pool.Scheme)[0])
	if err != nil || address.Host == "" {
		err = fmt.Errorf("%q is not a URL; write it like localhost:8000 or http://localhost:8000", f.urls[0])
		return exitError{err, exitUsage}
	}
	client, err := scrape.NewResources().Client(pool.HTTP, slog.New(slog.DiscardHandler))
	if err != nil {
		return exitError{err, exitUsage}
	}
	defer client.Close()
	page, path, err := f.draftPage(ctx, client, address)
	if err != nil {
		return exitError{err, exitNoPage}
	}
	server, err := f.draftServer(ctx, client, address, pool.Kinds, page)
	if err != nil {
		return exitError{err, exitFailure}
	}
	if server.Extends == nil && path != engine.None().Path {
		server.Paths.Page = path
	}
	text, err := draft.Kind(page, server)
	if err != nil {
		return exitError{err, exitFailure}
	}
	_, err = io.WriteString(w, text)
	return err
}

// draftPage returns the page at a URL, by default at the usual path.
func (f *doctorFlags) draftPage(
	ctx context.Context, c *scrape.Client, at *url.URL,
) (page []byte, path string, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	whole := *at
	if whole.Path == "" || whole.Path == "/" {
		whole.Path = engine.None().Path
	}
	status, _, page, err := c.Do(ctx, http.MethodGet, whole.String(), nil, 0)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("no page at %s: %w", whole.Redacted(), err)
	case status != http.StatusOK:
		return nil, "", fmt.Errorf("no page at %s: it answers %d; name the URL of the page", whole.Redacted(), status)
	}
	return page, whole.Path, nil
}

// draftServer returns what is known of the server besides its page.
func (f *doctorFlags) draftServer(
	ctx context.Context, c *scrape.Client, at *url.URL, kinds *engine.Kinds, page []byte,
) (server draft.Server, err error) {
	found := kinds.FromPage(page)
	k, known := kinds.Named(string(found.Kind))
	switch {
	case found.Companion != "":
		return server, fmt.Errorf("this is %s, not an LLM server: %s", found.Companion, found.Evidence)
	case known && k.Declared:
		return server, fmt.Errorf("--kinds-file declares it already: %s; try: %s doctor", found.Evidence, program)
	case known:
		return draft.Server{Extends: k}, nil
	}
	base := url.URL{Scheme: at.Scheme, Host: at.Host, User: at.User, Path: f.apiPath}
	if f.apiPort != 0 {
		base.Host = net.JoinHostPort(at.Hostname(), strconv.Itoa(f.apiPort))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*f.timeout)
	defer cancel()
	server.Paths, server.Owner = engine.Probe(ctx, c, base.String())
	return server, nil
}

// checkDraft returns what is wrong with a command line that asks for a draft.
func (f *doctorFlags) checkDraft() error {
	var err error
	if len(f.urls) != 1 {
		err = errors.New("--draft-kind is for one server; give its url or host:port, like: trtllm_exporter doctor " +
			"--draft-kind localhost:8000")
	}
	if f.json {
		err = cmp.Or(err, errors.New("--draft-kind and --json are both given; a draft is YAML"))
	}
	return err
}
