// Validates files with the code of the programs that read them on a machine.
//
// Standard input is a JSON list of {"kind", "path"}, standard output a JSON list of findings, which is [] if the files are
// valid. The other files of this package register the validators of the kinds that they know.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type file struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

// A finding is one fault of a file; line is 0 if unknown.
type finding struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// A judge validates one file and returns its faults.
type judge func(path string) []finding

// The judges by kind; the other files of this package add theirs.
var judges = map[string]judge{}

func main() {
	var files []file
	if err := json.NewDecoder(os.Stdin).Decode(&files); err != nil {
		fail("Failed to read the list of files: %v", err)
	}
	findings := []finding{}
	for _, one := range files {
		judge, isKnown := judges[one.Kind]
		if !isKnown {
			fail("Failed to validate %q: kind %q is unknown", one.Path, one.Kind)
		}
		for _, found := range judge(one.Path) {
			found.Kind, found.Path = one.Kind, one.Path
			findings = append(findings, found)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(findings); err != nil {
		fail("Failed to print the findings: %v", err)
	}
}

func fault(err error) []finding {
	return []finding{{Message: err.Error()}}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(2)
}
