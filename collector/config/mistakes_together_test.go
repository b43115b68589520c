package config_test

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// togetherMistakes are several in one document, of different kinds. Each is told, and nothing that
// may only follow from another.
var togetherMistakes = []mistake{
	{
		name: "a name, a kind of server, a type, a share and a range",
		text: `
pools:
  - pool_id: a/b
    engine: no-such-kind
    static_configs: [ { targets: ["http://x:1"] } ]
    slo:
      ttft: { le: 2, objective: 0.95 }
      availability: { objective: 99.9 }
    expect: { replicas: "8 - 2" }
`,
		want: `
line 2: pools[0].pool_id: "a/b" has a slash, which separates pool and replica; use - instead
line 3: pools[0].engine: "no-such-kind" is unknown; use ` + strings.Join(config.Engines(nil), ", ") + `, or declare it in kinds_file
line 4: pools[0].static_configs[0].targets[0]: "http://x:1" has a scheme; write "x:1" and scheme: http
line 6: pools[0].slo.ttft.le: "2" is not a duration like 5s or 1m
line 7: pools[0].slo.availability.objective: 99.9 is not a share between 0 and 1; write 0.999 for 99.9 % of the requests
line 8: pools[0].expect.replicas: "8 - 2" is not a number of replicas; write a number like 8, or a range like 2-8
`,
	},
	{
		name: "an unknown key, a missing file, a path and a second document",
		text: `
pools:
  - pool_id: a
    engin: triton
    metrics_path: metrics
    tls_config: { ca_file: nowhere.pem }
    static_configs: [ { targets: ["a:1"] } ]
---
pools: []
`,
		want: `
line 3: unknown key "engin" in pools[0]; did you mean "engine"?
line 4: pools[0].metrics_path: "metrics" does not start with a slash; write /metrics
line 5: pools[0].tls_config.ca_file: nowhere.pem: no such file or directory; correct the name or create the file
line 7: a second document starts here; put everything into one and remove the line ---
`,
	},
	{
		name: "blocks that Prometheus' packages check, with mistakes of other kinds in and around them",
		text: `
pools:
  - pool_id: a
    api_port: http
    dns_sd_configs:
      - { names: [x], type: A, refresh_interval: 5 }
      - { names: [y], type: TXT }
      - { names: [z], refresh_interval: 0s }
    basic_auth: { username: a, password: b, password_file: files/password }
    oauth2: { client_id: a }
`,
		want: `
line 3: pools[0].api_port: "http" is not a whole number
line 5: pools[0].dns_sd_configs[0].refresh_interval: "5" is not a duration like 5s or 1m
line 5: pools[0].dns_sd_configs[0]: a port is required in DNS-SD configs for all record types except SRV; set port
line 6: pools[0].dns_sd_configs[1]: invalid DNS-SD records type TXT; use SRV, A, AAAA, MX or NS
line 7: pools[0].dns_sd_configs[2].refresh_interval: must be longer than 0; leave it out to take the default
line 8: pools[0]: at most one of basic_auth password, password_file & password_ref must be configured; keep one of them
line 8: pools[0]: at most one of basic_auth, oauth2 & authorization must be configured; keep one of them
line 9: pools[0]: oauth2 token_url must be configured
`,
	},
	{
		name: "the same key in a block of another source",
		text: `
pools:
  - pool_id: a
    oauth2: { client_id: a }
    http_sd_configs: [ { url: "http://x", oauth2: { client_id: a, token_url: [b] } } ]
`,
		want: `
line 3: pools[0]: oauth2 token_url must be configured
line 4: pools[0].http_sd_configs[0].oauth2.token_url must be text, not a list
`,
	},
	{
		name: "several in each block",
		text: `
global: { window: soon, failing_min: 0 }
sharding: { total: 0, index: -1 }
exposition: { aliases: [tgi, tgo], raw: 3 }
pools:
  - pool_id: a
    silent: true
    canary: { enabled: true, cancel_within: 8s, max_tokens: 1000 }
    relabel_configs:
      - { action: rename }
      - { source_labels: [a] }
    static_configs: [ { targets: [""], labels: { "": x } } ]
`,
		want: `
line 1: global.window: "soon" is not a duration like 5s or 1m
line 1: global.failing_min: must be 1 or more; the default is 5
line 2: sharding.total: 0 is below 1; use 1 or more
line 2: sharding.index: -1 is out of range; it must be at least 0 and below sharding.total, which is 0
line 3: exposition.raw: "3" is not true, false or unmapped
line 3: exposition.aliases[0]: unknown set "tgi"; use otel, trtllm, vllm
line 3: exposition.aliases[1]: unknown set "tgo"; use otel, trtllm, vllm
line 7: pools[0].canary.max_tokens: 1000 is outside 1 to 64; the default is 8
line 7: pools[0].canary.cancel_within: 8s is shorter than two scrape intervals of 5s, ` +
			`so no page may arrive in time; raise it or lower scrape_interval
line 7: pools[0].canary.enabled: silent replicas have no API to ask; remove one of the two
line 9: pools[0].relabel_configs[0].action: unknown relabel action "rename"; ` +
			`use replace, keep, drop, keepequal, dropequal, hashmod, labelmap, labeldrop, labelkeep, lowercase or uppercase
line 10: pools[0].relabel_configs[1].target_label: relabel configuration for replace action requires 'target_label' value; ` +
			`set target_label to the label to write
line 11: pools[0].static_configs[0].labels[""]: "" is not a valid label name; give the label a name
line 11: pools[0].static_configs[0].targets[0]: is empty; write host:port
`,
	},
	{
		name: "null entries beside others",
		text: `
pools:
  -
  - pool_id: [a]
    scheme: ftp
    static_configs:
      -
      - targets: ["x"]
`,
		want: `
line 2: pools[0] is empty; fill it or remove the "-"
line 3: pools[1].pool_id must be text, not a list
line 4: pools[1].scheme: "ftp" is unknown; use http or https
line 6: pools[1].static_configs[0] is empty; fill it or remove the "-"
line 7: pools[1].static_configs[1].targets[0]: "x" has no port; write it like x:8002
`,
	},
	{
		name: "a timeout is not compared with an interval that is refused",
		text: `
global: { scrape_interval: 30 }
pools:
  - pool_id: a
    scrape_timeout: 10s
    canary: { enabled: true, interval: 5, timeout: 2m, cancel_within: 20s }
    static_configs: [ { targets: ["a:1"] } ]
`,
		want: `
line 1: global.scrape_interval: "30" is not a duration like 5s or 1m
line 5: pools[0].canary.interval: "5" is not a duration like 5s or 1m
`,
	},
	{
		name: "an index is not compared with a total that is refused",
		text: `
sharding: { total: three, index: 2 }
pools: [ { pool_id: a, static_configs: [ { targets: ["a:1"] } ] } ]
`,
		want: `line 1: sharding.total: "three" is not a whole number`,
	},
	{
		name: "keys that are misspelled are not missing",
		text: `
pools:
  - pool_di: a
    static_config: [ { targets: ["a:1"] } ]
  - pool_id: b
    consul_sd_configs: []
    sheme: https
`,
		want: `
line 2: unknown key "pool_di" in pools[0]; did you mean "pool_id"?
line 3: unknown key "static_config" in pools[0]; did you mean "static_configs"?
line 5: unknown key "consul_sd_configs" in pools[1]; use file_sd_configs, http_sd_configs or dns_sd_configs
line 6: unknown key "sheme" in pools[1]; did you mean "scheme"?
`,
	},
	{
		name: "what a broken merge may bring is not missing, what is there is checked",
		text: `
pools:
  - <<: base
    scheme: ftp
`,
		want: `
line 2: pools[0]: a merge key (<<) takes a mapping, not text
line 3: pools[0].scheme: "ftp" is unknown; use http or https
`,
	},
	{
		name: "a block that contains itself",
		text: `
pools:
  - pool_id: a
    scheme: ftp
    limits: &limits { <<: *limits }
    static_configs: [ { targets: ["a:1"] } ]
`,
		want: `
line 3: pools[0].scheme: "ftp" is unknown; use http or https
line 4: pools[0].limits contains itself through an alias; write the values out
`,
	},
}
