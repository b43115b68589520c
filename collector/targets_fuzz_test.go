package collector

import (
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// FuzzURL compares the address of a page with its labels: scheme, host, path and
// parameters are kept unchanged and in place, or the target is dropped with a reason that
// contains no parameter value.
func FuzzURL(f *testing.F) {
	for _, seed := range [][5]string{
		{"http", "10.2.0.7:8002", "/metrics", "key", "s3cret value&more=1#x"},
		{"https", "[fd00::7]:8002", "/a b/%41/é", "a=b&c", ""},
		{"http", "triton:8002", "", "x", "…/metrics"},
		{"http", "triton:8002", "/metrics?x=1#top", "", "first"},
		{"http", "user:password@triton:8002", "//other/metrics", "k", "v"},
		{"http", "triton/metrics?token=x", "metrics", "k", "\x00\xff"},
		{"", "triton:port", ":", "k", "v"},
		{"file", "", "/etc/passwd", "k", "v"},
		{"http", "[fe80::1%eth0]:8002", "/..//metrics", "k", "v"},
		{"#", "0", "0", "0", "0"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	f.Fuzz(func(t *testing.T, scheme, address, path, param, value string) {
		const secret = "never-to-be-shown-"
		value = secret + value
		set := model.LabelSet{
			model.SchemeLabel: model.LabelValue(scheme), model.AddressLabel: model.LabelValue(address),
			model.MetricsPathLabel:                          model.LabelValue(path),
			model.LabelName(model.ParamLabelPrefix + param): model.LabelValue(value),
		}
		all, s := targetsFound(set, model.LabelSet{model.AddressLabel: "bystander:8002"})
		require.Equal(t, "http://bystander:8002", all[len(all)-1].MetricsURL)
		require.NotContains(t, s.Error, secret)
		if len(all) == 1 {
			require.Equal(t, 1, s.LeftOut)
			return
		}
		u, err := url.Parse(all[0].MetricsURL)
		require.NoError(t, err)
		require.Nil(t, u.User)
		require.Empty(t, u.Fragment)
		require.Equal(t, address, u.Host)
		if scheme != "" {
			require.Equal(t, strings.ToLower(scheme), u.Scheme)
		}
		if path != "" {
			require.Equal(t, "/"+strings.TrimPrefix(path, "/"), u.Path)
		}
		require.Equal(t, url.Values{param: {value}}, u.Query())
		require.NotContains(t, all[0].Key(), secret)
	})
}
