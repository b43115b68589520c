package collector_test

import (
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	prometheusrelabel "github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// validValues has valid values of keys that accept only a few.
var validValues = map[string]string{
	"Engine": "vllm", "Scheme": "https", "APIScheme": "https", "APIProtocol": config.ProtocolGRPC,
}

// change changes a value; it returns false for a value that cannot be set.
func change(v reflect.Value, name string) bool {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "other")
		if text := validValues[name]; text != "" {
			v.SetString(text)
		}
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("other").Convert(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && change(v.Field(i), v.Type().Field(i).Name) {
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}

// keys calls do with each key of a block, and of nested blocks in its package; a block of another
// package counts as one key.
func keys(block reflect.Value, path string, do func(path string, key reflect.Value)) {
	for i := range block.NumField() {
		field, name := block.Type().Field(i), path+"."+block.Type().Field(i).Name
		switch {
		case field.Type.Kind() == reflect.Struct && field.Type.PkgPath() == reflect.TypeFor[config.Pool]().PkgPath():
			keys(block.Field(i), name, do)
		default:
			do(name, block.Field(i))
		}
	}
}

func TestEveryPoolKeyHasAnEffect(t *testing.T) {
	c, err := collector.New(collector.Options{
		Logger:     slog.New(slog.DiscardHandler),
		Store:      snapshot.NewStore(),
		Registerer: prometheus.NewRegistry(),
	})
	require.NoError(t, err)
	handed := func(with func(*config.Pool)) []any {
		f := config.DefaultFile
		p := config.DefaultPool
		p.PoolID, p.APIPort = "pool", 8000 // If the API has the port of the page, it has its scheme.
		with(&p)
		f.Pools = []config.Pool{p}
		f.Resolve()
		return c.AffectedByPool(&f, &f.Pools[0], model.LabelSet{model.AddressLabel: "a:1", "zone": "a"})
	}
	usual := handed(func(*config.Pool) {})
	require.Equal(t, usual, handed(func(*config.Pool) {}), "the settings are equal twice")
	found := 0
	keys(reflect.ValueOf(&config.Pool{}).Elem(), "", func(path string, _ reflect.Value) {
		if slices.Contains([]string{".StallAfter", ".FailingMin", ".Kinds"}, path) {
			return // They are keys of the document.
		}
		found++
		other := handed(func(p *config.Pool) {
			keys(reflect.ValueOf(p).Elem(), "", func(candidate string, key reflect.Value) {
				switch rules, ok := reflect.TypeAssert[*relabel.Rules](key.Addr()); {
				case candidate != path:
				case ok:
					*rules = relabel.Rules{
						{
							Action:               prometheusrelabel.LabelDrop,
							Regex:                prometheusrelabel.MustNewRegexp("zone"),
							NameValidationScheme: model.UTF8Validation,
						},
					}
				case path == ".Expect.Replicas":
					p.Expect.Replicas = &config.Replicas{}
				default:
					require.True(t, change(key, path[strings.LastIndex(path, ".")+1:]), path)
				}
			})
		})
		require.False(t, reflect.DeepEqual(usual, other), "nobody is given %s", path)
	})
	require.Greater(t, found, 25)
}
