package config_test

// validKeys are further keys of a pool.
var validKeys = []document{
	{
		name: "no further keys",
		text: "",
	},
	{
		name: "keys without values",
		text: `
engine:
limits:
expect:
basic_auth:
model_ids:
metrics_path:
`,
	},
	{
		name: "an interval of the pool shorter than the default timeout",
		text: "scrape_interval: 1s",
	},
	{
		name: "start_budget",
		text: "start_budget: 45m",
	},
	{
		name: "cost",
		text: "cost: { replica_hour: 12.5, currency: EUR }",
	},
	{
		name: "versions that the API does not report",
		text: `
engine_version: 2.60
trtllm_version: 1.2.0rc1
`,
	},
	{
		name: "engine_dir",
		text: "engine_dir: /models/engine",
	},
	{
		name: "engine dynamo",
		text: "engine: dynamo",
	},
	{
		name: "engine nim with its path",
		text: `
engine: nim
metrics_path: /v1/metrics
`,
	},
	{
		name: "engine triton",
		text: "engine: triton",
	},
	{
		name: "engine triton-openai",
		text: "engine: triton-openai",
	},
	{
		name: "engine trtllm-serve with its path",
		text: `
engine: trtllm-serve
metrics_path: /prometheus/metrics
`,
	},
	{
		name: "iteration_stats",
		text: `
engine: trtllm-serve
iteration_stats: true
`,
	},
	{
		name: "expected versions and determinism",
		text: `expect: { engine_version: "2.64.0", trtllm_version: "1.1.0", determinism: true }`,
	},
	{
		name: "honor_labels",
		text: "honor_labels: true",
	},
	{
		name: "identity_interval",
		text: "identity_interval: 5m",
	},
	{
		name: "metrics_path",
		text: "metrics_path: /custom/metrics",
	},
	{
		name: "api_path",
		text: `
metrics_path: /llama/metrics
api_path: /llama/api
api_scheme: https
`,
	},
	{
		name: "api_port with a scheme",
		text: `
api_port: 8000
api_scheme: https
`,
	},
	{
		name: "API over gRPC",
		text: `
api_protocol: grpc
api_port: 8001
api_scheme: https
`,
	},
	{
		name: "model_ids",
		text: `
model_ids:
  llama-70b: [ensemble, tensorrt_llm, tensorrt_llm_bls]
  org/embed.v2: [embedder]
`,
	},
	{
		name: "relabeling of targets",
		text: `
relabel_configs:
  - source_labels: [__meta_filepath]
    regex: '.*/([^/]+)\.json'
    target_label: zone
    replacement: zone-$1
  - action: labeldrop
    regex: tmp_.*
  - source_labels: [__address__]
    action: hashmod
    modulus: 4
    target_label: __tmp_shard
`,
	},
	{
		name: "relabeling of metrics",
		text: `
metric_relabel_configs:
  - source_labels: [__name__]
    action: drop
    regex: nv_gpu_.*
  - action: lowercase
    source_labels: [model]
    target_label: model
`,
	},
	{
		name: "all limits",
		text: `
limits:
  body: 32MiB
  compressed_body: 8MiB
  headers: 32KiB
  samples: 100000
  labels: 32
  label_name: 128
  label_value: 1024
  name: 128
  help: 200
  output_series: 20000
  output_bytes: 2MiB
  output_models: 16
`,
	},
	{
		name: "no limits",
		text: `
limits:
  body: 0
  compressed_body: 0
  samples: 0
  labels: 0
  label_name: 0
  label_value: 0
  name: 0
  help: 0
  output_series: 0
  output_bytes: 0
  output_models: 0
`,
	},
	{
		name: "all keys of the canary but cancel",
		text: `
canary:
  enabled: true
  interval: 5m
  timeout: 1m
  first_token_timeout: 40s
  gap_timeout: 10s
  end_timeout: 15s
  model: meta/llama-3.1-8b-instruct
  prompt: "Say the alphabet: a, b, c,"
  max_tokens: 16
  endpoint: completions
`,
	},
	{
		name: "a canary that cancels",
		text: "canary: { enabled: true, cancel_within: 12s, cancel_tokens: 2048 }",
	},
	{
		name: "a canary that confirms only",
		text: "canary: { confirm: true }",
	},
	{
		name: "a canary by default",
		text: "canary: { enabled: true }",
	},
	{
		name: "a canary over gRPC",
		text: `
api_protocol: grpc
canary: { enabled: true }
`,
	},
	{
		name: "a canary every 10 s",
		text: "canary: { enabled: true, interval: 10s }",
	},
	{
		name: "no canary",
		text: "canary: { enabled: false }",
	},
	{
		name: "networks to deny and to allow",
		text: "dial: { deny: [10.9.0.0/16], allow: [169.254.1.1] }",
	},
	{
		name: "authorization",
		text: "authorization: { type: Bearer, credentials: s3cr3t-token }",
	},
	{
		name: "authorization from a file",
		text: "authorization: { credentials_file: files/password }",
	},
	{
		name: "a password",
		text: "basic_auth: { username: prometheus, password: hunter2 }",
	},
	{
		name: "a password from a file",
		text: "basic_auth: { username: prometheus, password_file: files/password }",
	},
	{
		name: "OAuth 2.0",
		text: `
oauth2:
  client_id: exporter
  client_secret: oauth-secret
  token_url: https://user:url-secret@login.example/token
  scopes: [metrics]
  endpoint_params: { audience: triton, client_assertion_key: param-secret }
`,
	},
	{
		name: "headers as values, secrets and files",
		text: `
http_headers:
  X-Tenant: { values: [blue] }
  X-Api-Key: { values: [visible-key] }
  X-Token: { secrets: [hidden-token] }
  X-File: { files: [files/password] }
`,
	},
	{
		name: "a proxy with secrets",
		text: `
proxy_url: http://user:proxy-secret@proxy.example:3128?token=query-secret
no_proxy: 10.0.0.0/8
proxy_connect_header:
  Proxy-Authorization: [connect-secret]
`,
	},
	{
		name: "redirects without HTTP/2",
		text: `
follow_redirects: true
enable_http2: false
`,
	},
	{
		name: "HTTPS without verification",
		text: `
scheme: https
tls_config:
  insecure_skip_verify: true
`,
	},
	{
		name: "HTTPS with its own certificates",
		text: `
scheme: https
tls_config:
  ca_file: files/ca.pem
  server_name: triton.example
  min_version: TLS12
`,
	},
}
