package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

// versionFamilies compare versions of one model that serve side by side. Requests,
// failures and times of each version are in the families of requests and latency.
func versionFamilies() []Family {
	const compared = " Of label version less that of label than, the version before it; 95 % confidence. Both above 0: version is worse; below 0: better; else the window does not tell."
	tokens := func(name string, of engine.Signal, what, source string) Family {
		return counter(name, Exact, tokensByVersion(of), what+" of each model and version (source "+source+"). The tokens of all of them together are those of the family without model_.", counted)
	}
	return []Family{
		tokens("model_prompt_tokens_total", engine.PromptTokens, "Prompt tokens", "nv_llm_input_token_len_sum"),
		tokens("model_generation_tokens_total", engine.GenerationTokens, "Generated tokens", "nv_llm_output_token_len_sum"),
		gauge("version_error_ratio_difference", Rough, bounds(failedMore()),
			"Bounds of the difference in the share of requests that failed by the server's fault over the window, between two versions of an entry model."+compared,
			"Newcombe's interval of two shares").
			noQuery(whyPages),
		gauge("version_duration_difference_seconds", Rough, bounds(tookLonger()),
			"Bounds of the difference in the mean time of requests that succeeded over the window, between two versions of an entry model."+compared+" Absent while requests ended in fewer than five intervals of the window; takes what ended in one interval for independent of the next.",
			"Welch's interval of two means, their errors from the means between pages").
			noQuery(whyPages),
		gauge("version_time_to_first_token_difference_seconds", Rough, bounds(cameLater()),
			"Bounds of the difference in the mean time to the first token over the window, between two versions of an entry model that streams."+compared+" Absent while first tokens came in fewer than five intervals of the window.",
			"Welch's interval of two means, their errors from the means between pages").
			noQuery(whyPages),
		gauge("version_worse", Rough, worse(),
			"1 when a version of an entry model is worse than the version before it (label than) with 95 % confidence over the window, by errors, duration or first_token; 0 when it is better or when the window does not tell. One of forty such comparisons of equal versions is 1 by chance: ask for several minutes of it.",
			"lower bound of the difference > 0").
			noQuery(whyPages),
	}
}
