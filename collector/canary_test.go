package collector_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// cage is pool p of simulated servers that nobody asks but the canary.
type cage struct {
	*line

	fleet  *simulate.Fleet
	config collector.PoolConfig
}

// probed turns probes on, more often than a file may say.
func probed(p *collector.PoolConfig) {
	p.Probe.Enabled = true
	p.Probe.Interval = model.Duration(100 * time.Millisecond)
	p.Probe.Timeout = model.Duration(10 * time.Second)
	p.Probe.FirstTokenTimeout = model.Duration(5 * time.Second)
	p.Probe.GapTimeout = model.Duration(2 * time.Second)
	p.Probe.EndTimeout = model.Duration(500 * time.Millisecond)
}

// fly starts a cage; change may alter the configuration of the pool.
func fly(t *testing.T, change func(*collector.PoolConfig), specs ...simulate.Spec) *cage {
	t.Helper()
	for i := range specs {
		specs[i].Name, specs[i].Seed, specs[i].Speed = "r"+strconv.Itoa(i), uint64(i+1), speed
		if specs[i].Workload.Rate == 0 {
			specs[i].Workload.Rate = 0.00001
		}
	}
	fleet, err := simulate.StartFleet(t.Context(), simulate.FleetSpec{Pools: []simulate.PoolSpec{{Name: "p", Replicas: specs}}})
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	p := pool("p", of(t, fleet.Pools()[0].Replicas...)...)
	probed(&p)
	if change != nil {
		change(&p)
	}
	return &cage{line: startLine(t, p), fleet: fleet, config: p}
}

// server is a server of the cage.
func (c *cage) server(i int) *simulate.Replica { return c.fleet.Replica("p", "r"+strconv.Itoa(i)) }

// series is what the canary says of a replica: name and further labels to value.
func (c *cage) series(i int) map[string]float64 {
	c.t.Helper()
	all := make(map[string]float64)
	for text := range strings.Lines(c.page()) {
		name, found := strings.CutPrefix(text, "llm_server_canary_")
		head, value, _ := strings.Cut(strings.TrimSpace(name), "} ")
		if !found || !strings.Contains(head, fmt.Sprintf(`replica_id="r%d"`, i)) {
			continue
		}
		name, set, _ := strings.Cut(head, "{")
		if _, result, has := strings.Cut(set, `result="`); has {
			name += " " + strings.Split(result, `"`)[0]
		}
		v, err := strconv.ParseFloat(value, 64)
		require.NoError(c.t, err)
		all[name] = v
	}
	return all
}

// status is what people are told of a replica.
func (c *cage) status(i int) target.Status {
	for _, slot := range c.store.Slots() {
		if slot.Target().ReplicaID == "r"+strconv.Itoa(i) {
			return slot.Status()
		}
	}
	return target.Status{}
}

// until waits for what the canary says of a replica.
func (c *cage) until(what string, i int, holds func(s map[string]float64) bool) map[string]float64 {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		s := c.series(i)
		if holds(s) {
			return s
		}
		if time.Now().After(deadline) {
			require.Failf(c.t, "It never came: "+what, "%v\n%+v\n%+v", s, c.status(i), c.status(i).Canary)
		}
		select {
		case <-c.t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// well waits until so many probes went well.
func (c *cage) well(i, times int) map[string]float64 {
	c.t.Helper()
	n := c.series(i)["requests_total ok"] + float64(times)
	return c.until("good probes", i, func(s map[string]float64) bool { return s["requests_total ok"] >= n && s["success"] == 1 })
}

func TestNothingIsSentUnlessThePoolSaysSo(t *testing.T) {
	c := fly(t, func(p *collector.PoolConfig) { p.Probe.Enabled = false }, simulate.Spec{Kind: simulate.KindTriton, Streaming: true})
	c.eventually(`replica_id="r0",state="ready",trtllm_version="1.1.0"} 1`)
	scrapes := c.status(0).Scrapes
	for c.status(0).Scrapes < scrapes+10 {
		require.NotContains(t, c.page(), "canary")
	}
	require.Zero(t, c.server(0).Truth().Arrived)
	require.Nil(t, c.status(0).Canary)
}

func TestAHealthyServerOfEveryKind(t *testing.T) {
	for _, k := range []struct {
		name   string
		spec   simulate.Spec
		model  string
		tokens float64
	}{
		{"Triton that streams", simulate.Spec{Kind: simulate.KindTriton, Streaming: true}, "ensemble", 8},
		{"Triton that answers as a whole", simulate.Spec{Kind: simulate.KindTriton}, "ensemble", 1},
		{"Triton's Python backend", simulate.Spec{Kind: simulate.KindTritonPython, Streaming: true}, "ensemble", 8},
		{"Triton's llmapi model", simulate.Spec{Kind: simulate.KindTritonLLMAPI}, "tensorrt_llm", 8},
		{"Triton's vLLM backend", simulate.Spec{Kind: simulate.KindTritonVLLM}, "vllm_model", 8},
		{"Triton's OpenAI frontend", simulate.Spec{Kind: simulate.KindTritonOpenAI, Streaming: true}, "ensemble", 8},
		{"trtllm-serve", simulate.Spec{Kind: simulate.KindServe}, "tiny-llama", 8},
		{"an old trtllm-serve", simulate.Spec{Kind: simulate.KindServeOld}, "tiny-llama", 8},
		{"NIM", simulate.Spec{Kind: simulate.KindNIM}, "meta/llama-3.1-8b-instruct", 8},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := fly(t, nil, k.spec)
			s := c.well(0, 2)
			require.Equal(t, 1.0, s["active"])
			require.Equal(t, 1.0, s["deterministic"])
			require.Zero(t, s["output_changes_total"])
			require.Equal(t, k.tokens, s["tokens"])
			require.Positive(t, s["time_to_first_token_seconds"])
			require.GreaterOrEqual(t, s["duration_seconds"], s["time_to_first_token_seconds"]+s["tail_seconds"])
			require.GreaterOrEqual(t, s["age_seconds"], 0.0)
			_, gaps := s["inter_token_latency_max_seconds"]
			require.Equal(t, k.tokens > 1, gaps)
			require.Contains(t, c.page(), `model_id="`+k.model+`"`)
			require.Equal(t, k.model, c.status(0).Canary.Model)
			require.Equal(t, "ok", c.status(0).Canary.Result)
			truth := c.server(0).Truth()
			require.GreaterOrEqual(t, truth.Arrived, uint64(2), "the server counts them")
			require.Zero(t, truth.Failed)
		})
	}
}

func TestOfDynamoTheFrontendIsAsked(t *testing.T) {
	r := worked(t, simulate.Spec{Name: "r1", Kind: simulate.KindDynamo, Speed: speed})
	p := pool("p", "r0="+r.APIAddr()+"|"+r.APIAddr(), "r1="+r.MetricsAddr()+"|"+r.MetricsAddr())
	probed(&p)
	stop := paced(r)
	defer stop()
	c := &cage{line: startLine(t, p)}
	require.Equal(t, 8.0, c.well(0, 2)["tokens"])
	s := c.until("a worker that is left alone", 1, func(s map[string]float64) bool { return len(s) == 1 })
	require.Equal(t, map[string]float64{"active": 0}, s)
	require.Contains(t, c.status(1).Canary.Hold, "probe its frontend")
}

// paced lets a replica live by the clock until stop is called.
func paced(r *simulate.Replica) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				r.Advance(0)
			}
		}
	}()
	return func() { close(done); <-ended }
}

func TestWhatOnlyTheCanarySees(t *testing.T) {
	stream := simulate.Spec{Kind: simulate.KindTriton, Streaming: true}
	for _, f := range []struct {
		name   string
		spec   simulate.Spec
		result string
		reason string
		begin  func(r *simulate.Replica)
		end    func(r *simulate.Replica)
	}{
		{
			"dead stubs behind a ready API", stream, "http_error", "is not healthy",
			func(r *simulate.Replica) { r.FailRequests(true) }, func(r *simulate.Replica) { r.FailRequests(false) },
		},
		{
			"a stream that never ends", stream, "never_ended", "8 frames with text came, and no end within",
			func(r *simulate.Replica) { r.Stick(3) }, func(*simulate.Replica) {},
		},
		{
			"a chat that never ends",
			simulate.Spec{Kind: simulate.KindServe},
			"never_ended", "no end within",
			func(r *simulate.Replica) { r.Stick(3) }, func(*simulate.Replica) {},
		},
		{
			"an executor that stands still",
			simulate.Spec{Kind: simulate.KindServe},
			"no_first_token", "no text within",
			func(r *simulate.Replica) { r.Stall(true) }, func(r *simulate.Replica) { r.Stall(false) },
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			c := fly(t, func(p *collector.PoolConfig) { p.Probe.FirstTokenTimeout = model.Duration(time.Second) }, f.spec)
			c.well(0, 1)
			f.begin(c.server(0))
			s := c.until(f.result, 0, func(s map[string]float64) bool {
				success, there := s["success"]
				return there && success == 0 && s["requests_total "+f.result] > 0
			})
			for _, name := range []string{"time_to_first_token_seconds", "duration_seconds", "tail_seconds", "tokens", "deterministic", "inter_token_latency_max_seconds"} {
				require.NotContains(t, s, name, "of a probe that failed")
			}
			c.until("the reason", 0, func(map[string]float64) bool {
				status := c.status(0)
				return status.Canary.Result == f.result && strings.Contains(status.Canary.Reason, f.reason) &&
					strings.Contains(status.StateReason, "; its canary fails: "+f.result)
			})
			require.Contains(t, c.page(), `llm_server_ready{`)
			f.end(c.server(0))
			c.well(0, 1)
			require.NotContains(t, c.status(0).StateReason, "canary")
		})
	}
}

func TestAReplicaThatEndsIsLeftAlone(t *testing.T) {
	// A request that runs keeps the server from ending at once.
	long := simulate.Spec{Kind: simulate.KindTriton, Streaming: true, Workload: simulate.Workload{Rate: 1, OutputTokens: 4000, MaxOutput: 4000}}
	c := fly(t, nil, long)
	c.well(0, 1)
	c.server(0).Drain()
	s := c.until("nothing is asked", 0, func(s map[string]float64) bool {
		active, there := s["active"]
		return there && active == 0
	})
	require.NotContains(t, s, "success")
	require.NotContains(t, s, "time_to_first_token_seconds")
	require.Contains(t, s, "age_seconds")
	require.Regexp(t, "^the replica is (draining|down)$", c.status(0).Canary.Hold)
	asked := s["requests_total ok"]
	age := s["age_seconds"]
	s = c.until("time goes on", 0, func(s map[string]float64) bool { return s["age_seconds"] > age+0.5 })
	require.Equal(t, asked, s["requests_total ok"])
	require.NotContains(t, c.status(0).StateReason, "canary")
}

func TestAnswersAreComparedUnderTheSameVersionsOnly(t *testing.T) {
	stream := simulate.Spec{Kind: simulate.KindServe, TRTLLMVersion: "1.3.0rc14"}
	c := fly(t, nil, stream, stream)
	outputs := func(n string) string { return `llm_server_pool_canary_outputs{pool_id="p"} ` + n }
	c.well(0, 2)
	c.well(1, 2)
	c.eventually(outputs("1"))

	c.server(0).Rollout(0, "", "1.3.0")
	c.until("answers of the new version", 0, func(s map[string]float64) bool {
		return s["deterministic"] == 1 && strings.Contains(c.page(), `trtllm_version="1.3.0"`)
	})
	require.Zero(t, c.series(0)["output_changes_total"], "another version may answer otherwise")
	c.eventuallyWithout("llm_server_pool_canary_outputs{")

	c.server(1).Rollout(0, "", "1.3.0")
	c.eventually(outputs("1"))
	c.server(1).Unsteady(true)
	c.until("a change", 1, func(s map[string]float64) bool {
		deterministic, there := s["deterministic"]
		return s["output_changes_total"] > 0 && there && deterministic == 0
	})
	c.eventually(outputs("2"))
	require.Equal(t, 1.0, c.well(0, 1)["deterministic"])
	require.Equal(t, 1.0, c.series(1)["success"], "another answer is no failure")
}

func TestAReloadKeepsWhatTheCanaryKnowsUnlessItChanges(t *testing.T) {
	c := fly(t, nil, simulate.Spec{Kind: simulate.KindServe})
	before := c.well(0, 3)["requests_total ok"]
	c.apply(c.config, pool("other", "nobody=127.0.0.1:1"))
	require.GreaterOrEqual(t, c.well(0, 1)["requests_total ok"], before+1)

	c.config.Probe.MaxTokens = 4
	c.apply(c.config)
	s := c.until("a canary that begins anew", 0, func(s map[string]float64) bool { return s["tokens"] == 4 })
	require.Less(t, s["requests_total ok"], before)
}

func TestTheModelToAsk(t *testing.T) {
	two := simulate.Spec{Kind: simulate.KindTriton, Streaming: true}
	t.Run("is the one that is set", func(t *testing.T) {
		c := fly(t, func(p *collector.PoolConfig) { p.Probe.Model = "tensorrt_llm_bls" }, two)
		c.well(0, 1)
		require.Equal(t, "tensorrt_llm_bls", c.status(0).Canary.Model)
	})
	t.Run("may be one that takes no text", func(t *testing.T) {
		c := fly(t, func(p *collector.PoolConfig) { p.Probe.Model = "tensorrt_llm" }, two)
		c.until("a failure", 0, func(s map[string]float64) bool { return s["requests_total unsupported"] > 0 })
		require.Zero(t, c.server(0).Truth().Arrived)
	})
	t.Run("has to be set where clients may call several", func(t *testing.T) {
		c := fly(t, nil, simulate.Spec{Kind: simulate.KindTritonCore})
		s := c.until("nothing is asked", 0, func(s map[string]float64) bool {
			return len(s) > 0 && strings.Contains(c.status(0).Canary.Hold, "set probe.model")
		})
		require.Equal(t, map[string]float64{"active": 0}, s)
	})
}

func TestTheCanaryIsTheSourceOfFirstTokensThatTheServerDoesNotTell(t *testing.T) {
	c := fly(t, nil, simulate.Spec{Kind: simulate.KindTritonOpenAI, Streaming: true})
	c.eventually(`llm_server_capability{capability="ttft",engine="triton-openai",engine_version="unknown",pool_id="p",replica_id="r0",trtllm_version="unknown"} 1`)
	for _, v := range c.status(0).Capabilities {
		if v.Name == "ttft" {
			require.Contains(t, v.Reason, "of its own requests only")
		}
	}
	c.well(0, 1)
	require.NotContains(t, c.page(), "llm_server_time_to_first_token")
}

// stuck is a trtllm-serve whose chats hang and whose page is as ever.
func stuck(t *testing.T, r *simulate.Replica) (address string, hangs func() int) {
	t.Helper()
	arrived := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/v1/chat/completions" {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			arrived <- struct{}{}
			<-req.Context().Done()
			return
		}
		r.APIHandler().ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() int { return len(arrived) }
}

func TestAProbeThatHangsIsInNobodysWay(t *testing.T) {
	r := worked(t, simulate.Spec{Name: "r0", Kind: simulate.KindServe})
	still := worked(t, simulate.Spec{Name: "still", Kind: simulate.KindTriton})
	address, hangs := stuck(t, r)
	probing := pool("p", "r0="+address+"|"+address)
	probed(&probing)
	probing.Probe.FirstTokenTimeout = model.Duration(time.Hour)
	probing.Probe.Timeout = model.Duration(time.Hour)
	c := &cage{line: startLine(t, probing, pool("bystander", of(t, still)...))}
	c.eventually(`replica_id="still",state="ready"`)
	bystander := func() string {
		var b strings.Builder
		for text := range strings.Lines(c.page()) {
			if strings.Contains(text, `pool_id="bystander"`) && strings.HasPrefix(text, "nv_") {
				b.WriteString(text)
			}
		}
		return b.String()
	}
	c.until("a probe that hangs", 0, func(map[string]float64) bool { return hangs() > 0 })
	before, scrapes := bystander(), c.status(0).Scrapes
	require.NotEmpty(t, before)
	c.until("scrapes go on", 0, func(map[string]float64) bool { return c.status(0).Scrapes >= scrapes+10 })
	require.Equal(t, before, bystander())
	require.Equal(t, target.HealthUp, c.status(0).Health)
	require.Equal(t, "ready", c.status(0).State)
	require.Equal(t, 1, hangs(), "one probe at a time")
	require.Equal(t, map[string]float64{"active": 1}, c.series(0), "no result before the first probe ended")

	began := time.Now()
	require.NoError(t, c.end())
	require.Less(t, time.Since(began), time.Minute, "a probe ends with its target")
}

func TestAConnectionThatEndsBeforeAnyAnswer(t *testing.T) {
	r := worked(t, simulate.Spec{Name: "r0", Kind: simulate.KindTriton, Streaming: true})
	front := apiInFront(t, r, func(_ http.ResponseWriter, req *http.Request) bool {
		if strings.HasSuffix(req.URL.Path, "/generate_stream") {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	p := pool("p", "r0="+r.MetricsAddr()+"|"+strings.TrimPrefix(front, "http://"))
	probed(&p)
	c := &cage{line: startLine(t, p)}
	c.until("no answer", 0, func(s map[string]float64) bool { return s["requests_total connect"] > 0 && s["success"] == 0 })
}
