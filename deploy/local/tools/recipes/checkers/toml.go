package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/pelletier/go-toml/v2"
)

func init() { judges["toml"] = judgeToml }

// judgeToml parses a file, writes the result as TOML, and parses that again: both results must be equal.
func judgeToml(path string) []finding {
	text, err := os.ReadFile(path)
	if err != nil {
		return fault(err)
	}
	var first, second map[string]any
	if err := toml.Unmarshal(text, &first); err != nil {
		return fault(err)
	}
	written, err := toml.Marshal(first)
	if err != nil {
		return fault(err)
	}
	if err := toml.Unmarshal(written, &second); err != nil {
		return fault(err)
	}
	if !reflect.DeepEqual(first, second) {
		return fault(fmt.Errorf("the config differs after it was written and read again"))
	}
	return nil
}
