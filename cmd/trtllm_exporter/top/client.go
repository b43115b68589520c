package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// maxResponse limits the response of an exporter, which has about 500 bytes per replica, and maxObjects its
// replicas, which take more memory than text. Whoever answers may never end.
const maxResponse, maxObjects = 16 << 20, 1 << 17

// Client queries one exporter. It is safe for concurrent use if its HTTP client is.
type Client struct {
	HTTP *http.Client
	// URL is the base of the exporter's paths, without a trailing slash.
	URL string
	// Hide hides in an answer what was sent with the request. It is nil if nothing secret was.
	Hide func(answer []byte) []byte
}

// Fleet returns the fleet, decoded and as the JSON that the exporter sent.
func (c *Client) Fleet(ctx context.Context) (fleet *web.Fleet, raw []byte, err error) {
	fleet = &web.Fleet{}
	raw, err = c.get(ctx, "/?format=json", fleet)
	if err == nil && fleet.Summary.Sentence == "" {
		err = fmt.Errorf("%s is not a trtllm_exporter, or one without %s/?format=json; for a server itself "+
			"use --target", c.URL, c.URL)
	}
	for i := range fleet.Replicas {
		c.resolve(&fleet.Replicas[i])
	}
	return fleet, raw, err
}

// Detail returns the details of the replica named "pool/replica".
func (c *Client) Detail(ctx context.Context, key string) (*web.Detail, error) {
	detail := &web.Detail{}
	_, err := c.get(ctx, "/replica?format=json&target="+url.QueryEscape(key), detail)
	c.resolve(&detail.Replica)
	return detail, err
}

// resolve makes the relative URL of the exporter's own runbook absolute.
func (c *Client) resolve(r *web.Replica) {
	if strings.HasPrefix(r.Runbook, "runbook#") {
		r.Runbook = c.URL + "/" + r.Runbook
	}
}

func (c *Client) get(ctx context.Context, path string, into any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL: %w", c.URL, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.HTTP.Do(request)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err
		}
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusSwitchingProtocols { // Its body is the connection, which no deadline ends.
		return nil, fmt.Errorf("%s answers %s", c.URL, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	case len(body) > maxResponse || bytes.Count(body, []byte("{")) > maxObjects:
		return nil, fmt.Errorf("%s answers more than any exporter does; check the address", c.URL)
	}
	if c.Hide != nil {
		body = c.Hide(body) // Before it is cut.
	}
	if response.StatusCode != http.StatusOK {
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		return nil, fmt.Errorf("%s answers %s: %.200s", c.URL, response.Status, line)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return nil, fmt.Errorf("%s is not a trtllm_exporter: it does not answer in JSON; for a server itself "+
			"use --target", c.URL)
	}
	return body, nil
}
