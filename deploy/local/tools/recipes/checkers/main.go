// Judges files as the programs that will read them on a machine do, with those programs' own code.
//
// Standard input is a JSON list of {"kind", "path"}, standard output the JSON list of what is wrong in them: [] when
// nothing is. Which kinds there are is decided by what is compiled in.
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

// A finding is one fault; line is 0 where the judge does not tell it.
type finding struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// A judge reads one file and returns its faults.
type judge func(path string) []finding

// Filled by the files that have the judges.
var judges = map[string]judge{}

func main() {
	var files []file
	if err := json.NewDecoder(os.Stdin).Decode(&files); err != nil {
		fail("Cannot read the list of files: %v", err)
	}
	findings := []finding{}
	for _, one := range files {
		judge, isKnown := judges[one.Kind]
		if !isKnown {
			fail("Cannot judge %q: no judge for kind %q", one.Path, one.Kind)
		}
		for _, found := range judge(one.Path) {
			found.Kind, found.Path = one.Kind, one.Path
			findings = append(findings, found)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(findings); err != nil {
		fail("Cannot print the findings: %v", err)
	}
}

func fault(err error) []finding {
	return []finding{{Message: err.Error()}}
}

func fail(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(2)
}
