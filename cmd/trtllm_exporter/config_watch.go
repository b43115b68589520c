package main

import (
	"context"
	"crypto/sha256"
	"os"
	"syscall"
	"time"
)

// watch requests a reload whenever the content of a file is no longer that of before, until
// ctx ends. It compares content: a ConfigMap is mounted through symbolic links that are
// exchanged, and modification times say little. A file that cannot be read is a change only
// the second time in a row, and its reload fails.
func watch(ctx context.Context, file string, before hash, interval time.Duration, reload chan<- os.Signal) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := before
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := hashOf(file)
		unreadable := now == (hash{}) && now != last
		if last = now; now == before || unreadable {
			continue
		}
		before = now
		select {
		case reload <- syscall.SIGHUP:
		default: // A reload is pending.
		}
	}
}

// hash is the hash of a file's content, zero if it cannot be read.
type hash [sha256.Size]byte

func hashOf(file string) hash {
	text, err := os.ReadFile(file)
	if err != nil {
		return hash{}
	}
	return sha256.Sum256(text)
}
