package matrix

import (
	"fmt"
	"regexp"
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
	for _, r := range []string{"0.8.5", "0.9.2", "0.10.2", "0.11.0", "0.12.0", "0.16.0", "0.32.0"} {
		all = append(all, vllm(r))
	}
	ranks, drafts, nim := vllm("0.32.0"), vllm("0.32.0"), vllm("0.8.5")
	ranks.Name += ", two ranks"
	ranks.deviate = func(b *Book, page func(*Book) string) string {
		first, second := b.halves()
		return ranked(`engine="`, page(b), page(&first), strings.ReplaceAll(page(&second), `engine="0"`, `engine="1"`))
	}
	drafts.Name += ", LoRA and drafts"
	drafts.deviate = func(b *Book, page func(*Book) string) string { return page(b) + loraAndDrafts(b) }
	nim.Name, nim.Kind, nim.Facts = "NIM 2 with vLLM 0.8.5", engine.NIM, singleModel("2.0.0")
	return append(all, ranks, drafts, nim)
}

// loraAndDrafts returns the families of LoRA adapters, whose old label sets stay with the time at
// which they were written, and of drafts.
func loraAndDrafts(b *Book) string {
	var text strings.Builder
	text.WriteString("# TYPE vllm:lora_requests_info gauge\n")
	for i, adapter := range []string{"old", "new"} {
		fmt.Fprintf(
			&text,
			"vllm:lora_requests_info{max_lora=\"2\",running_lora_adapters=%q,waiting_lora_adapters=\"\"} %g\n",
			adapter,
			1.7e9+float64(i)*b.Now.Seconds(),
		)
	}
	for i, name := range []string{"drafts", "draft_tokens", "accepted_tokens"} {
		fmt.Fprintf(&text, "# TYPE vllm:spec_decode_num_%s_total counter\n"+
			"vllm:spec_decode_num_%[1]s_total{engine=\"0\",model_name=\"llama\"} %d\n", name, []int{1, 4, 3}[i]*b.Steps)
	}
	return text.String()
}

// sglangModes returns SGLang in other modes, and one that does not count tokens of running
// requests.
func sglangModes() []Server {
	const name, rank = "SGLang 0.5.23", `tp_rank="`
	single, quiet, many, priorities := sglang(name, "0.5.23"), sglang("SGLang without live counters", ""),
		sglang(name+", two ranks of two", "0.5.23"), sglang(name+", priorities", "0.5.23")
	quiet.deviate = func(b *Book, page func(*Book) string) string { return withoutLive(page(b)) }
	many.deviate = func(b *Book, page func(*Book) string) string {
		first, second := b.halves()
		of := func(b *Book, dp, tp string) string {
			return strings.NewReplacer(`moe_ep_rank="0"`, `dp_rank="`+dp+`",moe_ep_rank="0"`,
				rank+`0"`, rank+tp+`"`).Replace(page(b))
		}
		// Ranks of one batch report the same.
		return ranked(rank, page(b),
			of(&first, "0", "0"), of(&first, "0", "1"), of(&second, "1", "0"), of(&second, "1", "1"))
	}
	priorities.deviate = func(b *Book, page func(*Book) string) string {
		with := func(page, priority string) string {
			return strings.ReplaceAll(page, rank+`0"`, rank+`0",priority="`+priority+`"`)
		}
		// The series without priority is the total.
		return ranked(rank, page(b), with(page(b), ""), with(withoutLive(page(b)), "7"))
	}
	nim := many
	nim.Name, nim.Kind, nim.Facts = "NIM 2 with SGLang, two ranks of two", engine.NIM, singleModel("2.1.4")
	return []Server{single, quiet, many, priorities, nim}
}

// withoutLive returns a page of SGLang without the tokens of running requests.
func withoutLive(page string) string { return ranked("sglang:realtime_tokens_total", page) }

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

// ranked returns a page on which the families with a text in their samples have those of ranks.
func ranked(text, whole string, ranks ...string) string {
	var b strings.Builder
	for _, head := range heads(whole) {
		pages := ranks
		if !strings.Contains(samples(whole, head), text) {
			pages = []string{whole}
		}
		b.WriteString(head)
		for _, page := range pages {
			b.WriteString(samples(page, head))
		}
	}
	return b.String()
}

// heads returns the HELP and TYPE of each family of a page.
func heads(page string) []string {
	return regexp.MustCompile(`(?m)^# HELP .*\n# TYPE .*\n`).FindAllString(page, -1)
}

// samples returns the samples of the family with a head.
func samples(page, head string) string {
	_, after, _ := strings.Cut(page, head)
	of, _, _ := strings.Cut(after, "# HELP ")
	return of
}
