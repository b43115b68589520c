//go:build !nokubernetes

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// An API server that ends each watch is not asked thousands of times a second.
func TestKubernetesClientIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{hosts: make(map[string]*rate.Limiter)}
		began := time.Now()
		for range kubernetesBurst {
			p.Increment(t.Context(), "200", "GET", "a")
		}
		require.Zero(t, time.Since(began), "sources start at once")
		for range 10 * kubernetesRate {
			p.Increment(t.Context(), "410", "GET", "a")
		}
		require.InDelta(t, 10, time.Since(began).Seconds(), 0.1)
		before := time.Now()
		p.Increment(t.Context(), "200", "GET", "b")
		require.Zero(t, time.Since(before), "another API server")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.Increment(ctx, "200", "GET", "a")
		require.Zero(t, time.Since(before))
	})
}
