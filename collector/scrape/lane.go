package scrape

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

const (
	// laneAnswer bounds what a lane reads of an answer to a question.
	laneAnswer = 16 << 10
	// laneTimeout is the shortest timeout of pages that are asked for over a lane:
	// enough is left of it when the lane has no answer.
	laneTimeout = 4 * lane.Patience
)

// PageLane returns the lane to a page that is asked for with a timeout; nil where
// the pool or the address needs more than a lane has: names, TLS, proxies,
// credentials. The caller closes it.
func (c *Client) PageLane(rawURL string, timeout time.Duration) *lane.Lane {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	req, failure := c.requests.page(ctx, rawURL)
	if failure != nil || timeout < laneTimeout {
		return nil
	}
	most := freeBody
	if limit := int(c.limits.Body); limit > 0 {
		most = min(most, limit)
	}
	return c.lane(req, true, most)
}

// QuestionLane returns the lane to a small GET question; nil as for PageLane. Keep
// says whether the connection is kept from one question to the next: see
// [Client.Pass] for who must not be kept. The caller closes it.
func (c *Client) QuestionLane(rawURL string, keep bool) *lane.Lane {
	req, failure := c.requests.question(context.Background(), http.MethodGet, rawURL, nil)
	if failure != nil {
		return nil
	}
	return c.lane(req, keep, laneAnswer)
}

// lane builds the lane of a request, whose text is what net/http would send.
func (c *Client) lane(req *http.Request, keep bool, most int) *lane.Lane {
	if !c.plain || req.URL.Scheme != "http" || req.URL.User != nil {
		return nil
	}
	address, ok := literal(req.URL)
	if !ok || c.guard.check(address.Addr()) != nil {
		return nil
	}
	var text bytes.Buffer
	if req.Write(&text) != nil {
		return nil
	}
	return lane.New(lane.Options{
		Address: address, Request: text.Bytes(), Keep: keep,
		MostHead: int(c.limits.Headers), MostBody: most, Connections: c.resources.connections,
	})
}

// literal returns the address of a URL whose host is one.
func literal(u *url.URL) (netip.AddrPort, bool) {
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

// LanePage returns the page that came over a lane, whose body is valid as long as
// the answer's.
func LanePage(answer lane.Answer) (Page, error) {
	page := Page{Body: answer.Body, ContentType: answer.ContentType, Duration: answer.Took, Came: answer.Came}
	if failure := checkContentType(page.ContentType); failure != nil {
		return Page{Duration: answer.Took, Came: answer.Came}, failure
	}
	return page, nil
}
