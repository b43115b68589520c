package config_test

// validFiles are whole documents.
var validFiles = []document{
	{
		name: "a pool merged into another",
		text: `
pools:
  - &llama
    pool_id: llama
    engine: triton
    static_configs: [ { targets: ["10.0.0.1:8002"] } ]
  - <<: *llama
    pool_id: qwen
    static_configs: [ { targets: ["10.0.0.2:8002"] } ]
`,
	},
	{
		name: "comments and a start of the document",
		text: `
# A comment.
---
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
# The end.
`,
	},
	{
		name: "letters beyond ASCII",
		text: `
pools:
  - pool_id: größte-flotte
    static_configs: [ { targets: ["10.0.0.1:8002"] } ]
`,
	},
	{
		name: "silent replicas and a silent pool",
		text: `
pools:
  - pool_id: a
    static_configs:
      - { targets: ["a:8002"], labels: { replica_id: leader } }
      - { targets: ["b:8002"], labels: { replica_id: follower, __silent__: "true" } }
  - pool_id: followers
    silent: true
    static_configs: [ { targets: ["c:8002"] } ]
`,
	},
	{
		name: "objectives and expected replicas",
		text: `
pools:
  - pool_id: a
    static_configs: [{ targets: [h:1] }]
    expect: { replicas: 8 }
    slo:
      ttft: { le: 2s, objective: 0.95 }
      tpot: { le: 50ms, objective: 0.95 }
      itl: { le: 100ms, objective: 0.99 }
      e2e: { le: 30s, objective: 0.9 }
      availability: { objective: 0.995 }
  - pool_id: b
    static_configs: [{ targets: [h:2] }]
    expect: { replicas: 0-8 }
    slo: { ttft: { le: 1s, objective: 0.95 } }
`,
	},
	{
		name: "a pool with its own interval and timeout",
		text: `
global: { scrape_interval: 10s }
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
    scrape_interval: 1s
    scrape_timeout: 500ms
`,
	},
	{
		name: "one replica_id in two pools",
		text: `
pools:
  - pool_id: llama
    static_configs: [ { targets: ["10.0.0.1:8002"], labels: { replica_id: r0 } } ]
  - pool_id: qwen
    static_configs: [ { targets: ["10.0.0.2:8002"], labels: { replica_id: r0 } } ]
`,
	},
	{
		name: "names that relabeling parts",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002", "10.0.0.2:8002"]
        labels: { replica_id: r }
    relabel_configs:
      - source_labels: [__address__]
        target_label: replica_id
`,
	},
	{
		name: "groups of targets with labels and without",
		text: `
pools:
  - pool_id: llama
    static_configs:
      - targets: ["10.0.0.1:8002"]
        labels: { replica_id: r0, zone: a }
      - targets: ["10.0.0.2:8002", "[2001:db8::1]:8002", "[fe80::1%eth0]:8002", "[fe80::1%251]:8002", "triton-2.local:8002"]
`,
	},
	{
		name: "discovery by DNS",
		text: `
pools:
  - pool_id: llama
    dns_sd_configs:
      - names: ["_metrics._tcp.llama.svc.cluster.local"]
      - names: ["llama.svc.cluster.local"]
        type: A
        port: 8002
        refresh_interval: 10s
`,
	},
	{
		name: "discovery by files",
		text: `
pools:
  - pool_id: llama
    file_sd_configs:
      - files: ["targets/*.json", "/etc/targets/llama.yml"]
        refresh_interval: 30s
`,
	},
	{
		name: "discovery by HTTP",
		text: `
pools:
  - pool_id: llama
    http_sd_configs:
      - url: http://inventory.example:8080/targets
        refresh_interval: 30s
        basic_auth: { username: me, password_file: files/password }
`,
	},
	{
		name: "discovery in Kubernetes",
		text: `
pools:
  - pool_id: a
    kubernetes_sd_configs:
      - role: pod
        namespaces: { own_namespace: true }
        selectors: [ { role: pod, label: app=triton } ]
      - role: endpointslice
        api_server: https://kubernetes.example:6443
        tls_config: { insecure_skip_verify: true }
`,
	},
}

// validBlocks are blocks before the pools.
var validBlocks = []document{
	{
		name: "global without keys",
		text: "global:",
	},
	{
		name: "failing_min",
		text: "global: { failing_min: 1 }",
	},
	{
		name: "interval, timeout and window of all pools",
		text: `
global:
  scrape_interval: 15s
  scrape_timeout: 5s
  window: 2m
`,
	},
	{
		name: "an interval shorter than the default timeout",
		text: "global: { scrape_interval: 2s }",
	},
	{
		name: "stall_after",
		text: "global: { stall_after: 2m }",
	},
	{
		name: "window",
		text: "global: { window: 10m }",
	},
	{
		name: "versions as labels and series",
		text: "identity: { versions: both }",
	},
	{
		name: "versions as labels",
		text: "identity: { versions: info }",
	},
	{
		name: "a shard of three",
		text: "sharding: { total: 3, index: 2 }",
	},
	{
		name: "a shard whose index is given elsewhere",
		text: "sharding: { total: 3 }",
	},
	{
		name: "all keys of exposition",
		text: `
exposition:
  raw: false
  normalised: true
  aliases: [vllm, trtllm, otel]
  page_max_age: 1s
`,
	},
	{
		name: "the servers' own series only",
		text: "exposition: { normalised: false }",
	},
	{
		name: "the servers' own series that nothing repeats",
		text: "exposition: { raw: unmapped }",
	},
	{
		name: "the lean setting",
		text: "exposition: { raw: false, normalised: [core] }",
	},
	{
		name: "no gauges over the window",
		text: "exposition: { window_gauges: false }",
	},
}
