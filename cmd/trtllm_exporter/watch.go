package main

import (
	"context"
	"crypto/sha256"
	"os"
	"syscall"
	"time"
)

// watch asks for a reload when the content of a file is another than before, which is
// of what was read last, until ctx ends. It looks at the content: a ConfigMap is mounted through links
// that are exchanged, and its times say little. A file that cannot be read twice in a row
// is gone, and its reload fails.
func watch(ctx context.Context, file string, before content, every time.Duration, reload chan<- os.Signal) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last := before
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := contentOf(file)
		moment := now == (content{}) && now != last
		if last = now; now == before || moment {
			continue
		}
		before = now
		select {
		case reload <- syscall.SIGHUP:
		default: // One is waiting already.
		}
	}
}

// content is the hash of a file, zero where it cannot be read.
type content [sha256.Size]byte

// contentOf is that of a file at this moment.
func contentOf(file string) content {
	text, err := os.ReadFile(file)
	if err != nil {
		return content{}
	}
	return sha256.Sum256(text)
}
