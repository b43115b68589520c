package config_test

// targetMistakes are in the targets of a pool.
var targetMistakes = []mistake{
	{
		name: "a range of targets",
		text: `"10.0.0.[1-8]:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.[1-8]:8002" is not the address of one host; ` +
			"patterns, lists and networks are not expanded, so list each address like 10.0.0.1:8002",
	},
	{
		name: "targets in braces",
		text: `"gpu-{1..3}:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "gpu-{1..3}:8002" is not the address of one host; ` +
			"patterns, lists and networks are not expanded, so list each address like 10.0.0.1:8002",
	},
	{
		name: "a network of targets",
		text: `"10.0.0.0/24:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.0/24:8002" is not the address of one host; ` +
			"patterns, lists and networks are not expanded, so list each address like 10.0.0.1:8002",
	},
	{
		name: "two targets in one text",
		text: `"10.0.0.1,10.0.0.2:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.1,10.0.0.2:8002" is not the address of one host; ` +
			"patterns, lists and networks are not expanded, so list each address like 10.0.0.1:8002",
	},
	{
		name: "a target in typographic quotes",
		text: `"“gpu-1:8002”"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "“gpu-1:8002”" is not the address of one host; ` +
			"patterns, lists and networks are not expanded, so list each address like 10.0.0.1:8002",
	},
	{
		name: "a mapping in place of a target",
		text: "{ address: gpu-1, replica_id: r0 }",
		want: "line 4: pools[0].static_configs[0].targets[0] must be text, not a mapping; write it like 10.0.0.1:8002, and labels beside targets",
	},
	{
		name: "a template that was not filled in",
		text: "{{ host }}:8002",
		want: "line 4: pools[0].static_configs[0].targets[0] must be text, not a mapping; it looks like a template that was not filled in",
	},
	{
		name: "an IPv6 address without brackets",
		text: `"2001:db8::1"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "2001:db8::1" is not host:port; ` +
			"write an IPv6 address like [::1]:8002",
	},
	{
		name: "a zone as in a URL",
		text: `"[fe80::1%25eth0]:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "[fe80::1%25eth0]:8002" spells its zone as URLs do; ` +
			`write "[fe80::1%eth0]:8002"`,
	},
	{
		name: "a target with two ports",
		text: `"10.0.0.1:8002:8003"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.1:8002:8003" has two ports; ` +
			"write it like 10.0.0.1:8002",
	},
	{
		name: "a target with an environment variable",
		text: `"$HOST:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "$HOST:8002" is not host:port; ` +
			"environment variables are not expanded: write the value",
	},
	{
		name: "a target without host",
		text: `":8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: ":8002" has no host; write it like localhost:8002`,
	},
	{
		name: "a target without port",
		text: `"10.0.0.1"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.1" has no port; write it like 10.0.0.1:8002`,
	},
	{
		name: "a target that is a port",
		text: `"8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "8002" is a port alone; write it like localhost:8002`,
	},
	{
		name: "a target with a path",
		text: `"10.0.0.1:8002/metrics"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.1:8002/metrics" has a path; ` +
			`write "10.0.0.1:8002" and put the path into metrics_path`,
	},
	{
		name: "a target with a port above 65535",
		text: `"10.0.0.1:80020"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "10.0.0.1:80020" has the port "80020"; use 1 to 65535`,
	},
	{
		name: "a target with a scheme",
		text: `"http://10.0.0.1:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "http://10.0.0.1:8002" has a scheme; ` +
			`write "10.0.0.1:8002" and scheme: http`,
	},
	{
		name: "a target with a scheme and a path",
		text: `"http://10.0.0.1:8002/metrics"`,
		want: `line 4: pools[0].static_configs[0].targets[0]: "http://10.0.0.1:8002/metrics" has a scheme and a path; ` +
			`write "10.0.0.1:8002", scheme: http and metrics_path: /metrics`,
	},
	{
		name: "a target with user name and password",
		text: `"me:pw@10.0.0.1:8002"`,
		want: "line 4: pools[0].static_configs[0].targets[0]: has a user name or password; " +
			"write host:port and use basic_auth",
	},
	{
		name: "a target listed twice",
		text: `"10.0.0.1:8002", "10.0.0.1:8002"`,
		want: `line 4: pools[0].static_configs[0].targets[1]: pool_id "llama" and replica_id "10.0.0.1:8002" are ` +
			"already used by pools[0].static_configs[0].targets[0]; give each target its own replica_id",
	},
}
