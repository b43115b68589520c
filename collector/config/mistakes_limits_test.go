package config_test

// limitMistakes are in the limits of a pool.
var limitMistakes = []mistake{
	{
		name: "a limit by its name in Prometheus",
		text: "sample_limit: 10",
		want: `line 5: unknown key "sample_limit" in pools[0]; use limits.samples`,
	},
	{
		name: "a key of another block",
		text: "limits: { targets: 4 }",
		want: `line 5: unknown key "targets" in pools[0].limits; it belongs in pools[].static_configs[]`,
	},
	{
		name: "body in an unknown unit",
		text: "limits: { body: 16 elephants }",
		want: `line 5: pools[0].limits.body: "16 elephants" is not a size like 16MiB`,
	},
	{
		name: "body below 0",
		text: "limits: { body: -1MiB }",
		want: `line 5: pools[0].limits.body: "-1MiB" is not a size like 16MiB`,
	},
	{
		name: "compressed_body in words",
		text: "limits: { compressed_body: big }",
		want: `line 5: pools[0].limits.compressed_body: "big" is not a size like 16MiB`,
	},
	{
		name: "headers is a list",
		text: "limits: { headers: [64KiB] }",
		want: "line 5: pools[0].limits.headers must be a size like 16MiB, not a list",
	},
	{
		name: "headers below 1 KiB",
		text: "limits: { headers: 12B }",
		want: "line 5: pools[0].limits.headers: 12B is too small; use 1KiB or more, the default is 64KiB",
	},
	{
		name: "samples with a unit",
		text: "limits: { samples: 50k }",
		want: `line 5: pools[0].limits.samples: "50k" is not a whole number`,
	},
	{
		name: "samples below 0",
		text: "limits: { samples: -1 }",
		want: "line 5: pools[0].limits.samples: -1 is below 0; give a limit, or 0 for none",
	},
	{
		name: "labels in words",
		text: "limits: { labels: many }",
		want: `line 5: pools[0].limits.labels: "many" is not a whole number`,
	},
	{
		name: "label_name below 0",
		text: "limits: { label_name: -1 }",
		want: "line 5: pools[0].limits.label_name: -1 is below 0; give a limit, or 0 for none",
	},
	{
		name: "label_value with a unit and misspelled",
		text: "limits: { label_value: 4KiB, label_vlaue: 3 }",
		want: `
line 5: pools[0].limits.label_value: "4KiB" is not a whole number
line 5: unknown key "label_vlaue" in pools[0].limits; did you mean "label_value"?
`,
	},
	{
		name: "name in words",
		text: "limits: { name: long }",
		want: `line 5: pools[0].limits.name: "long" is not a whole number`,
	},
	{
		name: "help below 0",
		text: "limits: { help: -1 }",
		want: "line 5: pools[0].limits.help: -1 is below 0; give a limit, or 0 for none",
	},
	{
		name: "output_series below 0",
		text: "limits: { output_series: -5 }",
		want: "line 5: pools[0].limits.output_series: -5 is below 0; give a limit, or 0 for none",
	},
	{
		name: "output_bytes in an unknown unit",
		text: "limits: { output_bytes: 5 pages }",
		want: `line 5: pools[0].limits.output_bytes: "5 pages" is not a size like 16MiB`,
	},
	{
		name: "output_models below 0",
		text: "limits: { output_models: -1 }",
		want: "line 5: pools[0].limits.output_models: -1 is below 0; give a limit, or 0 for none",
	},
}
