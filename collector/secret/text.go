package secret

import "reflect"

// HideIn replaces the secrets in every text that a value holds, such as the status of a target. What it
// refers to is copied if it changes, since others may read it.
func (s *Store) HideIn(value any) {
	if s.empty() {
		return
	}
	v := reflect.ValueOf(value).Elem()
	if hidden, changed := s.hidden(v); changed {
		v.Set(hidden)
	}
}

// hidden returns a value without secrets, and whether it had any. Fields that are not exported stay.
func (s *Store) hidden(v reflect.Value) (out reflect.Value, changed bool) {
	switch v.Kind() { //nolint:exhaustive // The others hold no text.
	case reflect.String:
		text := s.Hide(v.String())
		return reflect.ValueOf(text).Convert(v.Type()), text != v.String()
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		out = reflect.New(v.Type().Elem())
		inside, changed := s.hidden(v.Elem())
		out.Elem().Set(inside)
		if !changed {
			return v, false
		}
		return out, true
	case reflect.Slice:
		out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			changed = s.into(out.Index(i), v.Index(i)) || changed
		}
	case reflect.Map:
		out = reflect.MakeMapWithSize(v.Type(), v.Len())
		for pairs := v.MapRange(); pairs.Next(); {
			key, other := s.hidden(pairs.Key())
			value, another := s.hidden(pairs.Value())
			out.SetMapIndex(key, value)
			changed = changed || other || another
		}
	case reflect.Struct:
		out = reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				changed = s.into(out.Field(i), v.Field(i)) || changed
			}
		}
	}
	if !changed {
		return v, false
	}
	return out, true
}

func (s *Store) into(to, from reflect.Value) (changed bool) {
	hidden, changed := s.hidden(from)
	to.Set(hidden)
	return changed
}
