package config_test

// documentMistakes are in the document as a whole, in its pools, or in several places.
var documentMistakes = []mistake{
	{
		name: "nothing",
		text: "",
		want: "the file is empty; it needs at least pools",
	},
	{
		name: "a null",
		text: "~",
		want: "the file is empty; it needs at least pools",
	},
	{
		name: "a comment alone",
		text: "# nothing",
		want: "the file is empty; it needs at least pools",
	},
	{
		name: "a list",
		text: "- pools",
		want: "line 1: the document must be a mapping of keys, not a list; " +
			"known keys: global, identity, sharding, pools, exposition, kinds_file",
	},
	{
		name: "targets of file_sd_configs",
		text: `- targets: ["10.0.0.1:8002"]`,
		want: "line 1: this is no configuration of the exporter, and looks like targets; " +
			"name the file in file_sd_configs of a pool",
	},
	{
		name: "values of the Helm chart",
		text: `
mode: sidecar
config:
  pools: []
`,
		want: "line 1: this is no configuration of the exporter, and looks like values of the Helm chart; " +
			"give the exporter what is below config",
	},
	{
		name: "rules for Prometheus",
		text: `groups: [ { name: llm, rules: [] } ]`,
		want: "line 1: this is no configuration of the exporter, and looks like rules for Prometheus; " +
			"name the file in rule_files there",
	},
	{
		name: "values of rules",
		text: `
exporter_job: llm
replica_down_for: 5m
`,
		want: "line 1: this is no configuration of the exporter, and looks like values of rules; " +
			"give them to trtllm_exporter rules --values",
	},
	{
		name: "TLS and users of the exporter",
		text: `basic_auth_users: { me: hash }`,
		want: "line 1: this is no configuration of the exporter, and looks like TLS and users of the exporter; " +
			"name the file in --web.config.file",
	},
	{
		name: "a manifest",
		text: `
apiVersion: v1
kind: ConfigMap
data: { config.yml: "pools: []" }
`,
		want: "line 1: this is no configuration of the exporter, and looks like a Kubernetes manifest; " +
			"give the exporter the text of its key config.yml",
	},
	{
		name: "a text",
		text: "pools",
		want: "line 1: the document must be a mapping of keys, not text; " +
			"known keys: global, identity, sharding, pools, exposition, kinds_file",
	},
	{
		name: "a second document",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
---
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: "line 5: a second document starts here; put everything into one and remove the line ---",
	},
	{
		name: "bytes that are not UTF-8",
		text: "pools:\n  - pool_id: \"\xff\xfe\"\n",
		want: "line 2: not valid UTF-8; save the file as UTF-8",
	},
	{
		name: "a tab as indentation",
		text: "pools:\n\t- pool_id: llama\n",
		want: "line 2: the line is indented with a tab; use spaces",
	},
	{
		name: "a key indented less than its neighbours",
		text: `
pools:
  - pool_id: llama
   engine: auto
`,
		want: "line 2: not valid YAML: did not find expected '-' indicator in the list or mapping that starts here; " +
			"check the indentation, quotes and brackets from this line on",
	},
	{
		name: "a bracket that is not closed",
		text: `
pools:
  - pool_id: llama
    static_configs: [ { targets: ["10.0.0.1:8002" ] }
`,
		want: "line 3: not valid YAML: did not find expected ',' or ']' in the list or mapping that starts here; " +
			"check the indentation, quotes and brackets from this line on",
	},
	{
		name: "a quote that is not closed",
		text: `
pools:
  - pool_id: "llama
`,
		want: "line 2: not valid YAML: found unexpected end of stream; " +
			"check the indentation, quotes and brackets from this line on",
	},
	{
		name: "a colon without its blank",
		text: `
pools:
  - pool_id:llama
    engine: auto
`,
		want: "line 3: not valid YAML: mapping values are not allowed in this context; check the indentation of this line, " +
			"and whether a colon in it or in the one before lacks its blank, or stands in a text without quotes",
	},
	{
		name: "a text that begins with a sign of YAML",
		text: "pools:\n  - engine: auto\n    pool_id: @llama\n",
		want: "line 3: not valid YAML: found character that cannot start any token; " +
			"put a text that begins with @, ` or % in quotes",
	},
	{
		name: "a blank that does not break",
		text: "pools:\n  -\u00a0pool_id: llama\n    engine: auto\n",
		want: "line 2: not valid YAML; the line has a blank that does not break (U+00A0): write an ordinary one",
	},
	{
		name: "an alias without its anchor",
		text: "pools: *none",
		want: "line 1: an alias (*) has no anchor (&) above it; put a text that begins with * in quotes",
	},
	{
		name: "aliases of aliases of aliases",
		text: `
pools:
  - pool_id: llama
    static_configs: [ { targets: ["10.0.0.1:8002"] } ]
    oauth2:
      client_id: a
      token_url: http://login.example
      claims:
        a: &a [x, x, x, x, x, x, x, x, x, x]
        b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
        c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
        d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
        e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
        f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]
        g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]
        h: &h [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]
        i: &i [*h, *h, *h, *h, *h, *h, *h, *h, *h, *h]
`,
		want: "line 5: pools[0].oauth2: document contains excessive aliasing; " +
			"write values out instead of repeating aliases of aliases",
	},
	{
		name: "an alias as key",
		text: `
pools:
  - &canary
    pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
  - pool_id: mixtral
    *canary : { enabled: true }
    static_configs:
      - targets: ["10.0.0.2:8002"]
`,
		want: "line 7: a key in pools[1] must be plain text; write it without alias (*), tag (!) or brackets",
	},
	{
		name: "a mapping as key",
		text: `
pools:
  - pool_id: llama
    { a: b }: c
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: "line 3: a key in pools[0] must be plain text; write it without alias (*), tag (!) or brackets",
	},
	{
		name: "a key with a tag",
		text: `
pools:
  - pool_id: llama
    !!binary canary: { enabled: true }
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: "line 3: a key in pools[0] must be plain text; write it without alias (*), tag (!) or brackets",
	},
	{
		name: "a block given twice",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: `line 5: key "pools" in the document is already set on line 1; remove one of the two`,
	},
	{
		name: "an unknown block with a similar name",
		text: `
pool:
  - pool_id: llama
`,
		want: `line 1: unknown key "pool" in the document; did you mean "pools"?`,
	},
	{
		name: "a block of Prometheus",
		text: `
scrape_configs:
  - job_name: llama
`,
		want: `line 1: unknown key "scrape_configs" in the document; use pools`,
	},
	{
		name: "a pool with a name",
		text: `
pools:
  - name: llama
    static_configs: [ { targets: ["a:8002"] } ]
`,
		want: `line 2: unknown key "name" in pools[0]; use pool_id`,
	},
	{
		name: "no pools",
		text: "global: { window: 1m }",
		want: "pools: no pool is given, so nothing would be scraped; add one with pool_id and static_configs",
	},
	{
		name: "an empty list of pools",
		text: "pools: []",
		want: "line 1: pools: no pool is given, so nothing would be scraped; add one with pool_id and static_configs",
	},
	{
		name: "one pool in place of the list",
		text: `
pools:
  pool_id: llama
`,
		want: `line 2: pools must be a list, not a mapping; start each entry with "- "`,
	},
	{
		name: "an empty entry in the list of pools",
		text: `
pools:
  -
`,
		want: `line 2: pools[0] is empty; fill it or remove the "-"`,
	},
	{
		name: "a name in place of a pool",
		text: "pools: [llama]",
		want: "line 1: pools[0] must be a mapping of keys, not text; " +
			"known keys: pool_id, engine, scrape_interval, scrape_timeout, identity_interval, start_budget, scheme, " +
			"metrics_path, api_protocol, api_port, ...",
	},
	{
		name: "a pool without pool_id",
		text: `
pools:
  - static_configs: [ { targets: ["10.0.0.1:8002"] } ]
`,
		want: "line 2: pools[0].pool_id: is required; give a name that is unique in this file",
	},
	{
		name: "pool_id is a list",
		text: `
pools:
  - pool_id: [a]
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: "line 2: pools[0].pool_id must be text, not a list",
	},
	{
		name: "pool_id begins with a space",
		text: `
pools:
  - pool_id: " llama"
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: `line 2: pools[0].pool_id: " llama" has control characters, or spaces at its start or end; remove them`,
	},
	{
		name: "pool_id has a line break",
		text: `
pools:
  - pool_id: "a\nb"
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: `line 2: pools[0].pool_id: "a\nb" has control characters, or spaces at its start or end; remove them`,
	},
	{
		name: "pool_id has a slash",
		text: `
pools:
  - pool_id: prod/llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: `line 2: pools[0].pool_id: "prod/llama" has a slash, which separates pool and replica; use - instead`,
	},
	{
		name: "two pools with one pool_id",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
  - pool_id: llama
    static_configs: [ { targets: ["10.0.0.2:8002"] } ]
`,
		want: `line 5: pools[1].pool_id: "llama" is already used by pools[0]; give each pool its own name`,
	},
	{
		name: "pool_id misspelled",
		text: `
pools:
  - pool_di: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
`,
		want: `line 2: unknown key "pool_di" in pools[0]; did you mean "pool_id"?`,
	},
	{
		name: "mistakes in several blocks",
		text: `
global: { window: soon }
exposition: { raw: perhaps }
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
    engin: triton
    api_port: http
`,
		want: `
line 1: global.window: "soon" is not a duration like 5s or 1m
line 2: exposition.raw: "perhaps" is not true, false or unmapped
line 7: unknown key "engin" in pools[0]; did you mean "engine"?
line 8: pools[0].api_port: "http" is not a whole number
`,
	},
	{
		name: "numbers in place of all blocks",
		text: `
global: 5
pools: 6
identity: 7
exposition: 8
`,
		want: "line 1: global must be a mapping of keys, not a number; " +
			"known keys: scrape_interval, scrape_timeout, window, stall_after, failing_min\n" +
			`line 2: pools must be a list, not a number; start each entry with "- "` + "\n" +
			"line 3: identity must be a mapping of keys, not a number; known keys: versions\n" +
			"line 4: exposition must be a mapping of keys, not a number; " +
			"known keys: raw, normalised, window_gauges, aliases, page_max_age",
	},
	{
		name: "secrets in addresses are not quoted",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002?token=secret-password"]
    metrics_path: metrics?token=secret-password
    scheme: http://me:secret-password@host
`,
		want: `
line 4: pools[0].static_configs[0].targets[0]: has a query or fragment; leave out everything from ? or # on
line 5: pools[0].metrics_path: "metrics?xxxxx" does not start with a slash; write /metrics?xxxxx
line 5: pools[0].metrics_path: is more than a path; leave out everything from ? or # on
line 6: pools[0].scheme: "http://xxxxx@host" is unknown; use http or https
`,
	},
	{
		name: "a scrape interval of 0 for two pools is reported once",
		text: `
global: { scrape_interval: 0s }
pools:
  - pool_id: llama
    scrape_timeout: 3s
    static_configs:
      - targets: ["10.0.0.1:8002"]
  - pool_id: qwen
    static_configs:
      - targets: ["10.0.0.2:8002"]
`,
		want: "line 1: global.scrape_interval: must be longer than 0; the default is 5s",
	},
	{
		name: "failing_min of 0 and no pools",
		text: "global: { failing_min: 0 }",
		want: `
pools: no pool is given, so nothing would be scraped; add one with pool_id and static_configs
line 1: global.failing_min: must be 1 or more; the default is 5
`,
	},
	{
		name: "a pool without targets",
		text: "pools: [ { pool_id: llama } ]",
		want: "line 1: pools[0]: has no source of targets; " +
			"add static_configs, file_sd_configs, http_sd_configs, dns_sd_configs or kubernetes_sd_configs",
	},
	{
		name: "static_configs is not a list",
		text: `pools: [ { pool_id: llama, static_configs: { targets: ["10.0.0.1:8002"] } } ]`,
		want: `line 1: pools[0].static_configs must be a list, not a mapping; start each entry with "- "`,
	},
	{
		name: "static_configs without targets",
		text: "pools: [ { pool_id: llama, static_configs: [ { labels: { a: b } } ] } ]",
		want: "line 1: pools[0].static_configs[0].targets: is empty; list targets as host:port",
	},
	{
		name: "targets misspelled",
		text: `
pools:
  - pool_id: llama
    static_configs: [ { target: ["10.0.0.1:8002"] } ]
`,
		want: `line 3: unknown key "target" in pools[0].static_configs[0]; did you mean "targets"?`,
	},
	{
		name: "a label without a name",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
        labels: { "": x }
`,
		want: `line 5: pools[0].static_configs[0].labels[""]: "" is not a valid label name; give the label a name`,
	},
	{
		name: "two targets with one replica_id",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
        labels: { replica_id: r0 }
      - targets: ["10.0.0.2:8002"]
        labels: { replica_id: r0 }
`,
		want: `line 6: pools[0].static_configs[1].targets[0]: pool_id "llama" and replica_id "r0" are already used by ` +
			"pools[0].static_configs[0].targets[0]; give each target its own replica_id",
	},
	{
		name: "a list merged into labels",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
        labels: { <<: { site: [ams] } }
`,
		want: "line 5: pools[0].static_configs[0].labels.site must be text, not a list",
	},
	{
		name: "a text merged into labels",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
        labels: { <<: ams }
`,
		want: "line 5: pools[0].static_configs[0].labels: a merge key (<<) takes a mapping, not text",
	},
}
