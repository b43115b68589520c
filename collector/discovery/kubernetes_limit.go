package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A list of an API server may take one in listShare of the memory limit, because its objects take many
// times their size, but at least minList and at most maxList bytes.
const listShare, minList, maxList = 16, 4 << 20, 256 << 20

// listPause is how long a list is not requested after it or its changes were too large. For one that is
// streamed, the client itself makes no pause.
const listPause = 10 * time.Second

// limitLists returns a transport that limits what the lists of a source in Kubernetes take. Its client keeps all
// objects of a list and of the changes to it, however many an API server sends. Changes that are larger than a
// list may be lead to a new one, in place of what the client has. It says why a list fails, except one that is
// streamed: then refused is called.
func limitLists(next http.RoundTripper, refused func(error)) http.RoundTripper {
	return &listLimiter{
		RoundTripper: next,
		limit:        min(max(debug.SetMemoryLimit(-1)/listShare, minList), maxList),
		refused:      refused,
	}
}

// listLimiter limits the lists that a client requests. It is safe for concurrent use.
type listLimiter struct {
	http.RoundTripper

	limit   int64
	refused func(error)
	// lists holds what is known of each list, by path.
	lists sync.Map
}

// list is what is known of a list.
type list struct {
	// taken is the size of its parts so far, changed that of the changes to it, notBefore when it may be
	// requested again.
	taken     atomic.Int64
	changed   atomic.Int64
	notBefore atomic.Pointer[time.Time]
}

// RoundTrip implements http.RoundTripper.
func (l *listLimiter) RoundTrip(r *http.Request) (*http.Response, error) {
	found, _ := l.lists.LoadOrStore(r.URL.Path, new(list))
	of := found.(*list) // The map holds nothing else.
	query := r.URL.Query()
	watches, begins := query.Get("watch") != "", query.Get("sendInitialEvents") == "true"
	if watches && !begins && of.changed.Load() > l.limit {
		return expired(r), nil
	}
	if err := of.wait(r.Context()); err != nil {
		return nil, err
	}
	resp, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		_ = resp.Body.Close() // It is the connection, which the end of a request does not close.
		return nil, errors.New("the server switches to another protocol")
	}
	if query.Get("continue") == "" && (begins || !watches) {
		of.taken.Store(0)
		of.changed.Store(0)
	}
	resp.Body = &listBody{
		ReadCloser: resp.Body,
		limiter:    l,
		list:       of,
		watches:    watches,
		complete:   watches && !begins && resp.StatusCode == http.StatusOK,
	}
	return resp, nil
}

// expired is what an API server answers that does not know any more what has changed: the client lists again.
func expired(r *http.Request) *http.Response {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`
	return &http.Response{
		StatusCode: http.StatusGone,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(status)),
		Request:    r,
	}
}

// wait waits until the list may be requested.
func (l *list) wait(ctx context.Context) error {
	until := l.notBefore.Load()
	if until == nil {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(*until)):
		return nil
	}
}

// pause keeps the list from being requested for a while.
func (l *list) pause() { l.notBefore.Store(new(time.Now().Add(listPause))) }

// listBody is a part of a list. One that watches goes on with changes.
type listBody struct {
	io.ReadCloser

	limiter *listLimiter
	list    *list
	watches bool
	// complete is true once all objects of the list came, and only changes follow; last is what came last before.
	complete bool
	last     []byte
}

func (b *listBody) Read(into []byte) (int, error) {
	switch { // An error comes alone, because a decoder forgets one that comes with the end of a value.
	case b.complete && b.list.changed.Load() > b.limiter.limit:
		b.list.pause()
		return 0, io.EOF
	case !b.complete && b.list.taken.Load() > b.limiter.limit:
		return 0, b.refuse()
	}
	n, err := b.ReadCloser.Read(into)
	if b.complete {
		b.list.changed.Add(int64(n))
		return n, err
	}
	b.list.taken.Add(int64(n))
	if b.watches {
		b.lookForEnd(into[:n])
	}
	return n, err
}

func (b *listBody) refuse() error {
	err := fmt.Errorf("the list has more than %d bytes, which is all that the memory limit allows for; name "+
		"namespaces or selectors, or raise the memory limit", b.limiter.limit)
	b.list.pause()
	if b.watches {
		b.limiter.refused(err)
	}
	return err
}

// endOfList is in the event with which the changes begin.
const endOfList = "k8s.io/initial-events-end"

func (b *listBody) lookForEnd(came []byte) {
	b.last = append(b.last, came...)
	b.complete = bytes.Contains(b.last, []byte(endOfList))
	b.last = bytes.Clone(b.last[max(0, len(b.last)-len(endOfList)):])
}
