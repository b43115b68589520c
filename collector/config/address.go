package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

const adviceURL = "is not a URL; write it like https://example.com:8443/path"

// CheckURL returns an error unless text is a URL of HTTP that leads somewhere. It is the rule for
// every flag and value that is a URL; only addresses of servers may also be host:port. Errors hide
// passwords.
func CheckURL(text string) error {
	if err := checkScheme(text); err != nil {
		return err
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New(adviceURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q has the scheme %s; use http or https", redactURL(text), u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("%q has no host; write it like https://example.com:8443/path", redactURL(text))
	}
	return nil
}

// checkScheme returns an error if a URL lacks its scheme, and says what was probably meant.
func checkScheme(text string) error {
	if strings.Contains(text, "://") {
		return nil
	}
	begin := regexp.MustCompile(`(?i)^(https?:)?/*`).FindString(text)
	address, scheme := text[len(begin):], "http"
	host, _, _ := strings.Cut(address, "/")
	if strings.HasPrefix(strings.ToLower(begin), "https:") || strings.HasSuffix(host, "443") {
		scheme = "https"
	}
	meant := redactURL(scheme + "://" + address)
	if u, err := url.Parse(meant); err != nil || u.Hostname() == "" || begin == "/" {
		return errors.New(adviceURL)
	}
	return fmt.Errorf("%q has no scheme; did you mean %q?", begin+strings.TrimPrefix(meant, scheme+"://"), meant)
}

// isURLKey reports whether the value of a key is a URL.
func isURLKey(key string) bool {
	return key == "url" || key == "api_server" || strings.HasSuffix(key, "_url")
}

// hasScheme reports whether a URL begins with a scheme. Anything else than text is left to the type
// of the key, and an empty text is none.
func (c *checker) hasScheme(n *yaml.Node, path string) bool {
	n = resolve(n)
	if n.Kind != yaml.ScalarNode || n.Value == "" || n.ShortTag() == "!!null" {
		return true
	}
	err := checkScheme(n.Value)
	if err == nil {
		return true
	}
	c.add(n, "%s: %s", path, err)
	c.refuse(path)
	return false
}
