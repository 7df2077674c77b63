// Package v1 has the duration of the Kubernetes API.
package v1

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration has the methods of time.Duration and is "5m0s" in JSON.
type Duration struct {
	time.Duration
}

// UnmarshalJSON reads text such as "5m".
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	d.Duration = parsed
	return err
}

// MarshalJSON writes text such as "5m0s".
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.Duration.String())
}

// ToUnstructured gives text such as "5m0s".
func (d Duration) ToUnstructured() any {
	return d.Duration.String()
}

// String is what a template prints: the Kubernetes API describes its own type, not only the time.
func (d *Duration) String() string {
	if d == nil {
		return "nil"
	}
	return fmt.Sprintf("&Duration{Duration:%v,}", d.Duration)
}
