package main

import (
	"os"

	v2_3 "github.com/coreos/ignition/config/v2_3"
)

func init() { judges["ignition-2.3"] = judgeIgnition }

// Ignition warns of this key even in configs that it wrote itself, because it does not find the embedded field TLS.
const falseAlarm = "Config has unrecognized key: tls"

// judgeIgnition parses a config like Ignition 0.35, the last release for specification 2.3; warnings are faults too.
func judgeIgnition(path string) []finding {
	raw, err := os.ReadFile(path)
	if err != nil {
		return fault(err)
	}
	_, report, err := v2_3.Parse(raw)
	findings := []finding{}
	for _, entry := range report.Entries {
		if entry.Message != falseAlarm {
			findings = append(findings, finding{Line: entry.Line, Message: entry.String()})
		}
	}
	if err != nil && len(findings) == 0 {
		return fault(err)
	}
	return findings
}
