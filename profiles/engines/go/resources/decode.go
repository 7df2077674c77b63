package resources

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Data is what templates see.
type Data = *filesData

// A template that prints a pointer prints its address. These never move, so that equal data gives equal text.
var (
	data   filesData
	pinned filesDataTargets
)

// Parameters are what a MachineDeployment sets of what its profile offers. They come from a method, because a field
// would show wherever a template prints or encodes all of its data.
func (d *filesData) Parameters() map[string]any {
	return parameters
}

var parameters map[string]any

// Seed is what random functions start from. Templates cannot reach it.
var Seed string

// Decode reads the data of the next templates from JSON, which has the names of the fields as they are. There is one
// Data at a time: the former becomes the new one.
func Decode(text []byte) (Data, error) {
	given := struct {
		filesData
		Parameters map[string]any
		Seed       string
	}{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return nil, fmt.Errorf("the data of the templates: %w", err)
	}
	parameters, Seed = withNumbers(given.Parameters), given.Seed
	pinned.pin(&given.filesData)
	data = given.filesData
	return &data, nil
}

func withNumbers(given map[string]any) map[string]any {
	for name, value := range given {
		if number, ok := value.(json.Number); ok {
			given[name] = numberOf(number)
		}
	}
	return given
}

// Whole numbers are ints, as those that a template writes are; others compare with none of them.
func numberOf(number json.Number) any {
	if whole, err := number.Int64(); err == nil {
		return int(whole)
	}
	float, _ := number.Float64()
	return float
}
