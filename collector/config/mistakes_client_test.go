package config_test

// clientMistakes are in the keys about the HTTP client and its connections.
var clientMistakes = []mistake{
	{
		name: "both authorization and basic_auth",
		text: `
authorization: { credentials: secret-password }
basic_auth: { username: a, password: secret-password }
`,
		want: "line 6: pools[0]: at most one of basic_auth, oauth2 & authorization must be configured; " +
			"keep one of them",
	},
	{
		name: "authorization of type Basic",
		text: "authorization: { type: Basic, credentials: secret-password }",
		want: `line 5: pools[0]: authorization type cannot be set to "basic", use "basic_auth" instead`,
	},
	{
		name: "authorization whose type has the token too",
		text: "authorization: { type: Bearer secret-password }",
		want: "line 5: pools[0].authorization.type: has a blank; write one word there, like Bearer, and the token in credentials",
	},
	{
		name: "authorization from a file that is not there",
		text: "authorization: { credentials_file: nowhere }",
		want: "line 5: pools[0].authorization.credentials_file: nowhere: no such file or directory; " +
			"correct the name or create the file",
	},
	{
		name: "headers are a list",
		text: "http_headers: [ X-Key: secret-password ]",
		want: "line 5: pools[0].http_headers must be a mapping, not a list; write it as name: value",
	},
	{
		name: "basic_auth is text",
		text: "basic_auth: secret-password",
		want: "line 5: pools[0].basic_auth must be a mapping of keys, not text; " +
			"known keys: username, username_file, username_ref, password, password_file, password_ref",
	},
	{
		name: "a password and its file",
		text: "basic_auth: { username: a, password: secret-password, password_file: files/password }",
		want: "line 5: pools[0]: at most one of basic_auth password, password_file & password_ref must be " +
			"configured; " +
			"keep one of them",
	},
	{
		name: "a password from a file that is not there",
		text: "basic_auth: { username: a, password_file: nowhere }",
		want: "line 5: pools[0].basic_auth.password_file: nowhere: no such file or directory; " +
			"correct the name or create the file",
	},
	{
		name: "a password in a secret store",
		text: "basic_auth: { username: a, password_ref: vault }",
		want: "line 5: pools[0].basic_auth.password_ref: secret stores are not supported; use password_file",
	},
	{
		name: "a list of passwords",
		text: "basic_auth: { username: a, password: [secret-password] }",
		want: "line 5: pools[0].basic_auth.password must be text, not a list",
	},
	{
		name: "a token whose colon lacks its blank",
		text: "authorization: { credentials:secret-password }",
		want: "line 5: unknown key without a value in pools[0].authorization; write key: value, with a blank after the " +
			"colon; known keys: type, credentials, credentials_file, credentials_ref",
	},
	{
		name: "a password that an alias repeats elsewhere",
		text: `
basic_auth: { username: a, password: &p secret-password }
api_port: *p
metrics_path: *p
`,
		want: `line 5: pools[0].api_port: "<secret>" is not a whole number` + "\n" +
			`line 7: pools[0].metrics_path: "<secret>" does not start with a slash; write /<secret>`,
	},
	{
		name: "a header with its value in its name",
		text: `http_headers: { "X-Key: secret-password": { values: [a] } }`,
		want: `line 5: pools[0].http_headers: "X-Key:" is not a valid header name; write it like X-Tenant`,
	},
	{
		name: "a token by its old name",
		text: "bearer_token: secret-password",
		want: `line 5: unknown key "bearer_token" in pools[0]; use authorization.credentials`,
	},
	{
		name: "OAuth 2.0 without an address for tokens",
		text: "oauth2: { client_id: a, client_secret: secret-password }",
		want: "line 5: pools[0]: oauth2 token_url must be configured",
	},
	{
		name: "OAuth 2.0 with another grant",
		text: `
oauth2:
  client_id: a
  client_secret: secret-password
  token_url: https://login.example/token
  grant_type: password
`,
		want: `line 9: pools[0].oauth2.grant_type: "password" is not supported; use client_credentials`,
	},
	{
		name: "a header from a file that is not there",
		text: "http_headers: { X-Key: { files: [nowhere] } }",
		want: "line 5: pools[0].http_headers.X-Key.files[0]: nowhere: no such file or directory; " +
			"correct the name or create the file",
	},
	{
		name: "a header that other keys set",
		text: "http_headers: { Authorization: { values: [secret-password] } }",
		want: `line 2: pools[0]: setting header "Authorization" is not allowed; other keys set it, such as ` +
			"authorization and basic_auth",
	},
	{
		name: "certificates from a file that is not there",
		text: "tls_config: { ca_file: nowhere.pem }",
		want: "line 5: pools[0].tls_config.ca_file: nowhere.pem: no such file or directory; " +
			"correct the name or create the file",
	},
	{
		name: "certificates from a folder",
		text: "tls_config: { ca_file: files }",
		want: "line 5: pools[0].tls_config.ca_file: files is a folder; name a file",
	},
	{
		name: "a client certificate without its key",
		text: "tls_config: { cert_file: files/ca.pem }",
		want: "line 5: pools[0].tls_config: exactly one of key or key_file must be configured when a client " +
			"certificate is configured",
	},
	{
		name: "an unknown version of TLS",
		text: "tls_config: { min_version: SSL3 }",
		want: "line 5: pools[0].tls_config.min_version: unknown TLS version: SSL3; use TLS12 or TLS13",
	},
	{
		name: "a version of TLS that is not safe",
		text: "tls_config: { min_version: TLS10 }",
		want: "line 5: pools[0].tls_config.min_version: TLS10 is not safe; use TLS12 or TLS13",
	},
	{
		name: "ca_file misspelled",
		text: "tls_config: { ca_flie: x }",
		want: `line 5: unknown key "ca_flie" in pools[0].tls_config; did you mean "ca_file"?`,
	},
	{
		name: "a broken URL of a proxy",
		text: `proxy_url: "http://me:secret-password@bad host"`,
		want: "line 5: pools[0].proxy_url: is not a URL; write it like https://example.com:8443/path",
	},
	{
		name: "a URL of a proxy with a slash in its password",
		text: "proxy_url: http://me:secret-password/1@host",
		want: "line 5: pools[0].proxy_url: is not a URL; write it like https://example.com:8443/path",
	},
	{
		name: "a proxy without its scheme",
		text: "proxy_url: proxy:3128",
		want: `line 5: pools[0].proxy_url: "proxy:3128" has no scheme; did you mean "http://proxy:3128"?`,
	},
	{
		name: "a proxy without its scheme, with a password",
		text: "proxy_url: me:secret-password@10.0.0.1:3128",
		want: `line 5: pools[0].proxy_url: "xxxxx@10.0.0.1:3128" has no scheme; ` +
			`did you mean "http://xxxxx@10.0.0.1:3128"?`,
	},
	{
		name: "addresses for tokens without their schemes",
		text: `
oauth2:
  client_id: a
  client_secret: secret-password
  token_url: login.example:8443/token?secret-password
  proxy_url: //proxy:3128
`,
		want: `
line 8: pools[0].oauth2.token_url: "login.example:8443/token?xxxxx" has no scheme; ` +
			`did you mean "https://login.example:8443/token?xxxxx"?
line 9: pools[0].oauth2.proxy_url: "//proxy:3128" has no scheme; did you mean "http://proxy:3128"?
`,
	},
	{
		name: "follow_redirects is a number",
		text: "follow_redirects: 2",
		want: `line 5: pools[0].follow_redirects: "2" is not true or false`,
	},
	{
		name: "enable_http2 is a number",
		text: "enable_http2: 1",
		want: `line 5: pools[0].enable_http2: "1" is not true or false`,
	},
	{
		name: "networks to allow are a name",
		text: "dial: { allow: [localhost] }",
		want: `line 5: pools[0].dial.allow[0]: "localhost" is not a network; write it like 10.0.0.0/8`,
	},
	{
		name: "networks to deny are a word",
		text: "dial: { deny: [everything] }",
		want: `line 5: pools[0].dial.deny[0]: "everything" is not a network; write it like 10.0.0.0/8`,
	},
	{
		name: "unknown key about networks",
		text: "dial: { block: [10.0.0.0/8] }",
		want: `line 5: unknown key "block" in pools[0].dial; known keys: deny, allow`,
	},
}
