package scrape

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

const (
	// maxLaneAnswer limits the answer of an API that a lane reads, in bytes.
	maxLaneAnswer = 16 << 10
	// minLaneTimeout leaves enough time for net/http after a lane got no answer: a response
	// that is slow but in time (T04) must not fail because of the lane.
	minLaneTimeout = 4 * lane.Timeout
)

// PageLane returns a lane for a page. It returns nil if the timeout is too short, or the pool
// or the address needs what lanes do not support: host names, TLS, proxies, credentials. The
// caller closes it.
func (c *Client) PageLane(rawURL string, timeout time.Duration) *lane.Lane {
	req, failure := newPageRequest(context.Background(), rawURL)
	if failure != nil || timeout < minLaneTimeout {
		return nil
	}
	maxBody := freeBody
	if limit := int(c.config.Limits.Body); limit > 0 {
		maxBody = min(maxBody, limit)
	}
	return c.lane(req, true, maxBody)
}

// QuestionLane returns a lane for a small GET request to an API, or nil like PageLane. With
// keepAlive the connection stays open between requests, which some servers must not have: see
// [Client.DoBrief]. The caller closes it.
func (c *Client) QuestionLane(rawURL string, keepAlive bool) *lane.Lane {
	req, failure := newRequest(context.Background(), http.MethodGet, rawURL, acceptJSON, nil)
	if failure != nil {
		return nil
	}
	return c.lane(req, keepAlive, maxLaneAnswer)
}

// lane builds a lane that sends the same bytes for a request as net/http would.
func (c *Client) lane(req *http.Request, keepAlive bool, maxBody int) *lane.Lane {
	address, ok := c.laneAddress(req)
	if !ok {
		return nil
	}
	var text bytes.Buffer
	if req.Write(&text) != nil {
		return nil
	}
	return lane.New(lane.Options{
		Address: address, Request: text.Bytes(), KeepAlive: keepAlive,
		MaxHeader: int(c.config.Limits.Headers), MaxBody: maxBody, Connections: c.resources.connections,
	})
}

// laneAddress returns where a lane would send a request; ok is false if none can.
func (c *Client) laneAddress(req *http.Request) (address netip.AddrPort, ok bool) {
	if !c.plain || req.URL.Scheme != "http" || req.URL.User != nil {
		return address, false
	}
	address, ok = addressOf(req.URL)
	return address, ok && c.guard.check(address.Addr()) == nil
}

func addressOf(u *url.URL) (netip.AddrPort, bool) {
	host := u.Host
	if u.Port() == "" {
		host += ":80"
	}
	address, err := netip.ParseAddrPort(host)
	if err != nil || address.Addr().Zone() != "" || address.Port() == 0 {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(address.Addr().Unmap(), address.Port()), true
}

// lanePage converts the answer of a lane to a page, which shares its memory.
func lanePage(answer lane.Answer, rawURL string, secrets *secret.Store) (Page, error) {
	_, query, _ := strings.Cut(rawURL, "?")
	secrets = secrets.WithQuery(query)
	if failure := checkContentType(answer.ContentType); failure != nil {
		return Page{}, failure.hidden(secrets)
	}
	return Page{Body: answer.Body, ContentType: answer.ContentType, Kept: answer.Kept, secrets: secrets}, nil
}
