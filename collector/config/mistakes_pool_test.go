package config_test

import (
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// poolMistakes are in the keys of a pool.
var poolMistakes = []mistake{
	{
		name: "the name of a replica as a key",
		text: "replica_id: r0",
		want: `line 5: unknown key "replica_id" in pools[0]; use static_configs[].labels.replica_id`,
	},
	{
		name: "labels of targets beside them",
		text: "labels: { gpu: h100 }",
		want: `line 5: unknown key "labels" in pools[0]; did you mean "honor_labels", or the key of pools[].static_configs[]?`,
	},
	{
		name: "the beginnings of keys",
		text: "basic_auth: { user: me, pass: secret-password }",
		want: `
line 5: unknown key "user" in pools[0].basic_auth; did you mean "username" or "username_file"?
line 5: unknown key "pass" in pools[0].basic_auth; did you mean "password" or "password_file"?
`,
	},
	{
		name: "the path of the API is a URL",
		text: "api_path: http://a:8000/v2",
		want: `line 5: pools[0].api_path: "http://a:8000/v2" is a URL; write its path alone, like /v2`,
	},
	{
		name: "discovery by HTTP with a part of a key",
		text: "http_sd_configs: [ { url: 'http://sd', interval: 30s } ]",
		want: `line 5: unknown key "interval" in pools[0].http_sd_configs[0]; did you mean "refresh_interval"?`,
	},
	{
		name: "a key as the command line of servers has it",
		text: "api_key: sk-1",
		want: `line 5: unknown key "api_key" in pools[0]; use authorization.credentials`,
	},
	{
		name: "a number in quotes",
		text: "api_port: '8000'",
		want: `line 5: pools[0].api_port: "8000" is not a whole number, as it is in quotes; write 8000`,
	},
	{
		name: "a switch in quotes",
		text: "silent: 'true'",
		want: `line 5: pools[0].silent: "true" is not true or false, as it is in quotes; write true`,
	},
	{
		name: "a share in per cent",
		text: "slo: { ttft: { le: 2s, objective: 95% } }",
		want: `line 5: pools[0].slo.ttft.objective: "95%" is not a number; write 0.95`,
	},
	{
		name: "a price with a comma",
		text: "cost: { replica_hour: '12,5', currency: EUR }",
		want: `line 5: pools[0].cost.replica_hour: "12,5" is not a number; write 12.5`,
	},
	{
		name: "a list of replicas",
		text: "expect: { replicas: [2, 8] }",
		want: `line 5: pools[0].expect.replicas must be text, not a list; write a number like 8, or a range like 2-8`,
	},
	{
		name: "metrics_path is a URL",
		text: "metrics_path: http://a:8002/metrics",
		want: `line 5: pools[0].metrics_path: "http://a:8002/metrics" is a URL; write its path alone, like /metrics`,
	},
	{
		name: "discovery in Kubernetes with a selector without a role",
		text: "kubernetes_sd_configs: [ { role: pod, selectors: [ { label: app=vllm } ] } ]",
		want: "line 5: pools[0].kubernetes_sd_configs[0]: pod role supports only pod, node selectors; " +
			"give each entry of selectors one of these as its role",
	},
	{
		name: "discovery in Kubernetes with a selector as a mapping",
		text: "kubernetes_sd_configs: [ { role: pod, selectors: [ { role: pod, label: { app: vllm } } ] } ]",
		want: "line 5: pools[0].kubernetes_sd_configs[0].selectors[0].label must be text, not a mapping; " +
			"write it like app=vllm",
	},
	{
		name: "scrape_interval longer than half of the window",
		text: "scrape_interval: 45s",
		want: "global.window: 1m is shorter than two scrape intervals of pools[0] (45s); set window to 1m30s or more",
	},
	{
		name: "discovery by DNS without a port",
		text: "dns_sd_configs: [ { names: [llama.local], type: A } ]",
		want: "line 5: pools[0].dns_sd_configs[0]: a port is required in DNS-SD configs for all record " +
			"types except SRV; set port",
	},
	{
		name: "discovery by DNS with an unknown type of record",
		text: "dns_sd_configs: [ { names: [llama.local], type: TXT } ]",
		want: "line 5: pools[0].dns_sd_configs[0]: invalid DNS-SD records type TXT; use SRV, A, AAAA, MX or NS",
	},
	{
		name: "discovery by a file whose name ends in .txt",
		text: "file_sd_configs: [ { files: [targets.txt] } ]",
		want: `line 5: pools[0].file_sd_configs[0]: path name "targets.txt" is not valid for file discovery; ` +
			"end the name in .json, .yml or .yaml",
	},
	{
		name: "discovery by files without files",
		text: "file_sd_configs: [ { files: [] } ]",
		want: "line 5: pools[0].file_sd_configs[0]: file service discovery config must contain at least one path name",
	},
	{
		name: "discovery by files refreshed every 0 s",
		text: "file_sd_configs: [ { files: [t.json], refresh_interval: 0s } ]",
		want: "line 5: pools[0].file_sd_configs[0].refresh_interval: must be longer than 0; " +
			"leave it out to take the default",
	},
	{
		name: "discovery by HTTP with a broken URL",
		text: `http_sd_configs: [ { url: "http://me:secret-password@bad host/" } ]`,
		want: "line 5: pools[0].http_sd_configs[0]: is not a URL; write it like https://example.com:8443/path",
	},
	{
		name: "discovery by HTTP with a password in a secret store",
		text: `http_sd_configs: [ { url: "http://inventory", basic_auth: { username: a, password_ref: vault } } ]`,
		want: "line 5: pools[0].http_sd_configs[0].basic_auth.password_ref: secret stores are not supported; " +
			"use password_file",
	},
	{
		name: "discovery by HTTP over FTP",
		text: `http_sd_configs: [ { url: "ftp://inventory/targets" } ]`,
		want: "line 5: pools[0].http_sd_configs[0]: URL scheme must be 'http' or 'https'",
	},
	{
		name: "discovery by HTTP without schemes",
		text: `
http_sd_configs:
  - url: inventory:8000/targets
    proxy_url: proxy:3128
    oauth2: { client_id: a, client_secret: b, token_url: login/token }
`,
		want: `
line 6: pools[0].http_sd_configs[0].url: "inventory:8000/targets" has no scheme; ` +
			`did you mean "http://inventory:8000/targets"?
line 7: pools[0].http_sd_configs[0].proxy_url: "proxy:3128" has no scheme; did you mean "http://proxy:3128"?
line 8: pools[0].http_sd_configs[0].oauth2.token_url: "login/token" has no scheme; did you mean "http://login/token"?
`,
	},
	{
		name: "discovery in Kubernetes at an address without a scheme",
		text: `kubernetes_sd_configs: [ { role: pod, api_server: "10.0.0.1:6443" } ]`,
		want: `line 5: pools[0].kubernetes_sd_configs[0].api_server: "10.0.0.1:6443" has no scheme; ` +
			`did you mean "https://10.0.0.1:6443"?`,
	},
	{
		name: "discovery in Kubernetes with an unknown role",
		text: "kubernetes_sd_configs: [ { role: pods } ]",
		want: `line 5: pools[0].kubernetes_sd_configs[0].role: unknown Kubernetes SD role "pods"; ` +
			"use pod, service, endpoints, endpointslice, node or ingress",
	},
	{
		name: "discovery in Kubernetes with a selector of another role",
		text: "kubernetes_sd_configs: [ { role: pod, selectors: [ { role: service, label: app=triton } ] } ]",
		want: "line 5: pools[0].kubernetes_sd_configs[0]: pod role supports only pod, node selectors; " +
			"give each entry of selectors one of these as its role",
	},
	{
		name: "discovery in Kubernetes with a misspelled key",
		text: "kubernetes_sd_configs: [ { role: pod, namespace: { names: [llm] } } ]",
		want: `line 5: unknown key "namespace" in pools[0].kubernetes_sd_configs[0]; did you mean "namespaces"?`,
	},
	{
		name: "discovery that is not supported",
		text: "consul_sd_configs: [ { role: pod } ]",
		want: `line 5: unknown key "consul_sd_configs" in pools[0]; ` +
			"use file_sd_configs, http_sd_configs or dns_sd_configs",
	},
	{
		name: "a key given twice",
		text: `
engine: auto
engine: triton
`,
		want: `line 6: key "engine" in pools[0] is already set on line 5; remove one of the two`,
	},
	{
		name: "a text merged into the pool",
		text: "<<: text",
		want: "line 5: pools[0]: a merge key (<<) takes a mapping, not text",
	},
	{
		name: "engine is no kind of server",
		text: "engine: no-such-kind",
		want: `line 5: pools[0].engine: "no-such-kind" is unknown; use ` + strings.Join(config.Engines(nil), ", ") + ", or declare it in kinds_file",
	},
	{
		name: "engine is misspelled",
		text: "engine: tritn",
		want: `line 5: pools[0].engine: "tritn" is unknown; did you mean "triton"?`,
	},
	{
		name: "engine in the case of its brand",
		text: "engine: vLLM",
		want: `line 5: pools[0].engine: "vLLM" is unknown; did you mean "vllm"?`,
	},
	{
		name: "engine_dir ends with a space",
		text: `engine_dir: "/models/engine "`,
		want: `line 5: pools[0].engine_dir: "/models/engine " has control characters, or spaces at its start or end; ` +
			"write the path of the folder that holds the engine's config.json",
	},
	{
		name: "engine_version in words",
		text: "engine_version: newest",
		want: `line 5: pools[0].engine_version: "newest" is not a version; write it like 2.64.0 or 1.2.0rc1`,
	},
	{
		name: "trtllm_version with a remark",
		text: `trtllm_version: "1.1 (custom)"`,
		want: `line 5: pools[0].trtllm_version: "1.1 (custom)" is not a version; write it like 2.64.0 or 1.2.0rc1`,
	},
	{
		name: "silent is text",
		text: "silent: sometimes",
		want: `line 5: pools[0].silent: "sometimes" is not true or false`,
	},
	{
		name: "honor_labels is text",
		text: "honor_labels: often",
		want: `line 5: pools[0].honor_labels: "often" is not true or false`,
	},
	{
		name: "scrape_interval below 0",
		text: "scrape_interval: -5s",
		want: `line 5: pools[0].scrape_interval: "-5s" is not a duration like 5s or 1m`,
	},
	{
		name: "scrape_timeout longer than scrape_interval",
		text: "scrape_timeout: 10s",
		want: "line 5: pools[0].scrape_timeout: 10s is longer than scrape_interval 5s; " +
			"lower the timeout or raise the interval",
	},
	{
		name: "scrape_timeout is not a duration",
		text: "scrape_timeout: none",
		want: `line 5: pools[0].scrape_timeout: "none" is not a duration like 5s or 1m`,
	},
	{
		name: "identity_interval of 0",
		text: "identity_interval: 0s",
		want: "line 5: pools[0].identity_interval: must be longer than 0; the default is 30s",
	},
	{
		name: "start_budget of 0",
		text: "start_budget: 0s",
		want: "line 5: pools[0].start_budget: must be longer than 0; the default is 20m",
	},
	{
		name: "a cost without a price and a currency",
		text: "cost: {}",
		want: "line 5: pools[0].cost.replica_hour: must be above 0 and below a billion; write " +
			"what a replica costs for an hour, like 12.5\n" +
			"line 5: pools[0].cost.currency: is required; write three capital letters, like EUR",
	},
	{
		name: "a cost of nothing in a currency that is none",
		text: "cost: { replica_hour: 0, currency: euro }",
		want: "line 5: pools[0].cost.replica_hour: must be above 0 and below a billion; write " +
			"what a replica costs for an hour, like 12.5\n" +
			`line 5: pools[0].cost.currency: "euro" is not a currency; write three capital letters, like EUR`,
	},
	{
		name: "a cost that is a number",
		text: "cost: 12.5",
		want: "line 5: pools[0].cost must be a mapping of keys, not a number; known keys: replica_hour, currency",
	},
	{
		name: "scheme is neither http nor https",
		text: "scheme: ftp",
		want: `line 5: pools[0].scheme: "ftp" is unknown; use http or https`,
	},
	{
		name: "metrics_path without its slash",
		text: "metrics_path: metrics",
		want: `line 5: pools[0].metrics_path: "metrics" does not start with a slash; write /metrics`,
	},
	{
		name: "metrics_path with a query",
		text: "metrics_path: /metrics?x=1",
		want: "line 5: pools[0].metrics_path: is more than a path; leave out everything from ? or # on",
	},
	{
		name: "api_path with two mistakes",
		text: "api_path: llama/api?x",
		want: `
line 5: pools[0].api_path: "llama/api?xxxxx" does not start with a slash; write /llama/api?xxxxx
line 5: pools[0].api_path: is more than a path; leave out everything from ? or # on
`,
	},
	{
		name: "api_path for gRPC",
		text: `
api_protocol: grpc
api_path: /llama
`,
		want: "line 6: pools[0].api_path: has no effect with api_protocol grpc; leave it out",
	},
	{
		name: "api_port above 65535",
		text: "api_port: 70000",
		want: "line 5: pools[0].api_port: 70000 is not a port; " +
			"use 1 to 65535, or leave it out to use the default of the engine",
	},
	{
		name: "api_port with a fraction",
		text: "api_port: 80.5",
		want: `line 5: pools[0].api_port: "80.5" is not a whole number`,
	},
	{
		name: "api_port is text",
		text: "api_port: http",
		want: `line 5: pools[0].api_port: "http" is not a whole number`,
	},
	{
		name: "api_protocol is neither http nor grpc",
		text: "api_protocol: http2",
		want: `line 5: pools[0].api_protocol: "http2" is unknown; use http or grpc`,
	},
	{
		name: "gRPC for servers that have none",
		text: `
engine: trtllm-serve
api_protocol: grpc
`,
		want: "line 6: pools[0].api_protocol: servers of engine trtllm-serve have no gRPC API; use http",
	},
	{
		name: "gRPC through a proxy",
		text: `
api_protocol: grpc
proxy_url: http://proxy:3128
`,
		want: "line 5: pools[0].api_protocol: gRPC does not go through a proxy; remove the proxy keys or use http",
	},
	{
		name: "api_scheme is neither http nor https",
		text: "api_scheme: grpc",
		want: `
line 5: pools[0].api_scheme: "grpc" is unknown; use http or https
line 5: pools[0].api_scheme: has no effect without api_port; set api_port too
`,
	},
	{
		name: "api_scheme without api_port",
		text: "api_scheme: https",
		want: "line 5: pools[0].api_scheme: has no effect without api_port; set api_port too",
	},
	{
		name: "iteration_stats for servers that have none",
		text: `
engine: triton
iteration_stats: true
`,
		want: "line 6: pools[0].iteration_stats: servers of engine triton have no iteration statistics; " +
			"remove it, or set engine to trtllm-serve",
	},
	{
		name: "expected determinism is text",
		text: "expect: { determinism: maybe }",
		want: `line 5: pools[0].expect.determinism: "maybe" is not true or false`,
	},
	{
		name: "expected engine_version in words",
		text: "expect: { engine_version: latest }",
		want: `line 5: pools[0].expect.engine_version: "latest" is not a version; write it like 2.64.0 or 1.2.0rc1`,
	},
	{
		name: "expected trtllm_version with a comparison",
		text: `expect: { trtllm_version: ">=1.0" }`,
		want: `line 5: pools[0].expect.trtllm_version: ">=1.0" is not a version; write it like 2.64.0 or 1.2.0rc1`,
	},
	{
		name: "expected range of replicas begins with its end",
		text: "expect: { replicas: 8-2 }",
		want: `line 5: pools[0].expect.replicas: "8-2" is not a number of replicas; ` +
			"write a number like 8, or a range like 2-8",
	},
	{
		name: "unknown key about expectations",
		text: "expect: { version: 1.1.0 }",
		want: `line 5: unknown key "version" in pools[0].expect; did you mean "engine_version" or "trtllm_version"?`,
	},
	{
		name: "objectives out of range, each with its line",
		text: `
slo:
  ttft: { le: 0s, objective: 95 }
  tpot: { objective: 0 }
  itl: { le: 0s, objective: -1 }
  e2e: {}
  availability: { objective: 1 }
`,
		want: "line 6: pools[0].slo.ttft.le: is required and longer than 0; " +
			"write the time that good requests stay within, like 2s\n" +
			"line 6: pools[0].slo.ttft.objective: 95 is not a share between 0 and 1; " +
			"write 0.95 for 95 % of the requests\n" +
			"line 7: pools[0].slo.tpot.le: is required and longer than 0; " +
			"write the time that good requests stay within, like 2s\n" +
			"line 7: pools[0].slo.tpot.objective: 0 is not a share between 0 and 1; " +
			"write 0.95 for 95 % of the requests\n" +
			"line 8: pools[0].slo.itl.le: is required and longer than 0; " +
			"write the time that good requests stay within, like 2s\n" +
			"line 8: pools[0].slo.itl.objective: -1 is not a share between 0 and 1; " +
			"write 0.95 for 95 % of the requests\n" +
			"line 9: pools[0].slo.e2e.le: is required and longer than 0; " +
			"write the time that good requests stay within, like 2s\n" +
			"line 9: pools[0].slo.e2e.objective: 0 is not a share between 0 and 1; " +
			"write 0.95 for 95 % of the requests\n" +
			"line 10: pools[0].slo.availability.objective: 1 is not a share between 0 and 1; " +
			"write 0.95 for 95 % of the requests",
	},
	{
		name: "slo is a list",
		text: "slo: [ttft]",
		want: "line 5: pools[0].slo must be a mapping of keys, not a list; " +
			"known keys: ttft, tpot, itl, e2e, availability",
	},
	{
		name: "objectives of other types",
		text: "slo: { ttft: 2s, tpot: [], itl: 1, e2e: x, availability: 0.99 }",
		want: `
line 5: pools[0].slo.ttft must be a mapping of keys, not text; known keys: le, objective
line 5: pools[0].slo.tpot must be a mapping of keys, not a list; known keys: le, objective
line 5: pools[0].slo.itl must be a mapping of keys, not a number; known keys: le, objective
line 5: pools[0].slo.e2e must be a mapping of keys, not text; known keys: le, objective
line 5: pools[0].slo.availability must be a mapping of keys, not a number; known keys: objective
`,
	},
	{
		name: "model_ids with an empty id",
		text: `model_ids: { "": [ensemble] }`,
		want: "line 5: pools[0].model_ids: one id is empty; give the model a public name",
	},
	{
		name: "model_ids with an empty name",
		text: `model_ids: { llama: [""] }`,
		want: "line 5: pools[0].model_ids.llama: one name is empty; write the name as in the server's label model",
	},
	{
		name: "model_ids is a list",
		text: "model_ids: [ensemble]",
		want: "line 5: pools[0].model_ids must be a mapping, not a list; write it as name: value",
	},
	{
		name: "names in model_ids are not a list",
		text: "model_ids: { llama: ensemble }",
		want: `line 5: pools[0].model_ids.llama must be a list, not text; start each entry with "- "`,
	},
	{
		name: "a name twice for one model",
		text: "model_ids: { llama: [ensemble, ensemble] }",
		want: `line 5: pools[0].model_ids.llama: "ensemble" is listed twice; name it once`,
	},
	{
		name: "a model without names",
		text: "model_ids: { llama: [] }",
		want: "line 5: pools[0].model_ids.llama: has no names; list the server's names of the model",
	},
	{
		name: "a name for two models",
		text: "model_ids: { llama: [ensemble], qwen: [ensemble] }",
		want: `line 5: pools[0].model_ids.qwen: "ensemble" already belongs to "llama"; a server's name has one id`,
	},
	{
		name: "a model given twice",
		text: "model_ids: { a: [x], a: [y] }",
		want: `line 5: key "a" in pools[0].model_ids is already set on line 5; remove one of the two`,
	},
	{
		name: "relabeling by an unknown action",
		text: "relabel_configs: [ { action: rename } ]",
		want: `line 5: pools[0].relabel_configs[0].action: unknown relabel action "rename"; ` +
			"use replace, keep, drop, keepequal, dropequal, hashmod, labelmap, labeldrop, labelkeep, " +
			"lowercase or uppercase",
	},
	{
		name: "relabeling without target_label",
		text: "relabel_configs: [ { source_labels: [a] } ]",
		want: "line 5: pools[0].relabel_configs[0].target_label: relabel configuration for replace action requires " +
			"'target_label' value; set target_label to the label to write",
	},
	{
		name: "relabeling by a broken expression",
		text: `relabel_configs: [ { source_labels: [a], regex: "(", target_label: b } ]`,
		want: "line 5: pools[0].relabel_configs[0].regex: error parsing regexp: missing closing ): `^(?s:()$`; " +
			"write an RE2 expression and escape what is meant literally",
	},
	{
		name: "relabeling with a misspelled key",
		text: "relabel_configs: [ { source_label: [a], target_label: b } ]",
		want: `line 5: unknown key "source_label" in pools[0].relabel_configs[0]; did you mean "source_labels"?`,
	},
	{
		name: "relabeling by hash without modulus",
		text: "metric_relabel_configs: [ { action: hashmod, target_label: b } ]",
		want: "line 5: pools[0].metric_relabel_configs[0].modulus: relabel configuration for hashmod " +
			"requires non-zero " +
			"modulus; set modulus to the number of parts",
	},
	{
		name: "relabeling of metrics by a broken expression",
		text: `metric_relabel_configs: [ { source_labels: [a], regex: "[", action: drop } ]`,
		want: "line 5: pools[0].metric_relabel_configs[0].regex: error parsing regexp: missing closing ]: `[)$`; " +
			"write an RE2 expression and escape what is meant literally",
	},
}
