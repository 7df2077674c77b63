package main

import (
	"fmt"
	"os"
	"reflect"

	"github.com/pelletier/go-toml/v2"
)

func init() { judges["toml"] = judgeToml }

// judgeToml reads a file, writes what it read, and reads that: nothing may be lost on the way.
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
		return fault(fmt.Errorf("comes back as another config"))
	}
	return nil
}
