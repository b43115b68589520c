package matrix

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// Releases returns vLLM, SGLang and NIM in releases and modes whose pages have other names or
// more ranks than those of [Servers], with the same requests.
func Releases() []Server {
	return append(vllmReleases(), sglangModes()...)
}

// vllmReleases returns the releases that added or removed names, and modes of the newest.
func vllmReleases() []Server {
	var all []Server
	for _, r := range []release{vllmOldestKnown, vllmKVNames, vllmITL, vllmTPOT, vllmNoOldITL, vllmCached, vllmNewest} {
		all = append(all, Server{
			Name:  "vLLM " + r.String(),
			Kind:  engine.VLLM,
			Facts: singleModel(r.String()),
			page:  r.page,
		})
	}
	ranks := func(b *Book, p *pageWriter) {
		first, second := b.halves()
		p.interleave(
			func(p *pageWriter) { vllmRank(&first, p, "0", vllmNewest) },
			func(p *pageWriter) { vllmRank(&second, p, "1", vllmNewest) },
		)
		vllmRefused(b, p)
		vllmHTTP(b, p, true)
	}
	return append(
		all,
		Server{Name: "vLLM 0.32.0, two ranks", Kind: engine.VLLM, Facts: singleModel("0.32.0"), page: ranks},
		Server{
			Name:  "vLLM 0.32.0, LoRA and drafts",
			Kind:  engine.VLLM,
			Facts: singleModel("0.32.0"),
			page: func(b *Book, p *pageWriter) {
				vllmNewest.page(b, p)
				// Old label sets stay, with the time at which they were written.
				p.gauge(
					"vllm:lora_requests_info",
					`max_lora="2",running_lora_adapters="old",waiting_lora_adapters=""`,
					1.7e9,
				)
				p.gauge(
					"vllm:lora_requests_info",
					`max_lora="2",running_lora_adapters="new",waiting_lora_adapters=""`,
					1.7e9+b.Now.Seconds(),
				)
				const l = `engine="0",model_name="llama"`
				p.count("vllm:spec_decode_num_drafts_total", l, b.Steps)
				p.count("vllm:spec_decode_num_draft_tokens_total", l, 4*b.Steps)
				p.count("vllm:spec_decode_num_accepted_tokens_total", l, 3*b.Steps)
			},
		},
		Server{
			Name:  "NIM 2 with vLLM 0.8.5",
			Kind:  engine.NIM,
			Facts: singleModel("2.0.0"),
			page:  vllmOldestKnown.page,
		},
	)
}

// sglangModes returns SGLang in other modes, and one that does not count tokens of running
// requests.
func sglangModes() []Server {
	many := func(b *Book, p *pageWriter) {
		first, second := b.halves()
		var ranks []func(p *pageWriter)
		// Ranks of one batch report the same.
		for _, r := range []struct {
			book *Book
			rank string
		}{
			{&first, `dp_rank="0",moe_ep_rank="0",pp_rank="0",tp_rank="0"`},
			{&first, `dp_rank="0",moe_ep_rank="0",pp_rank="0",tp_rank="1"`},
			{&second, `dp_rank="1",moe_ep_rank="0",pp_rank="0",tp_rank="0"`},
			{&second, `dp_rank="1",moe_ep_rank="0",pp_rank="0",tp_rank="1"`},
		} {
			ranks = append(
				ranks,
				func(p *pageWriter) { sglangScheduler(r.book, p, r.rank); sglangLive(r.book, p, r.rank) },
			)
		}
		p.interleave(ranks...)
		sglangRequests(b, p)
	}
	const rank = `moe_ep_rank="0",pp_rank="0",tp_rank="0"`
	facts := singleModel("0.5.23")
	return []Server{
		{Name: "SGLang 0.5.23", Kind: engine.SGLang, Facts: facts, page: sglang},
		{
			Name:  "SGLang without live counters",
			Kind:  engine.SGLang,
			Facts: singleModel(""),
			page:  func(b *Book, p *pageWriter) { sglangScheduler(b, p, rank); sglangRequests(b, p) },
		},
		{Name: "SGLang 0.5.23, two ranks of two", Kind: engine.SGLang, Facts: facts, page: many},
		{Name: "SGLang 0.5.23, priorities", Kind: engine.SGLang, Facts: facts, page: func(b *Book, p *pageWriter) {
			// The series without priority is the total.
			p.interleave(
				func(p *pageWriter) { sglangScheduler(b, p, rank+`,priority=""`); sglangLive(b, p, rank) },
				func(p *pageWriter) { sglangScheduler(b, p, rank+`,priority="7"`) },
			)
			sglangRequests(b, p)
		}},
		{Name: "NIM 2 with SGLang, two ranks of two", Kind: engine.NIM, Facts: singleModel("2.1.4"), page: many},
	}
}

// halves splits a book between two ranks.
func (b *Book) halves() (first, second Book) {
	first, second = *b, *b
	first.Ended, second.Ended = make(map[engine.Class]int), make(map[engine.Class]int)
	for class, n := range b.Ended {
		first.Ended[class], second.Ended[class] = n/2, n-n/2
	}
	split := func(n int) (int, int) { return n / 2, n - n/2 }
	first.Steps, second.Steps = split(b.Steps)
	first.Tokens, second.Tokens = split(b.Tokens)
	first.Running, second.Running = split(b.Running)
	first.Waiting, second.Waiting = split(b.Waiting)
	return first, second
}

// interleave merges pages family by family.
func (p *pageWriter) interleave(pages ...func(p *pageWriter)) {
	var order []string
	by := make(map[string]string)
	for _, page := range pages {
		writer := &pageWriter{}
		page(writer)
		for _, family := range strings.Split(writer.text.String(), "# TYPE ")[1:] {
			head, samples, _ := strings.Cut(family, "\n")
			if by[head] == "" {
				order = append(order, head)
				by[head] = "# TYPE " + head + "\n"
			}
			by[head] += samples
		}
	}
	for _, head := range order {
		p.text.WriteString(by[head])
	}
}
