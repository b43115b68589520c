package account

import (
	"cmp"
	"math"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// builder sets the figures, or why they are absent.
type builder struct {
	*view

	figures *Figures
}

// Names of figures, as in JSON.
const (
	figureRequests        = "requests"
	figureRequestSpeed    = "requests_per_second"
	figurePrompt          = "prompt_tokens"
	figureGenerated       = "generated_tokens"
	figurePromptSpeed     = "prompt_tokens_per_second"
	figureGenerationSpeed = "generated_tokens_per_second"
	figureRunning         = "running"
	figureOpen            = "open"
	figureQueue           = "queue"
	figureBatch           = "batch_size"
	figureCache           = "kv_cache_ratio"
	figureReused          = "reuse_ratio"
	figurePreemptions     = "preemptions"
	figureEnergy          = "energy_joules"
	figureEnergyPerToken  = "energy_joules_per_token"
	figureSteady          = "steady"
)

const (
	notOnPage = "it is not on the page"
	noCounter = "its page has no counter of it"
	noBuckets = "its page has no histogram of it"
	noneEnded = "no request ended that shows it"
)

// absent notes why a figure is absent: nothing is known, nothing may be averaged, the servers cannot, or
// it is not on the page.
func (b *builder) absent(figure, why, capability, otherwise string) {
	b.figures.Absent[figure] = cmp.Or(b.whole, why, b.reason(capability), otherwise)
}

// count returns what was counted of a family or, of models without it, of the next one.
func (b *builder) count(figure, capability string, families ...string) *float64 {
	n, ok := b.total(families...)
	if b.whole != "" || !ok {
		b.absent(figure, "", capability, notOnPage)
		return nil
	}
	return &n
}

func (b *builder) counts() {
	f := b.figures
	if requests, ok := b.grown(requestsEnded, engine.TierWorker); ok && b.whole == "" {
		f.Requests = make(map[engine.Class]float64)
		for class, n := range requests {
			if n > 0 || class == string(engine.ClassOK) {
				f.Requests[engine.Class(class)] = n
			}
		}
	} else {
		b.absent(figureRequests, "", engine.CanOutcomes, notOnPage)
	}
	f.Prompt = b.count(figurePrompt, engine.CanTokens, promptTokens)
	f.Generated = b.count(figureGenerated, engine.CanTokens, generatedTokens, generatedLive)
	f.Preemptions = b.count(figurePreemptions, "", preemptions)
}

// speed divides a count by the time.
func (b *builder) speed(figure string, n *float64, ofCount string) *float64 {
	switch {
	case n == nil:
		b.figures.Absent[figure] = b.figures.Absent[ofCount]
	case b.why != "":
		b.figures.Absent[figure] = b.why
	case b.seconds() <= 0:
		b.figures.Absent[figure] = "there is one page only"
	default:
		v := *n / b.seconds()
		return &v
	}
	return nil
}

func (b *builder) speeds() {
	f := b.figures
	var well *float64
	if f.Requests != nil {
		well = new(f.Requests[engine.ClassOK] + f.Requests[engine.ClassUnknown])
	}
	f.RequestSpeed = b.speed(figureRequestSpeed, well, figureRequests)
	f.PromptSpeed = b.speed(figurePromptSpeed, f.Prompt, figurePrompt)
	f.GenerationSpeed = b.speed(figureGenerationSpeed, f.Generated, figureGenerated)
}

// shares sets what is the share of one count in another.
func (b *builder) shares() {
	f := b.figures
	cached, ok := b.total(cachedTokens)
	of := f.Prompt
	if !ok || of == nil {
		var missed float64
		cached, ok = b.total(blocksReused)
		missed, okMissed := b.total(blocksMissed)
		if ok = ok && okMissed; ok {
			of = new(cached + missed)
		}
	}
	switch {
	case b.whole != "" || b.why != "":
		b.absent(figureReused, b.why, "", "")
	case !ok || of == nil:
		b.absent(figureReused, "", engine.CanKVReuse, noCounter)
	case *of <= 0:
		b.absent(figureReused, "", "", noneEnded)
	default:
		f.Reused = new(min(cached / *of, 1))
	}
}

// energy adds up the energy of GPUs. Servers of one host expose all of its GPUs, so each counts once.
func (b *builder) energy() {
	f := b.figures
	gpus := make(map[string]float64)
	for _, m := range b.models {
		for _, l := range m.ledgers {
			for _, c := range l.counters {
				if c.family == gpuEnergy && c.seen {
					gpus[c.part] = math.Max(gpus[c.part], c.grown)
				}
			}
		}
	}
	joules := 0.0
	for _, n := range gpus {
		joules += n
	}
	switch {
	case b.whole != "" || b.why != "":
		b.absent(figureEnergy, b.why, "", "")
		b.absent(figureEnergyPerToken, b.why, "", "")
		return
	case len(gpus) == 0:
		b.absent(figureEnergy, "", engine.CanGPU, notOnPage)
		b.absent(figureEnergyPerToken, "", engine.CanGPU, notOnPage)
		return
	}
	f.Energy = &joules
	if f.Generated == nil || *f.Generated <= 0 {
		b.absent(figureEnergyPerToken, "", "", "no generated tokens were counted")
		return
	}
	f.EnergyPerToken = new(joules / *f.Generated)
}
