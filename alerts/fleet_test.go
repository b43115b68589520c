package alerts_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// minute is the number of steps per minute.
const minute = 4

// absent is the value of a missing series.
var absent = math.NaN()

// timeline is the value of a series at a step.
type timeline func(step int) float64

// always returns a constant timeline.
func always(v float64) timeline { return func(int) float64 { return v } }

// from returns a timeline that changes some minutes after the event.
func from(minutes int, v float64, earlier timeline) timeline {
	return func(step int) float64 {
		if step >= minutes*minute {
			return v
		}
		return earlier(step)
	}
}

// between returns a timeline with one value between two minutes after the event, and another one
// otherwise.
func between(start, end int, v float64, otherwise timeline) timeline {
	return func(step int) float64 {
		if step >= start*minute && step < end*minute {
			return v
		}
		return otherwise(step)
	}
}

// life is the state of a replica at a step, empty while the replica is unknown.
type life func(step int) string

// stays returns a life in a single state.
func stays(state string) life { return func(int) string { return state } }

// becomes changes the state some minutes after the event.
func (l life) becomes(minutes int, state string) life {
	return func(step int) string {
		if step >= minutes*minute {
			return state
		}
		return l(step)
	}
}

// fleet holds what Prometheus scrapes in a scenario, which has its own cluster.
type fleet struct {
	cluster string
	// every is the number of steps between scrapes, first the first step and last the last one;
	// the event is at step 0.
	every, first, last int
	// gap is when Prometheus gets nothing and does not know why, nil for never.
	gap func(step int) bool
	out strings.Builder
}

// write adds a series.
func (f *fleet) write(name string, labels map[string]string, at timeline) {
	pairs := []string{fmt.Sprintf("cluster=%q", f.cluster), `job="trtllm_exporter"`}
	for k, v := range labels {
		if v != "" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", k, v))
		}
	}
	slices.Sort(pairs)
	var values []string
	there := false
	for step := f.first; step < f.last; step += f.every {
		v := at(step)
		switch {
		case f.gap != nil && f.gap(step):
			values, v = append(values, "_"), absent
		case !math.IsNaN(v):
			values = append(values, strconv.FormatFloat(v, 'g', -1, 64))
		case there:
			values = append(values, "stale")
		default:
			values = append(values, "_")
		}
		there = !math.IsNaN(v)
		for range min(f.every, f.last-step) - 1 {
			values = append(values, "_")
		}
	}
	fmt.Fprintf(
		&f.out,
		"      - { series: '%s{%s}', values: '%s' }\n",
		name,
		strings.Join(pairs, ","),
		strings.Join(runs(values), " "),
	)
}

// runs writes equal values in a row as promtool reads them: a missing one times their number, another one times
// how often it is repeated.
func runs(values []string) []string {
	var all []string
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		switch {
		case n == 1 || values[i] == "stale":
			all = append(all, values[i:i+n]...)
		case values[i] == "_":
			all = append(all, fmt.Sprint("_x", n))
		default:
			all = append(all, fmt.Sprint(values[i], "x", n-1))
		}
		i += n
	}
	return all
}

// exporter is an exporter that Prometheus scrapes.
type exporter struct {
	fleet    *fleet
	instance string
	up       timeline
}

// exporter adds an exporter: up is 1, 0 if it cannot be scraped, and absent if it is not a
// target.
func (f *fleet) exporter(instance string, up timeline) *exporter {
	f.write("up", map[string]string{"instance": instance}, up)
	return &exporter{f, instance, up}
}

// write adds a series of an exporter, which is present while the exporter answers.
func (e *exporter) write(name string, labels map[string]string, at timeline) {
	with := map[string]string{"instance": e.instance}
	maps.Copy(with, labels)
	e.fleet.write(name, with, func(step int) float64 {
		if e.up(step) != 1 {
			return absent
		}
		return at(step)
	})
}

// counter adds a series with an increase per second.
func (e *exporter) counter(name string, labels map[string]string, rate timeline) {
	sums := make(map[int]float64)
	var sum float64
	for step := e.fleet.first; step < e.fleet.last; step++ {
		if r := rate(step); math.IsNaN(r) {
			sum = absent
		} else {
			if math.IsNaN(sum) {
				sum = 0
			}
			sum += r * 15
		}
		sums[step] = sum
	}
	e.write(name, labels, func(step int) float64 { return sums[step] })
}

// has adds the number of targets of a pool, absent if the configuration does not have the pool.
func (e *exporter) has(pool string, targets timeline) {
	e.write("trtllm_exporter_targets", map[string]string{"pool_id": pool}, targets)
}

// allows adds the start budget of a pool, which is 1200 seconds without it.
func (e *exporter) allows(pool string, seconds float64) {
	e.write("llm_server_pool_start_budget_seconds", map[string]string{"pool_id": pool}, always(seconds))
}

// expects adds the number of replicas that a pool expects at least.
func (e *exporter) expects(pool string, replicas float64) {
	e.write(
		"llm_server_pool_replicas_expected",
		map[string]string{"pool_id": pool, "bound": "lower"},
		always(replicas),
	)
}

// server is a replica as an exporter shows it.
type server struct {
	pool, replica, tier, engine, version string
}

// labels returns the labels of a server's series.
func (s *server) labels(more ...string) map[string]string {
	l := map[string]string{
		"pool_id":        s.pool,
		"replica_id":     s.replica,
		"tier":           s.tier,
		"engine":         s.engine,
		"engine_version": s.version,
	}
	for i := 0; i < len(more); i += 2 {
		l[more[i]] = more[i+1]
	}
	return l
}

// sees adds the states of a server as an exporter sees them. To save time it leaves out
// states other than ready that the server is never in: no rule distinguishes them from 0.
func (e *exporter) sees(s *server, l life) {
	states := map[string]bool{"ready": true}
	for step := e.fleet.first; step < e.fleet.last; step += e.fleet.every {
		states[l(step)] = true
	}
	delete(states, "")
	for state := range states {
		e.write("llm_server_state", s.labels("state", state), func(step int) float64 {
			switch l(step) {
			case "":
				return absent
			case state:
				return 1
			default:
				return 0
			}
		})
	}
}

// sleeps adds a server whose engine sleeps from a minute on, and which is there until then.
func (e *exporter) sleeps(s *server, minutes int, l life) {
	e.sees(s, l)
	e.write("llm_server_engine_awake", s.labels("model_id", "m"), between(minutes, 1<<20, 0, always(1)))
}

// suspects adds a server that is ready, and whether the exporter suspects it.
func (e *exporter) suspects(s *server, suspected timeline) {
	e.sees(s, ready)
	e.write("llm_server_suspected", s.labels(), suspected)
}

// loses adds a server whose page does not come from a minute on, and whether it then still counts as
// serving.
func (e *exporter) loses(s *server, l life, minutes int, serves float64) {
	e.sees(s, l.becomes(minutes, "blind"))
	e.write("trtllm_exporter_target_last_success_timestamp_seconds", s.labels(), always(1))
	e.write("llm_server_serving", s.labels(), from(minutes, serves, func(step int) float64 {
		if l(step) == "ready" {
			return 1
		}
		return 0
	}))
}

// traffic is the rate of requests for a model of a server by outcome, by default model m, how many run, their
// time to first token, and the gap between tokens. Invalid ones are the clients' fault. Objective is that for the
// first token.
type traffic struct {
	model                     string
	ok, failed, refused, late timeline
	canceled, invalid         timeline
	running                   timeline
	seconds, gap              timeline
	objective, availability   float64
}

// asked adds the series of the requests of a server. Late ones miss the objective for the first
// token, if there is one, and failed ones that for availability.
func (e *exporter) asked(s *server, t *traffic) {
	of := func(at timeline) timeline {
		if at == nil {
			return always(0)
		}
		return at
	}
	model := cmp.Or(t.model, "m")
	ok, failed, refused, late := of(t.ok), of(t.failed), of(t.refused), of(t.late)
	canceled, invalid := of(t.canceled), of(t.invalid)
	all := func(step int) float64 {
		return ok(step) + failed(step) + refused(step) + canceled(step) + invalid(step)
	}
	classes := map[string]timeline{"ok": ok, "server": failed, "overload": refused}
	if t.canceled != nil {
		classes["canceled"] = canceled
	}
	if t.invalid != nil {
		classes["client"] = invalid
	}
	for class, rate := range classes {
		e.counter("llm_server_requests_total", s.labels("model_id", model, "class", class), rate)
		if class != "ok" {
			e.write(
				"llm_server_request_error_ratio",
				s.labels("model_id", model, "class", class),
				func(step int) float64 {
					if all(step) == 0 {
						return absent
					}
					return rate(step) / all(step)
				},
			)
		}
	}
	e.write("llm_server_requests_per_second", s.labels("model_id", model), all)
	if t.running != nil {
		e.write("llm_server_requests_running", s.labels("model_id", model), t.running)
	}
	if t.seconds != nil {
		e.counter("llm_server_time_to_first_token_seconds_count", s.labels("model_id", model), ok)
		e.counter(
			"llm_server_time_to_first_token_seconds_sum",
			s.labels("model_id", model),
			func(step int) float64 { return ok(step) * t.seconds(step) },
		)
	}
	if t.gap != nil {
		e.counter("llm_server_inter_token_latency_seconds_count", s.labels("model_id", model), ok)
		e.counter(
			"llm_server_inter_token_latency_seconds_sum",
			s.labels("model_id", model),
			func(step int) float64 { return ok(step) * t.gap(step) },
		)
	}
	if t.objective > 0 {
		e.judged(s, model, "ttft", t.objective, ok, late)
	}
	if t.availability > 0 {
		answered := func(step int) float64 { return ok(step) + failed(step) }
		e.judged(s, model, "availability", t.availability, answered, failed)
	}
}

// judged adds the series of an objective for the requests of a server, and those that miss it.
func (e *exporter) judged(s *server, model, slo string, objective float64, all, bad timeline) {
	e.write("llm_server_slo_objective", map[string]string{"pool_id": s.pool, "slo": slo}, always(objective))
	e.write("llm_server_slo_measured", s.labels("slo", slo), always(1))
	e.counter("llm_server_slo_requests_total", s.labels("model_id", model, "slo", slo), all)
	e.counter("llm_server_slo_requests_bad_total", s.labels("model_id", model, "slo", slo, "bound", "lower"), bad)
}

// pool adds a pool of servers with the same life, seen by one exporter.
func (e *exporter) pool(name string, n int, l life) []*server {
	e.has(name, func(step int) float64 {
		if l(step) == "" {
			return 0
		}
		return float64(n)
	})
	var all []*server
	for i := range n {
		s := &server{pool: name, replica: fmt.Sprintf("%s-%d", name, i), engine: "vllm", version: "0.32.0"}
		e.sees(s, l)
		all = append(all, s)
	}
	return all
}

// named adds replicas of a pool with the same life and names that begin alike.
func (e *exporter) named(name, pool string, n int, l life) {
	for i := range n {
		e.sees(&server{pool: pool, replica: fmt.Sprint(name, i)}, l)
	}
}

// successors adds a pool of three replicas with one life, and their replacements, which have
// other names.
func (e *exporter) successors(pool string, earlier, later life) {
	e.has(pool, always(3))
	e.named("old", pool, 3, earlier)
	e.named("new", pool, 3, later)
}
