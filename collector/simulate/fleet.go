package simulate

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// FleetSpec lists the pools of a fleet.
type FleetSpec struct{ Pools []PoolSpec }

// PoolSpec lists the replicas of a pool.
type PoolSpec struct {
	Name     string
	Replicas []Spec
}

// Fleet is a number of running replicas. Its methods are safe for concurrent use.
type Fleet struct {
	pools  []Pool
	all    []*Replica
	cancel context.CancelFunc
	pacing sync.WaitGroup
}

// Pool has the running replicas of a PoolSpec.
type Pool struct {
	Name     string
	Replicas []*Replica
}

// paceEvery is short, so that tokens are streamed smoothly.
const paceEvery = 20 * time.Millisecond

// StartFleet opens the ports of all replicas and advances those with a Speed by the wall
// clock until ctx ends or Close is called. Close must be called in any case.
func StartFleet(ctx context.Context, spec FleetSpec) (*Fleet, error) {
	f := &Fleet{cancel: func() {}}
	for _, p := range spec.Pools {
		pool := Pool{Name: p.Name}
		for _, s := range p.Replicas {
			r, err := NewReplica(s)
			if err == nil {
				pool.Replicas, f.all = append(pool.Replicas, r), append(f.all, r)
				err = r.Listen(ctx)
			}
			if err != nil {
				f.Close()
				return nil, fmt.Errorf("pool %s: %w", p.Name, err)
			}
		}
		f.pools = append(f.pools, pool)
	}
	ctx, f.cancel = context.WithCancel(ctx)
	f.pacing.Go(func() { f.pace(ctx) })
	return f, nil
}

func (f *Fleet) pace(ctx context.Context) {
	ticker := time.NewTicker(paceEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, r := range f.all {
			r.pace() //nolint:contextcheck // A port opens again at its own time, not within a call.
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// Close closes all ports and waits for everything the fleet started.
func (f *Fleet) Close() {
	f.cancel()
	f.pacing.Wait()
	for _, r := range f.all {
		r.Close()
	}
}

// Pools returns the pools in the order of the spec; the slice must not be changed.
func (f *Fleet) Pools() []Pool { return f.pools }

// Replica returns a replica by its pool and name; nil if there is none.
func (f *Fleet) Replica(pool, name string) *Replica {
	for _, p := range f.pools {
		for _, r := range p.Replicas {
			if p.Name == pool && r.Name() == name {
				return r
			}
		}
	}
	return nil
}
