package derive

// objectiveFamilies are the requests by the objectives of the pool.
func objectiveFamilies() []Family {
	return []Family{
		counter("slo_requests_total", Exact, objectiveRequests(),
			"What the objective of key slo in the pool's configuration counts: requests that ended for availability, requests with a first token for ttft, requests for tpot and e2e, gaps between tokens for itl. Absent where no objective is set, or it cannot be measured: see llm_server_slo_measured.",
			"the last bucket of the histogram; for availability the requests of all classes, failures of an ensemble halved").
			noQuery(whyByKind),
		counter("slo_requests_bad_total", Exact, objectiveBad(),
			"Those of llm_server_slo_requests_total that were not good: slower than the target, or failed by the server's fault. At least so many (bound=lower) and at most so many (bound=upper): equal where a bucket ends at the target, and further apart where it lies between two bounds. An ensemble counts most failures twice since 24.07, and its bounds say so.",
			"last bucket - bucket of the next bound above the target (lower), or below it (upper); for availability class server").
			noQuery(whyByKind),
	}
}
