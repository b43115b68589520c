package config_test

// blockMistakes are in a block before the pools.
var blockMistakes = []mistake{
	{
		name: "scrape_interval outside of its block",
		text: "scrape_interval: 5s",
		want: `line 1: unknown key "scrape_interval" in the document; it belongs in global or pools[]`,
	},
	{
		name: "an unknown block",
		text: "dashboards: true",
		want: `line 1: unknown key "dashboards" in the document; ` +
			"known keys: global, identity, sharding, pools, exposition, kinds_file",
	},
	{
		name: "global is text",
		text: "global: 5s",
		want: "line 1: global must be a mapping of keys, not text; " +
			"known keys: scrape_interval, scrape_timeout, window, stall_after, failing_min",
	},
	{
		name: "global scrape_interval without a unit",
		text: "global: { scrape_interval: 5 }",
		want: `line 1: global.scrape_interval: "5" is not a duration like 5s or 1m`,
	},
	{
		name: "global scrape_timeout is not a duration",
		text: "global: { scrape_timeout: fast }",
		want: `line 1: global.scrape_timeout: "fast" is not a duration like 5s or 1m`,
	},
	{
		name: "global scrape_timeout longer than scrape_interval",
		text: "global: { scrape_interval: 5s, scrape_timeout: 6s }",
		want: "line 1: global.scrape_timeout: 6s is longer than global.scrape_interval 5s; " +
			"lower the timeout or raise the interval",
	},
	{
		name: "stall_after of 0",
		text: "global: { stall_after: 0s }",
		want: "line 1: global.stall_after: must be longer than 0; the default is 30s",
	},
	{
		name: "window in words",
		text: "global: { window: 1 minute }",
		want: `line 1: global.window: "1 minute" is not a duration like 5s or 1m`,
	},
	{
		name: "window of 0",
		text: "global: { window: 0s }",
		want: "line 1: global.window: must be longer than 0; the default is 1m",
	},
	{
		name: "window shorter than two scrape intervals",
		text: "global: { scrape_interval: 10s, window: 15s }",
		want: "line 1: global.window: 15s is shorter than two scrape intervals of pools[0] (10s); " +
			"set window to 20s or more",
	},
	{
		name: "unknown way to show versions",
		text: "identity: { versions: all }",
		want: `line 1: identity.versions: "all" is unknown; use series, info or both`,
	},
	{
		name: "a list of ways to show versions",
		text: "identity: { versions: [series] }",
		want: "line 1: identity.versions must be text, not a list",
	},
	{
		name: "index of a shard without their total",
		text: "sharding: { index: 1 }",
		want: "line 1: sharding.index: 1 is out of range; it must be at least 0 and below sharding.total, which is 1",
	},
	{
		name: "index of a shard below 0",
		text: "sharding: { total: 3, index: -1 }",
		want: "line 1: sharding.index: -1 is out of range; it must be at least 0 and below sharding.total, which is 3",
	},
	{
		name: "index of a shard beyond their total",
		text: "sharding: { total: 3, index: 3 }",
		want: "line 1: sharding.index: 3 is out of range; it must be at least 0 and below sharding.total, which is 3",
	},
	{
		name: "total of shards in words",
		text: "sharding: { total: three }",
		want: `line 1: sharding.total: "three" is not a whole number`,
	},
	{
		name: "no shards",
		text: "sharding: { total: 0 }",
		want: "line 1: sharding.total: 0 is below 1; use 1 or more",
	},
	{
		name: "unknown key about shards",
		text: "sharding: { shards: 3 }",
		want: `line 1: unknown key "shards" in sharding; known keys: total, index`,
	},
	{
		name: "unknown set of aliases",
		text: "exposition: { aliases: [vllm, tgi] }",
		want: `line 1: exposition.aliases[1]: unknown set "tgi"; use otel, trtllm, vllm`,
	},
	{
		name: "aliases are not a list",
		text: "exposition: { aliases: vllm }",
		want: `line 1: exposition.aliases must be a list, not text; start each entry with "- "`,
	},
	{
		name: "a set of aliases listed twice",
		text: "exposition: { aliases: [vllm, vllm] }",
		want: `line 1: exposition.aliases[1]: "vllm" is listed twice; name each set once`,
	},
	{
		name: "normalised in American spelling",
		text: "exposition: { normalized: true }",
		want: `line 1: unknown key "normalized" in exposition; did you mean "normalised"?`,
	},
	{
		name: "normalised is text",
		text: "exposition: { normalised: maybe }",
		want: `line 1: exposition.normalised: "maybe" is not true, false or a list of groups: core, models, gpu, versions, ` +
			"windows, details",
	},
	{
		name: "a group that is misspelled",
		text: "exposition: { normalised: [core, windws] }",
		want: `line 1: exposition.normalised: unknown group "windws"; use core, models, gpu, versions, windows, details; ` +
			`did you mean "windows"?`,
	},
	{
		name: "a group that is listed twice",
		text: "exposition: { normalised: [core, gpu, core] }",
		want: `line 1: exposition.normalised: "core" is listed twice; name each group once`,
	},
	{
		name: "a list of no groups",
		text: "exposition: { normalised: [] }",
		want: "line 1: exposition.normalised: no group is listed; write false for none, or true for all",
	},
	{
		name: "groups as a mapping",
		text: "exposition: { normalised: { core: true } }",
		want: "line 1: exposition.normalised: write true, false or a list of groups: core, models, gpu, versions, windows, " +
			"details",
	},
	{
		name: "nothing left to expose",
		text: "exposition: { raw: false, normalised: false }",
		want: "line 1: exposition: raw, normalised and aliases are all off, /metrics would be empty; turn one on",
	},
	{
		name: "page_max_age without a unit",
		text: "exposition: { page_max_age: 100 }",
		want: `line 1: exposition.page_max_age: "100" is not a duration like 5s or 1m`,
	},
	{
		name: "page_max_age below 0",
		text: "exposition: { page_max_age: -1s }",
		want: `line 1: exposition.page_max_age: "-1s" is not a duration like 5s or 1m`,
	},
	{
		name: "raw is a number",
		text: "exposition: { raw: 1 }",
		want: `line 1: exposition.raw: "1" is not true, false or unmapped`,
	},
	{
		name: "raw is unmapped without what it is mapped to",
		text: "exposition: { raw: unmapped, normalised: false }",
		want: "line 1: exposition.raw: unmapped leaves out what llm_server_* has, and normalised is off; turn that on, " +
			"or set raw to true",
	},
	{
		name: "raw is unmapped with aliases",
		text: "exposition: { raw: unmapped, aliases: [vllm] }",
		want: "line 1: exposition.raw: unmapped leaves out what llm_server_* has, and aliases add it again; leave " +
			"aliases out, or set raw to true",
	},
	{
		name: "window_gauges is text",
		text: "exposition: { window_gauges: some }",
		want: `line 1: exposition.window_gauges: "some" is not true or false`,
	},
}
