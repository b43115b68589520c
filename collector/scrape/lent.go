package scrape

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// lent is the body of an answer that may take as long as it likes, while nobody
// else needs its connection.
type lent struct {
	io.ReadCloser

	client *Client
	turn   *turn
	cancel context.CancelCauseFunc
}

// begin sends a request and waits for the head of its answer, whose connection is
// lent until the body is closed.
func (c *Client) begin(ctx context.Context, method, rawURL string, body []byte) (*http.Response, *Error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		u = &url.URL{} // It is refused below.
	}
	s := &scope{Context: ctx}
	t, cancel := c.resources.files.inTurn(s, hostPort(u), true)
	out := &lent{client: c, turn: t, cancel: cancel}
	resp, failure := c.reach(s, method, rawURL, body) //nolint:contextcheck // It holds ctx.
	if failure != nil {
		return nil, out.end(failure)
	}
	out.ReadCloser, resp.Body = resp.Body, out
	return resp, nil
}

// reach sends it.
func (c *Client) reach(s *scope, method, rawURL string, body []byte) (*http.Response, *Error) {
	if isGRPC(rawURL) {
		resp, failure := c.callers.open(s, method, rawURL, body, c.most(int64(c.limits.Body)))
		if failure != nil {
			return nil, blank(s.sent, failure)
		}
		// What the server repeats of it is not shown.
		resp.Request = &http.Request{Header: s.sent}
		return resp, nil
	}
	req, failure := c.requests.question(s, method, rawURL, body)
	if failure != nil {
		return nil, failure
	}
	req.Header.Set("Accept", acceptStream)
	return c.send(c.brief, req.WithContext(s))
}

// end gives the connection up. What the request failed with is that it was taken
// back, or that there was none, where that is so.
func (l *lent) end(failure *Error) *Error {
	if failure != nil && l.turn.waits() {
		failure = short("all %d connections that targets may have are in use", l.turn.files.bound)
	}
	failure, _ = l.turn.end(failure)
	l.cancel(nil)
	l.client.yield()
	return failure
}

// Read implements io.Reader.
func (l *lent) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	if err != nil && !errors.Is(err, io.EOF) && l.turn.isCut() {
		err = takenBack(l.turn.files.bound)
	}
	return n, err
}

// Close implements io.Closer.
func (l *lent) Close() error {
	err := l.ReadCloser.Close()
	_ = l.end(nil)
	return err
}
