package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"
	"unicode"

	"github.com/Masterminds/sprig/v3"
)

var functions = allFunctions()

// certificates names the functions that make some.
var certificates = []string{
	"genCA", "genCAWithKey",
	"genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey",
}

var errNoClock = errors.New(
	"there is no clock here, so this certificate would be long expired: make it elsewhere and keep it in a Secret")

func allFunctions() template.FuncMap {
	all := sprig.TxtFuncMap()
	maps.Copy(all, encodingFunctions)
	for _, name := range certificates {
		all[name] = func(...any) (string, error) { return "", errNoClock }
	}
	all["genPrivateKey"] = genPrivateKey
	all["randInt"] = randInt
	all["shuffle"] = shuffle
	all["now"] = func() time.Time { return time.Unix(0, 0).UTC() }
	all["getHostByName"] = func(string) string { return "" }
	all["keys"] = keys
	all["values"] = values
	return all
}

// functionsIn gives the functions that a source may name. A template that is copied copies its functions, and all of
// them are some two hundred.
func functionsIn(source string) template.FuncMap {
	if !strings.Contains(source, "{{") {
		return nil
	}
	found := template.FuncMap{}
	for word := range strings.FieldsFuncSeq(source, isNoWord) {
		if function, ok := functions[word]; ok {
			found[word] = function
		}
	}
	return found
}

func isNoWord(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// keys gives the keys of each map in order; sprig gives them in another order each time.
func keys(dicts ...map[string]any) []string {
	found := []string{}
	for _, dict := range dicts {
		found = append(found, slices.Sorted(maps.Keys(dict))...)
	}
	return found
}

// values gives the values in the order of their keys; sprig gives them in another order each time.
func values(dict map[string]any) []any {
	found := []any{}
	for _, key := range keys(dict) {
		found = append(found, dict[key])
	}
	return found
}
