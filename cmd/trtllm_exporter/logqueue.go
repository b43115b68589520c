package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxQueued is how many lines, and maxQueuedBytes how many bytes, wait to be written.
	maxQueued, maxQueuedBytes = 4096, 1 << 20
	// flushTimeout is how long the end of the process waits for the rest.
	flushTimeout = time.Second
)

// logQueue writes lines behind the back of those who log: whoever reads the log may stop, and a full pipe
// must not stop scrapes. Lines for which there is no room, here or on the disk, are dropped and counted. It is safe
// for concurrent use.
type logQueue struct {
	to    io.Writer
	lines chan []byte
	// bytes is the size of the lines that wait; dropped counts all lines that were dropped.
	bytes   atomic.Int64
	dropped atomic.Uint64
	done    chan struct{}

	mu     sync.Mutex
	closed bool
}

// newLogQueue returns a queue whose end, close, the caller has to call.
func newLogQueue(to io.Writer) *logQueue {
	q := &logQueue{to: to, lines: make(chan []byte, maxQueued), done: make(chan struct{})}
	go q.run()
	return q
}

func (q *logQueue) run() {
	defer close(q.done)
	told := uint64(0)
	for line := range q.lines {
		if dropped := q.dropped.Load(); dropped > told {
			_, err := fmt.Fprintf(q.to, "%s: %d lines of the log were dropped, because they could not be written in time\n",
				program, dropped-told)
			if err == nil {
				told = dropped
			}
		}
		if _, err := q.to.Write(line); err != nil {
			q.dropped.Add(1) // The disk may be full.
		}
		q.bytes.Add(-int64(len(line)))
	}
}

// Write queues a line. It never waits, and never fails.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.bytes.Load()+int64(len(line)) > maxQueuedBytes {
		q.dropped.Add(1)
		return len(line), nil
	}
	select {
	case q.lines <- append([]byte(nil), line...):
		q.bytes.Add(int64(len(line)))
	default:
		q.dropped.Add(1)
	}
	return len(line), nil
}

// close writes what is queued, unless that takes too long.
func (q *logQueue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.lines)
	}
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-time.After(flushTimeout):
	}
}
