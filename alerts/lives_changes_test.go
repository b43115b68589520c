package alerts_test

import (
	"maps"
	"slices"
)

// change is what becomes of a whole pool, whose new or remaining replicas turn
// bad, or stay well.
type change struct {
	name string
	// become says what becomes of a replica, by its place in the pool.
	become func(i int) []unit
	// load is what is asked of the pool.
	load load
	// from is the step at which the pool is first known.
	from int
}

// unit is what becomes of one replica; another that comes in its place has a
// suffix.
type unit struct {
	suffix string
	at     func(step int) phase
}

// phase is what a replica is at a step.
type phase int

const (
	absent phase = iota
	loads
	serves
	fails
	drains
	restarts
)

// load is how much is asked of a pool: by default much, low is one request a
// minute.
type load int

const (
	much load = iota
	low
	none
)

// How long a replica loads and drains.
const (
	loading  = 3 * minute
	draining = 1 * minute
)

// changes are what becomes of pools.
func changes() []change {
	on := func(step int) phase {
		if step < begins {
			return serves
		}
		return fails
	}
	well := func(int) phase { return serves }
	comes := func(at, takes int) func(int) phase {
		return func(step int) phase {
			switch {
			case step < at:
				return absent
			case step < at+takes:
				return loads
			default:
				return fails
			}
		}
	}
	leaves := func(at int) func(int) phase {
		return func(step int) phase {
			switch {
			case step < at:
				return serves
			case step < at+draining:
				return drains
			default:
				return absent
			}
		}
	}
	again := func(at int) func(int) phase {
		return func(step int) phase {
			switch {
			case step < at:
				return serves
			case step < at+draining:
				return drains
			case step < at+draining+loading:
				return restarts
			default:
				return fails
			}
		}
	}
	turn := func(i int) int { return begins + i*(loading+draining) }
	return []change{
		{name: "rollout", become: func(i int) []unit {
			return []unit{{at: leaves(turn(i) + loading)}, {suffix: "-new", at: comes(turn(i), loading)}}
		}},
		{name: "inplace", become: func(i int) []unit { return []unit{{at: again(turn(i))}} }},
		{name: "double", become: func(int) []unit { return []unit{{at: well}, {suffix: "-new", at: comes(begins, loading)}} }},
		{name: "half", become: func(int) []unit { return []unit{{at: on}, {suffix: "-old", at: leaves(begins)}} }},
		{name: "low", become: func(int) []unit { return []unit{{at: on}} }, load: low},
		{name: "none", become: func(int) []unit { return []unit{{at: on}} }, load: none},
		{name: "loading", become: func(int) []unit { return []unit{{at: comes(begins, 12*minute)}} }, from: begins},
	}
}

// byDesign are the alerts that fire in a pool that changes and has no fault, with
// the reason in testdata/lives.txt.
func byDesign() map[string][]string {
	return map[string][]string{"inplace-well": {"LLMReplicaDown", "LLMReplicasFew"}}
}

// column has the series of all faults, each in a pool of its own.
func (c *change) column() column {
	out := column{name: c.name, steps: changed}
	all := faults()
	for _, alert := range slices.Sorted(maps.Keys(all)) {
		for _, s := range c.ofPool(all[alert], false) {
			out.series = append(out.series, input(s.signal, c.name, alert, alert, s.values))
		}
	}
	out.series = append(out.series, up(&life{at: stays}, c.name))
	return out
}

// healthy has one pool of four replicas with all series of all faults, none of
// which comes.
func (c *change) healthy() column {
	const expected = "llm_server_pool_replicas_expected"
	pool := []signal{steady(expected, `bound="lower"`, 4), steady(expected, `bound="upper"`, 8)}
	seen := make(map[string]bool)
	all := faults()
	for _, alert := range slices.Sorted(maps.Keys(all)) {
		for _, s := range all[alert] {
			if s.label("replica_id") != "" {
				s = s.of("r0")
			}
			if key := s.name + "{" + s.labels + "}"; !seen[key] && s.name != "up" && s.name != expected && s.name != "llm_server_state" {
				seen[key] = true
				pool = append(pool, s)
			}
		}
	}
	for _, s := range slices.Clone(pool) {
		for _, replica := range []string{"r1", "r2", "r3"} {
			if s.label("replica_id") != "" {
				pool = append(pool, s.of(replica))
			}
		}
	}
	var out column
	for _, s := range c.ofPool(pool, true) {
		out.series = append(out.series, input(s.signal, c.name+"-well", "llama", "a", s.values))
	}
	out.series = append(out.series, up(&life{at: stays}, c.name+"-well"))
	return out
}
