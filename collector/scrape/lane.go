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
)

const (
	// maxLaneAnswer limits what a lane reads of the answer of an API.
	maxLaneAnswer = 16 << 10
	// minLaneTimeout leaves enough for net/http when a lane has no answer.
	minLaneTimeout = 4 * lane.Timeout
)

// PageLane returns the lane to a page that is requested with a timeout; nil where the
// pool or the address needs more than a lane supports: names, TLS, proxies, credentials.
// The caller closes it.
func (c *Client) PageLane(rawURL string, timeout time.Duration) *lane.Lane {
	req, failure := newPageRequest(context.Background(), rawURL)
	if failure != nil || timeout < minLaneTimeout {
		return nil
	}
	maxBody := freeBody
	if limit := int(c.config.Limits.Body); limit > 0 {
		maxBody = min(maxBody, limit)
	}
	l := c.lane(req, true, maxBody)
	if l != nil {
		// The connections of first pages are not used again. With their buffers and
		// goroutines they would take 25 KB of each target until they time out.
		c.CloseIdle()
	}
	return l
}

// QuestionLane returns the lane to a small GET request of an API; nil as for PageLane.
// KeepAlive keeps the connection from one request to the next: see [Client.DoBrief] for
// which servers must not have that. The caller closes it.
func (c *Client) QuestionLane(rawURL string, keepAlive bool) *lane.Lane {
	req, failure := newRequest(context.Background(), http.MethodGet, rawURL, acceptJSON, nil)
	if failure != nil {
		return nil
	}
	return c.lane(req, keepAlive, maxLaneAnswer)
}

// lane builds the lane of a request, whose text is what net/http would send.
func (c *Client) lane(req *http.Request, keepAlive bool, maxBody int) *lane.Lane {
	if !c.plain || req.URL.Scheme != "http" || req.URL.User != nil {
		return nil
	}
	address, ok := addressOf(req.URL)
	if !ok || c.guard.check(address.Addr()) != nil {
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

// lanePage returns the page of an answer of a lane, whose memory it shares.
func lanePage(answer lane.Answer, rawURL string) (Page, error) {
	page := Page{Body: answer.Body, ContentType: answer.ContentType}
	_, page.sent.query, _ = strings.Cut(rawURL, "?")
	if failure := checkContentType(page.ContentType); failure != nil {
		return Page{}, failure
	}
	return page, nil
}
