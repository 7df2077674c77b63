package main

import (
	"encoding/json"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"gopkg.in/yaml.v3"
)

// encodingFunctions come on top of sprig. None of them fails: an error becomes text, or stands under the key Error.
var encodingFunctions = template.FuncMap{
	"toToml":        toTOML,
	"fromToml":      func(text string) map[string]any { return decodeMap(toml.Unmarshal, text) },
	"toYaml":        toYAML,
	"fromYaml":      func(text string) map[string]any { return decodeMap(yaml.Unmarshal, text) },
	"fromYamlArray": func(text string) []any { return decodeList(yaml.Unmarshal, text) },
	"toJson":        toJSON,
	"fromJson":      func(text string) map[string]any { return decodeMap(json.Unmarshal, text) },
	"fromJsonArray": func(text string) []any { return decodeList(json.Unmarshal, text) },
}

func toTOML(value any) string {
	var text strings.Builder
	if err := toml.NewEncoder(&text).Encode(value); err != nil {
		return err.Error()
	}
	return text.String()
}

func toYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func decodeMap(decode func([]byte, any) error, text string) map[string]any {
	found := map[string]any{}
	if err := decode([]byte(text), &found); err != nil {
		found["Error"] = err.Error()
	}
	return found
}

func decodeList(decode func([]byte, any) error, text string) []any {
	found := []any{}
	if err := decode([]byte(text), &found); err != nil {
		return []any{err.Error()}
	}
	return found
}
