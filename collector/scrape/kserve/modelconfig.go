package kserve

// modelConfig is the message ModelConfig (Triton common,
// protobuf/model_config.proto, numbers as of 2.51.0): what a model is made of,
// how requests reach it and what it is given. Left out are optimization,
// warm-up, sequence batching and repository agents, which models of a language
// model server do not use and nothing here reads.
func modelConfig() message {
	key, value := text("key"), text("value")
	return message{
		1:  text("name"),
		2:  text("platform"),
		3:  block("version_policy", versionPolicy()),
		4:  number("max_batch_size"),
		5:  block("input", input()).list(),
		6:  block("output", output()).list(),
		7:  block("instance_group", instanceGroup()).list(),
		8:  text("default_model_filename"),
		9:  entries("cc_model_filenames", key, value),
		10: entries("metric_tags", key, value),
		11: block("dynamic_batching", dynamicBatching()),
		14: entries("parameters", key, block("value", message{1: text("string_value")})),
		15: block("ensemble_scheduling", message{1: block("step", ensembleStep()).list()}),
		17: text("backend"),
		19: block("model_transaction_policy", message{1: flag("decoupled")}),
		24: block("response_cache", message{1: flag("enable")}),
		25: text("runtime"),
	}
}

// dataType is a field of type DataType.
func dataType() field {
	return choice("data_type", "TYPE_INVALID", "TYPE_BOOL", "TYPE_UINT8", "TYPE_UINT16", "TYPE_UINT32", "TYPE_UINT64",
		"TYPE_INT8", "TYPE_INT16", "TYPE_INT32", "TYPE_INT64", "TYPE_FP16", "TYPE_FP32", "TYPE_FP64", "TYPE_STRING", "TYPE_BF16")
}

func versionPolicy() message {
	return message{
		1: block("latest", message{1: number("num_versions")}),
		2: block("all", message{}),
		3: block("specific", message{1: number("versions").list()}),
	}
}

func reshape() message { return message{1: number("shape").list()} }

func input() message {
	return message{
		1: text("name"), 2: dataType(), 3: choice("format", "FORMAT_NONE", "FORMAT_NHWC", "FORMAT_NCHW"),
		4: number("dims").list(), 5: block("reshape", reshape()), 6: flag("is_shape_tensor"),
		7: flag("allow_ragged_batch"), 8: flag("optional"), 9: flag("is_non_linear_format_io"),
	}
}

func output() message {
	return message{
		1: text("name"), 2: dataType(), 3: number("dims").list(), 4: text("label_filename"),
		5: block("reshape", reshape()), 6: flag("is_shape_tensor"), 7: flag("is_non_linear_format_io"),
	}
}

func instanceGroup() message {
	return message{
		1: text("name"), 2: number("count"), 3: number("gpus").list(),
		4: choice("kind", "KIND_AUTO", "KIND_GPU", "KIND_CPU", "KIND_MODEL"),
		5: text("profile").list(), 7: flag("passive"), 9: text("host_policy"),
	}
}

func queuePolicy() message {
	return message{
		1: choice("timeout_action", "REJECT", "DELAY"), 2: number("default_timeout_microseconds"),
		3: flag("allow_timeout_override"), 4: number("max_queue_size"),
	}
}

func dynamicBatching() message {
	return message{
		1: number("preferred_batch_size").list(), 2: number("max_queue_delay_microseconds"),
		3: flag("preserve_ordering"), 4: number("priority_levels"), 5: number("default_priority_level"),
		6: block("default_queue_policy", queuePolicy()),
		7: entries("priority_queue_policy", number("key"), block("value", queuePolicy())),
	}
}

func ensembleStep() message {
	key, value := text("key"), text("value")
	return message{
		1: text("model_name"), 2: number("model_version"), 3: entries("input_map", key, value),
		4: entries("output_map", key, value), 5: text("model_namespace"),
	}
}
