package alerts_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// life is what becomes of the series of a fault: whether they are there at a
// step, and bad.
type life struct {
	name string
	// at says what a series is at a step: bad, there, and first when a counter
	// begins again at 0.
	at func(step int) (bad, there, first bool)
	// pair says that a second exporter sees nothing bad, twin that a second
	// cluster has the same names and is well; every is how many steps are between
	// two scrapes.
	pair, twin bool
	every      int
	// shows is what the table has of the life.
	shows measure
}

// stays is a fault that comes and stays.
func stays(step int) (bad, there, first bool) { return step >= begins, true, false }

// lives are what becomes of all series of a fault alike.
func lives() []life {
	until := func(step int) (bool, bool, bool) { return step >= begins && step < happens, true, false }
	return []life{
		{name: "fault", at: stays},
		{name: "new", at: func(step int) (bool, bool, bool) { return true, step >= begins, false }},
		{name: "pair", at: stays, pair: true},
		{name: "twin", at: stays, twin: true},
		{name: "recovered", at: until, shows: lastAfter},
		{name: "gone", at: func(step int) (bool, bool, bool) { return step >= begins, step < happens, false }, shows: lastAfter},
		{name: "restart", at: func(step int) (bool, bool, bool) {
			return step >= begins, step < happens || step >= happens+2, step == happens+2
		}, shows: silentFor},
		{name: "gap", at: func(step int) (bool, bool, bool) {
			return step >= begins, step < happens || step >= happens+3*minute, false
		}, shows: silentFor},
	}
}

// values are those of a series over a life.
func (l *life) values(s signal, healthy bool) string {
	var out []string
	var sum float64
	was := false
	for step := range ends {
		bad, there, first := l.at(step)
		v := s.good
		if bad && !healthy {
			v = s.bad
		}
		switch {
		case v == gone:
			there = false
		case s.clock && v > 0:
			sum = float64(step) * 60 / minute
			v = sum
		case s.counter || s.clock:
			if first && !s.clock {
				sum = 0
			}
			sum += v
			v = sum
		}
		switch {
		case l.every > 0 && step%l.every != 0:
			out = append(out, "_")
		default:
			out = append(out, sample(v, there, was && l.name != "gap"))
		}
		was = there
	}
	return strings.Join(out, " ")
}

// sample is one as promtool reads it: nothing where the series is not there, and
// a mark when it ends.
func sample(v float64, there, was bool) string {
	switch {
	case there:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case was:
		return "stale"
	default:
		return "_"
	}
}

// input is a series of a fault, as promtool reads it.
func input(s signal, cluster, alert, instance, values string) string {
	labels := fmt.Sprintf(`instance=%q,job="trtllm_exporter"`, instance)
	if cluster != "" {
		labels += fmt.Sprintf(`,cluster=%q`, cluster)
	}
	if s.name != "up" && !slices.Contains(ofExporter(), alert) {
		labels += fmt.Sprintf(`,pool_id=%q`, alert)
	} else if s.name == "trtllm_exporter_targets" {
		labels += fmt.Sprintf(`,pool_id=%q`, "of-"+alert)
	}
	if s.labels != "" {
		labels += "," + s.labels
	}
	return fmt.Sprintf("      - { series: '%s{%s}', values: '%s' }\n", s.name, labels, values)
}

// up is an exporter that is well.
func up(l *life, cluster string) string {
	s := steady("up", "", 1)
	return input(s, cluster, "", "well", l.values(s, true))
}

// column has the series of all faults, each in a pool and behind an exporter of
// its own.
func (l *life) column() column {
	c := column{name: l.name, shows: l.shows, steps: ends}
	name := cluster(l.name)
	all := faults()
	for _, alert := range slices.Sorted(maps.Keys(all)) {
		for _, s := range all[alert] {
			c.series = append(c.series, input(s, name, alert, alert, l.values(s, false)))
			if l.pair {
				c.series = append(c.series, input(s, name, alert, "other-"+alert, l.values(s, true)))
			}
			if l.twin {
				c.series = append(c.series, input(s, name+"-well", alert, alert, l.values(s, true)))
			}
		}
	}
	c.series = append(c.series, up(l, name))
	return c
}
