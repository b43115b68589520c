package main

import (
	"context"
	"crypto/sha256"
	"os"
	"syscall"
	"time"
)

// watch asks for a reload when the content of a file is another than before,
// until ctx ends. It looks at the content: a ConfigMap is mounted through links
// that are exchanged, and its times say little.
func watch(ctx context.Context, file string, every time.Duration, reload chan<- os.Signal) {
	before := contentOf(file)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := contentOf(file)
		if now == before || now == [sha256.Size]byte{} {
			continue // A file that cannot be read for a moment is no change.
		}
		before = now
		select {
		case reload <- syscall.SIGHUP:
		default: // One is waiting already.
		}
	}
}

// contentOf is the hash of a file, zero where it cannot be read.
func contentOf(file string) [sha256.Size]byte {
	text, err := os.ReadFile(file)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(text)
}
