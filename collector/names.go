package collector

import (
	"context"
	"maps"
	"net/url"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/replica"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// contest is a name that several targets of a pool claim, such as the ports of one pod. All of
// them are scraped, and nothing is shown of any until all were read. The target with the strongest
// evidence has the name, the first of those with the same, as long as none has stronger evidence; what is
// no server yields it, and only a second server is refused. A router and a worker, such as two containers of a
// pod, are no two servers of one name: the second one is a replica that is named after its port.
type contest struct {
	// pool is the configured pool whose discovery found the targets.
	pool string
	// holder is the page of the target that has the name, shown what the targets have shown last,
	// by page.
	holder string
	shown  map[string]replica.Evidence
	// tiers holds those of the servers.
	tiers map[string]engine.Tier
	// settled is true once all were read that claimed the name at some time.
	settled bool
}

// contests holds the names that several targets claim, by key.
type contests map[string]*contest

// settle gives the targets that were found for a pool names of their own: a target beside the
// holder of its name is named after its port. It returns the targets to scrape, and the servers
// whose name another server has. An address that was found twice is one target.
func (all contests) settle(pool string, found []*target.Target) (kept, refused []*target.Target) {
	claimants, taken := make(map[string][]*target.Target, len(found)), make(map[string]bool, len(found))
	var names []string
	for _, t := range found {
		key := t.Key()
		if !taken[key] {
			names = append(names, key)
		}
		if page := key + " " + t.MetricsURL; !taken[page] {
			taken[key], taken[page] = true, true
			claimants[key] = append(claimants[key], t)
		}
	}
	maps.DeleteFunc(all, func(name string, x *contest) bool { return x.pool == pool && len(claimants[name]) < 2 })
	for _, name := range names {
		claiming := claimants[name]
		if len(claiming) == 1 {
			kept = append(kept, claiming[0])
			continue
		}
		x := all.of(pool, name)
		x.elect(claiming)
		for _, t := range claiming {
			switch {
			case t.MetricsURL == x.holder:
				kept = append(kept, t)
			case x.shown[t.MetricsURL] != replica.ShowsServer || x.shown[x.holder] != replica.ShowsServer:
				kept = append(kept, beside(t, x.holder, taken))
			case x.tiers[t.MetricsURL] == x.tiers[x.holder]:
				refused = append(refused, t)
			default:
				own := beside(t, x.holder, taken)
				own.Beside, own.Elsewhere = "", false
				kept = append(kept, own)
			}
		}
	}
	return kept, refused
}

// of returns the contest for a name, which targets of a pool claim.
func (all contests) of(pool, name string) *contest {
	x := all[name]
	if x == nil {
		x = &contest{shown: map[string]replica.Evidence{}, tiers: map[string]engine.Tier{}}
		all[name] = x
	}
	x.pool = pool
	return x
}

// elect chooses the target that has the name, and forgets targets that are gone.
func (x *contest) elect(all []*target.Target) {
	shown, best := make(map[string]replica.Evidence, len(all)), all[0].MetricsURL
	for _, t := range all {
		shown[t.MetricsURL] = x.shown[t.MetricsURL]
	}
	for _, t := range all {
		if shown[t.MetricsURL] > shown[best] {
			best = t.MetricsURL
		}
	}
	if now, there := shown[x.holder]; !there || now < shown[best] {
		x.holder = best
	}
	x.shown = shown
}

// beside returns a target that does not have the name that it claims: it is named after its port,
// or else after its address, and then taken. Of another host than the holder it is no port of that, unless both
// are addresses of one pod, so that it is judged for itself until its page shows that it is no server.
func beside(t *target.Target, holder string, taken map[string]bool) *target.Target {
	named := *t
	named.Beside, named.Pod = t.ReplicaID, false
	suffixes := []string{t.MetricsURL}
	if u, err := url.Parse(t.MetricsURL); err == nil {
		suffixes = []string{u.Port(), u.Host, u.Host + u.Path, t.MetricsURL}
		if named.Elsewhere = !t.Pod && u.Hostname() != hostOf(holder); named.Elsewhere {
			suffixes = suffixes[1:]
		}
	}
	for _, suffix := range suffixes {
		named.ReplicaID = t.ReplicaID + ":" + suffix
		if !taken[named.Key()] {
			break
		}
	}
	taken[named.Key()] = true
	return &named
}

// hostOf returns the host of a page, empty if that is no URL.
func hostOf(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// settleInterval is the time between two looks at what the targets of contested names show.
const settleInterval = time.Second

// settleNames gives contested names to other targets when their pages show that they are the
// servers, until ctx is done.
func (c *Collector) settleNames(ctx context.Context) {
	ticker := time.NewTicker(settleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.resettle(ctx)
		}
	}
}

// resettle settles the names of pools again in which a target has shown something new.
func (c *Collector) resettle(ctx context.Context) {
	c.changing.Lock()
	defer c.changing.Unlock()
	for _, p := range c.poolsWithNews() {
		search := p.search
		c.place(ctx, p, p.found, &search)
	}
}

// poolsWithNews returns the pools in which all targets of a contested name were read, or one has shown
// something new since, and notes that.
func (c *Collector) poolsWithNews() (pools []*pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.contests) == 0 {
		return nil
	}
	news := make(map[string]bool)
	for _, x := range c.newlySettled() {
		x.settled, news[x.pool] = true, true
	}
	for _, r := range c.replicas {
		t := r.Target()
		x := c.contests[t.Claims()]
		if x == nil || !x.settled {
			continue
		}
		if now := r.Shows(); now != replica.ShowsNothing && now != x.shown[t.MetricsURL] {
			x.shown[t.MetricsURL], x.tiers[t.MetricsURL], news[x.pool] = now, r.Tier(), true
		}
	}
	for id := range news {
		if p := c.running[id]; p != nil && p.synced {
			pools = append(pools, p)
		}
	}
	return pools
}

// newlySettled returns the contests of which all targets were read by now.
func (c *Collector) newlySettled() (all []*contest) {
	waits := make(map[*contest]bool)
	for _, r := range c.replicas {
		if x := c.contests[r.Target().Claims()]; x != nil && !x.settled {
			waits[x] = waits[x] || !r.Read()
		}
	}
	for x, waiting := range waits {
		if !waiting {
			all = append(all, x)
		}
	}
	return all
}

// Settled reports whether it is known which of the targets that claim one name has it.
func (c *Collector) Settled() bool {
	c.changing.Lock() // Targets are being placed by what was settled.
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.contests {
		if !x.settled {
			return false
		}
	}
	return true
}

// withholds reports whether nothing is to be shown of a target yet.
func (all contests) withholds(t *target.Target) bool {
	x := all[t.Claims()]
	return x != nil && !x.settled
}

// named gives all targets of a pool names of their own, each a replica that is judged for itself.
func (p *pool) named(found []*target.Target) []*target.Target {
	kept, _ := make(contests).settle(p.cfg.PoolID, found)
	for _, t := range kept {
		t.Beside, t.Elsewhere = "", false
	}
	return kept
}
