package config_test

// canaryMistakes are in the canary of a pool.
var canaryMistakes = []mistake{
	{
		name: "canary is a switch",
		text: "canary: true",
		want: "line 5: pools[0].canary must be a mapping of keys, not true or false; " +
			"known keys: enabled, confirm, interval, timeout, first_token_timeout, gap_timeout, end_timeout, model, " +
			"prompt, max_tokens, ...",
	},
	{
		name: "max_tokens misspelled",
		text: "canary: { max_token: 8 }",
		want: `line 5: unknown key "max_token" in pools[0].canary; did you mean "max_tokens"?`,
	},
	{
		name: "enabled is text",
		text: "canary: { enabled: maybe }",
		want: `line 5: pools[0].canary.enabled: "maybe" is not true or false`,
	},
	{
		name: "confirm is text",
		text: "canary: { confirm: maybe }",
		want: `line 5: pools[0].canary.confirm: "maybe" is not true or false`,
	},
	{
		name: "a canary for silent replicas",
		text: `
silent: true
canary: { enabled: true }
`,
		want: "line 6: pools[0].canary.enabled: silent replicas have no API to ask; remove one of the two",
	},
	{
		name: "interval below 10 s",
		text: "canary: { interval: 5s }",
		want: "line 5: pools[0].canary.interval: 5s is too short, the canary counts in the server's own metrics; " +
			"use 10s or more",
	},
	{
		name: "timeout longer than interval",
		text: "canary: { timeout: 2m }",
		want: "line 5: pools[0].canary.timeout: 2m is longer than interval 1m; lower the timeout or raise the interval",
	},
	{
		name: "timeout below 0",
		text: "canary: { timeout: -1s }",
		want: `line 5: pools[0].canary.timeout: "-1s" is not a duration like 5s or 1m`,
	},
	{
		name: "first_token_timeout longer than timeout",
		text: "canary: { first_token_timeout: 1m }",
		want: "line 5: pools[0].canary.first_token_timeout: 1m is longer than timeout 30s, " +
			"which bounds the whole request; lower it or raise the timeout",
	},
	{
		name: "gap_timeout below 0",
		text: "canary: { gap_timeout: -1s }",
		want: `line 5: pools[0].canary.gap_timeout: "-1s" is not a duration like 5s or 1m`,
	},
	{
		name: "end_timeout longer than timeout",
		text: "canary: { end_timeout: 31s }",
		want: "line 5: pools[0].canary.end_timeout: 31s is longer than timeout 30s, which bounds the whole request; " +
			"lower it or raise the timeout",
	},
	{
		name: "model begins with a space",
		text: `canary: { model: " ensemble" }`,
		want: `line 5: pools[0].canary.model: " ensemble" has control characters, or spaces at its start or end; ` +
			"write the name as the server lists it",
	},
	{
		name: "prompt is blank",
		text: `canary: { prompt: " " }`,
		want: "line 5: pools[0].canary.prompt: is empty; leave it out to use the default, or give a text",
	},
	{
		name: "max_tokens above 64",
		text: "canary: { max_tokens: 1000 }",
		want: "line 5: pools[0].canary.max_tokens: 1000 is outside 1 to 64; the default is 8",
	},
	{
		name: "unknown endpoint",
		text: "canary: { endpoint: generate }",
		want: `line 5: pools[0].canary.endpoint: "generate" is unknown; use chat or completions`,
	},
	{
		name: "cancel_within longer than a fourth of interval",
		text: "canary: { enabled: true, cancel_within: 20s }",
		want: "line 5: pools[0].canary.cancel_within: 20s is outside 0 to 15s, a fourth of interval; " +
			"lower it or raise the interval",
	},
	{
		name: "cancel_within shorter than two scrape intervals",
		text: "canary: { enabled: true, cancel_within: 8s }",
		want: "line 5: pools[0].canary.cancel_within: 8s is shorter than two scrape intervals of 5s, " +
			"so no page may arrive in time; raise it or lower scrape_interval",
	},
	{
		name: "cancel_tokens above 16384",
		text: "canary: { enabled: true, cancel_tokens: 100000 }",
		want: "line 5: pools[0].canary.cancel_tokens: 100000 is outside 16 to 16384; the default is 1024",
	},
}
