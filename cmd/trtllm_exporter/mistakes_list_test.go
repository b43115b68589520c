package main

import (
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// varyingPage matches errors of the operating system.
const varyingPage = `(?s)page  .*?\n\n`

// goodPool is a valid configuration to modify.
const goodPool = "pools:\n  - pool_id: llama\n    static_configs: [ { targets: [\"HOST:8002\"] } ]\n"

func mistakes() []mistake {
	return append(append(wrongAddresses(), wrongAccess()...), wrongLines()...)
}

// wrongAddresses lists mistakes that only the server reveals.
func wrongAddresses() []mistake {
	triton := simulated(simulate.Spec{Kind: simulate.KindTriton})
	serve := simulated(simulate.Spec{Kind: simulate.KindServe})
	return []mistake{
		{name: "the API port of Triton", command: "trtllm_exporter doctor HOST:8000", there: triton},
		{
			name:    "the gRPC port of Triton",
			command: "trtllm_exporter doctor HOST:8001",
			there:   triton,
			varies:  varyingPage,
		},
		{name: "a port next to the page's", command: "trtllm_exporter doctor http://HOST:8003", there: triton},
		{name: "a typing error in the path", command: "trtllm_exporter doctor http://HOST:8002/metricz", there: triton},
		{
			name:    "the path of iteration statistics",
			command: "trtllm_exporter doctor http://HOST:8000/metrics",
			there:   serve,
		},
		{name: "an unknown path", command: "trtllm_exporter doctor http://HOST:8000/prometheus", there: serve},
		{name: "no port, and the page is not on 8002", command: "trtllm_exporter doctor HOST", there: serve},
		{name: "nothing listens", command: "trtllm_exporter doctor HOST:8002"},
		{
			name:    "a name that does not resolve",
			command: "trtllm_exporter doctor no-such-host.invalid:8002",
			varies:  varyingPage,
		},
		{name: "https on a port without TLS", command: "trtllm_exporter doctor https://HOST:8002", there: triton},
		{
			name:    "a web page",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusOK, "text/html", "<html><body>Please log in</body></html>"),
		},
		{
			name:    "an empty page",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusOK, "text/plain", ""),
		},
		{
			name:    "a page of something else",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusOK, "text/plain", "# TYPE node_load1 gauge\nnode_load1 0.3\n"),
		},
		{
			name:    "a response without a page",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusOK, "text/plain", "Hello, world!\n"),
		},
		{
			name:    "a redirect to a login",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusFound, "text/plain", ""),
		},
		{
			name:    "a server with an error",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusInternalServerError, "text/plain", "out of memory"),
		},
		{
			name:    "another protocol",
			command: "trtllm_exporter doctor HOST:8002",
			there:   speaker("SSH-2.0-OpenSSH_9.6\r\n"),
			varies:  varyingPage,
		},
		{name: "a silent port", command: "trtllm_exporter doctor --timeout 300ms HOST:8002", there: speaker("")},
		{
			name:    "trtllm-serve without its page",
			command: "trtllm_exporter doctor HOST:8000",
			there:   simulated(simulate.Spec{Kind: simulate.KindServe, Setup: simulate.Setup{NoPerfMetrics: true}}),
		},
	}
}

// wrongAccess lists mistakes about TLS and credentials.
func wrongAccess() []mistake {
	const day = 24 * time.Hour
	return []mistake{
		{
			name:    "http on a port with TLS",
			command: "trtllm_exporter doctor HOST:8443",
			there:   secured("", day, tls.NoClientCert),
		},
		{
			name:    "an unknown certificate authority",
			command: "trtllm_exporter doctor https://HOST:8443",
			there:   secured("", day, tls.NoClientCert),
		},
		{
			name:    "a certificate for another name",
			command: "trtllm_exporter doctor --tls.ca-file ca.pem HOST:8443",
			there:   secured("triton.example.com", day, tls.NoClientCert),
		},
		{
			name:    "a certificate that has expired",
			command: "trtllm_exporter doctor --tls.ca-file ca.pem HOST:8443",
			there:   secured("", 0, tls.NoClientCert),
			varies:  varyingPage,
		},
		{
			name:    "no client certificate",
			command: "trtllm_exporter doctor --tls.ca-file ca.pem HOST:8443",
			there:   secured("", day, tls.RequireAnyClientCert),
			varies:  varyingPage,
		},
		{
			name:    "no credentials",
			command: "trtllm_exporter doctor HOST:8002",
			there:   answers(http.StatusUnauthorized, "text/plain", "who are you?"),
		},
		{name: "a missing CA file", command: "trtllm_exporter doctor --tls.ca-file ca.crt HOST:8443"},
		{
			name:    "a missing token file",
			command: "trtllm_exporter doctor --token-file token HOST:8002",
			there:   answers(http.StatusOK, "text/plain", ""),
		},
		{name: "a certificate without its key", command: "trtllm_exporter doctor --tls.cert-file me.pem HOST:8443"},
		{name: "a user without a password", command: "trtllm_exporter doctor --user me HOST:8002"},
		{name: "a password in the address", command: "trtllm_exporter doctor http://me:secret@HOST:8002"},
		{
			name:    "an unknown pool",
			command: "trtllm_exporter doctor --config.file good.yml --pool-id qwen HOST:8002",
			files:   map[string]string{"good.yml": goodPool},
		},
	}
}

// wrongLines lists mistakes in command lines and files, which need no server.
func wrongLines() []mistake {
	all := []mistake{
		{name: "a slash too few in a URL", command: "trtllm_exporter doctor http:/HOST:8002"},
		{name: "no colon in a URL", command: "trtllm_exporter --target http//HOST:8002"},
		{name: "no server named", command: "trtllm_exporter doctor"},
		{name: "another scheme than HTTP", command: "trtllm_exporter doctor grpc://HOST:8001"},
		{name: "a port out of range", command: "trtllm_exporter doctor HOST:80002"},
		{name: "the same server twice", command: "trtllm_exporter doctor HOST:8002 http://HOST:8002"},
		{name: "nothing to scrape", command: "trtllm_exporter"},
		{name: "a flag with a typing error", command: "trtllm_exporter --taget http://HOST:8002"},
		{name: "a file and targets", command: "trtllm_exporter --config.file good.yml --target http://HOST:8002"},
		{
			name:    "a port in use",
			command: "trtllm_exporter --target http://HOST:8002 --web.listen-address HOST:8002",
			there:   answers(http.StatusOK, "text/plain", ""),
		},
		{name: "a missing file", command: "trtllm_exporter --config.file missing.yml"},
	}
	for _, doc := range [][2]string{
		{
			"relabeling that drops every target",
			goodPool + "    relabel_configs: [ { source_labels: [zone], regex: eu, action: keep } ]\n",
		},
		{
			"a pattern without a file",
			"pools:\n  - pool_id: llama\n    file_sd_configs: [ { files: [\"targets/*.yml\"] } ]\n",
		},
		{
			"a source without an answer",
			"pools:\n  - pool_id: llama\n    http_sd_configs: [ { url: \"http://HOST:8004/targets\" } ]\n",
		},
		{
			"a variable of the environment",
			"pools:\n  - pool_id: llama\n    model_ids: { a: [\"${MODEL}\"] }\n    static_configs: [ { targets: " +
				"[\"HOST:8002\"] } ]\n",
		},
		{"the API port in a file", strings.Replace(goodPool, "8002", "8000", 1)},
	} {
		m := mistake{
			name:    doc[0],
			command: "trtllm_exporter doctor --timeout 200ms --config.file config.yml",
			files:   map[string]string{"config.yml": doc[1]},
		}
		if strings.Contains(doc[1], "8000") {
			m.there = simulated(simulate.Spec{Kind: simulate.KindTriton})
		}
		all = append(all, m)
	}
	for _, doc := range [][2]string{
		{
			"a key with a typing error",
			"pools:\n  - pool_di: llama\n    static_configs: [ { targets: [\"HOST:8002\"] } ]\n",
		},
		{"a tab in YAML", "pools:\n\t- pool_id: llama\n"},
		{"an empty file", ""},
		{"no pool", "global: { scrape_interval: 5s }\n"},
		{"a pool without targets", "pools:\n  - pool_id: llama\n"},
		{"a target without port", "pools:\n  - pool_id: llama\n    static_configs: [ { targets: [HOST] } ]\n"},
		{
			"a target with scheme",
			"pools:\n  - pool_id: llama\n    static_configs: [ { targets: [\"http://HOST:8002\"] } ]\n",
		},
		{"a time without unit", "global: { scrape_interval: 5 }\n" + goodPool},
		{"a timeout longer than the interval", goodPool + "    scrape_interval: 5s\n    scrape_timeout: 10s\n"},
		{
			"two replicas of one name",
			"pools:\n  - pool_id: llama\n    static_configs: [ { targets: [\"HOST:8002\", \"HOST:8002\"] } ]\n",
		},
		{
			"an invalid expression",
			goodPool + "    relabel_configs: [ { source_labels: [a], regex: \"(\", action: keep } ]\n",
		},
		{"a missing CA in the configuration", goodPool + "    scheme: https\n    tls_config: { ca_file: ca.crt }\n"},
		{"an unknown kind of server", goodPool + "    engine: trition\n"},
	} {
		all = append(all, mistake{
			name:    doc[0],
			command: "trtllm_exporter check-config config.yml",
			files:   map[string]string{"config.yml": doc[1]},
		})
	}
	return all
}
