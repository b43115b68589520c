package simulate

import (
	"fmt"
	"net"
	"time"
)

// BenchKind names a page of fixed shape for benchmarks.
type BenchKind int

const (
	// BenchTRTLLM is a large Triton page: 226 samples, 5 models, 8 GPUs, three histograms.
	BenchTRTLLM BenchKind = iota
	// BenchSummaries has 377 samples: 8 models with all summaries, 2 GPUs, no reasons.
	BenchSummaries
)

// BenchPage renders a page of constant shape whose values change with every tick. Replicas differ
// in GPU ids, in the order of series and in values. The caller owns the bytes.
func BenchPage(kind BenchKind, replica, tick int) []byte {
	spec, f := Spec{
		Seed:          uint64(replica)*2 + 1,
		GPUs:          8,
		EngineVersion: "2.65.0",
		Setup:         Setup{Histograms: true},
	}, repository("tensorrtllm")
	if kind == BenchSummaries {
		spec.GPUs, spec.EngineVersion, spec.Setup = 2, "2.47.0", Setup{Summaries: true}
		f = repository("python") // Without families of its own before 24.07.
		for _, name := range []string{"embedder", "reranker", "guard"} {
			f.models = append(f.models, model{name: name, role: roleOther})
		}
	}
	spec, _, _ = spec.complete() // Nothing is wrong with it.
	w := &world{spec: spec, now: time.Duration(tick) * time.Second}
	w.load()
	b := bench{newTriton(w, f), uint64(tick)}
	b.work()
	if kind == BenchSummaries {
		return b.page()
	}
	return append(b.page(), b.more()...)
}

// bench is a Triton after a number of ticks.
type bench struct {
	*triton

	tick uint64
}

// grown returns the value of a counter that grows by about perTick each tick.
func (b bench) grown(name string, perTick uint64) uint64 {
	pace := 700 + mix(b.seed, name)%600
	return (b.tick + 1) * perTick * pace / 1000
}

// wander returns a number in [0, limit) that changes with the tick.
func (b bench) wander(name string, limit uint64) int {
	return int(mix(b.seed+b.tick*7919, name) % limit)
}

// work sets the numbers of models, executor and host. With summaries, one model is idle.
func (b bench) work() {
	for i, m := range b.models {
		if b.w.spec.Summaries && i == len(b.models)-1 {
			break
		}
		for part := range 5 {
			n, d := int(b.grown(m.name, 18)), time.Duration(part*part*300+40)*time.Millisecond
			m.book(b.w.now, n, callOf(90+part, 40+part, d, 20+part))
			m.respond(n, d)
			m.summaries[part].observe(b.w.now, 1, float64(b.wander(m.name, 900)))
		}
		m.failed = b.grown("failed"+m.name, 2)
		for reason := range m.failures {
			m.failures[reason] = b.grown(m.name+failureReasons()[reason], 2)
		}
	}
	load := float64(b.wander("load", 1000)) / 1000
	b.host.utilization, b.host.cpu = load, load/7
	b.host.power, b.host.joules = powerLimit*load, float64(b.grown("joules", 9000))
	if t, ok := b.backend.(*trtllm); ok {
		used := b.wander("used", 6239)
		t.sampled = iteration{
			n:      b.grown("iterations", 500),
			at:     b.w.now,
			active: 60,
			kvUsed: used,
			kvFree: 6239 - used,
			kv:     kvStats{reused: b.grown("reused", 40)},
			batch: batch{
				scheduled:     b.wander("scheduled", 60),
				context:       b.wander("context", 9),
				contextTokens: b.wander("tokens", 8000),
			},
		}
		for length := range uint64(5) {
			t.input.observeN(float64(length*length*80), b.grown("input", 25))
			t.output.observeN(float64(length*length*30), b.grown("output", 25))
		}
	}
}

// more renders counters of a response cache and of the models themselves.
func (b bench) more() []byte {
	p := page{dialect: cppDialect(), seed: b.seed}
	for _, name := range []string{
		"nv_cache_num_hits_per_model",
		"nv_cache_hit_duration_per_model", "nv_cache_num_misses_per_model", "nv_cache_miss_duration_per_model",
		"nv_bench_calls", "nv_bench_duration_us",
	} {
		p.family("counter", name, "Of each model")
		b.each(func(m *model, labels string) { p.add(labels, float64(b.grown(name+m.name, 20))) })
	}
	return p.bytes()
}

// ServeCanned answers each request with the next of the pages, with so little work that a benchmark
// measures its client. It returns when the listener is closed.
func ServeCanned(listener net.Listener, pages [][]byte) {
	replies := make([][]byte, len(pages))
	for i, page := range pages {
		replies[i] = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"+
			"Content-Length: %d\r\n\r\n%s", len(page), page)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go replay(conn, replies)
	}
}

// replay serves one connection.
func replay(conn net.Conn, replies [][]byte) {
	defer func() { _ = conn.Close() }()
	request := make([]byte, 4096)
	for n := 0; ; n++ {
		if _, err := conn.Read(request); err != nil {
			return
		}
		if _, err := conn.Write(replies[n%len(replies)]); err != nil {
			return
		}
	}
}
