package discovery

import (
	"errors"
	"net/http"
	"net/url"
	"reflect"

	promconfig "github.com/prometheus/common/config"
	promdiscovery "github.com/prometheus/prometheus/discovery"
)

// carefulLogin returns a configuration whose client sends a server of tokens the same requests, but follows its
// redirects as [careful] does: they repeat the client's secret. Prometheus makes that client with its first request,
// and the only thing of ours that it asks before it sends one is the proxy of the configuration.
func carefulLogin(c promdiscovery.Config) (promdiscovery.Config, error) {
	const field = "HTTPClientConfig"
	given := reflect.ValueOf(c).Elem()
	client, asks := given.Type().FieldByName(field)
	if !asks {
		return c, nil
	}
	settings, asks := reflect.TypeAssert[promconfig.HTTPClientConfig](given.FieldByIndex(client.Index))
	if !asks || settings.OAuth2 == nil {
		return c, nil
	}
	// The configuration stays as it is, since a reload compares it.
	login := *settings.OAuth2
	settings.OAuth2 = &login
	proxy := reflect.ValueOf(&login.ProxyConfig).Elem().FieldByName("proxyFunc")
	if !proxy.IsValid() {
		return nil, errors.New("the client of its server of tokens cannot be guarded")
	}
	guarded := reflect.ValueOf(guardedProxy(login.Proxy()))
	reflect.NewAt(proxy.Type(), proxy.Addr().UnsafePointer()).Elem().Set(guarded)
	guardedConfig := reflect.New(given.Type())
	guardedConfig.Elem().Set(given)
	guardedConfig.Elem().FieldByIndex(client.Index).Set(reflect.ValueOf(settings))
	result, _ := reflect.TypeAssert[promdiscovery.Config](guardedConfig)
	return result, nil
}

// guardedProxy returns a function that refuses requests which stray, and otherwise returns their proxy, nil for none.
func guardedProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(r *http.Request) (*url.URL, error) {
		if err := strays(r); err != nil || proxy == nil {
			return nil, err
		}
		return proxy(r)
	}
}
