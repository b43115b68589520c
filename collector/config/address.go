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
	case err != nil && text != ZoneOfURL(text):
		return fmt.Errorf("%q does not spell its zone as URLs do; write %q", redactURL(text), redactURL(ZoneOfURL(text)))
	case err != nil:
		return errors.New(adviceURL)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q has the scheme %s; use http or https", redactURL(text), u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("%q has no host; write it like https://example.com:8443/path", redactURL(text))
	}
	return nil
}

// ZoneOfURL returns a URL with the zone of its IPv6 address spelled as URLs do: [fe80::1%eth0] as [fe80::1%25eth0].
func ZoneOfURL(text string) string { return plainZone.ReplaceAllString(text, "${1}%25$2") }

// plainZone matches an IPv6 address and a percent that is not spelled %25, and zoneOfURL one that is, unless that is
// the number of an interface.
var (
	plainZone = regexp.MustCompile(`^([^/]*//\[[0-9a-fA-F:.]+)%([^2]|2[^5]|25\])`)
	zoneOfURL = regexp.MustCompile(`^(\[[0-9a-fA-F:.]+)%25([^]]*[^]0-9])`)
)

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
	meant := redactURL(ZoneOfURL(scheme + "://" + address))
	if u, err := url.Parse(meant); err != nil || u.Hostname() == "" || begin == "/" {
		return errors.New(adviceURL)
	}
	given := strings.TrimPrefix(redactURL(scheme+"://"+address), scheme+"://")
	return fmt.Errorf("%q has no scheme; did you mean %q?", begin+given, meant)
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
