package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"ostler/go-templates/resources"
)

type phase struct {
	Files    []file            `json:"files"`
	Snippets map[string]string `json:"snippets"`
}

type file struct {
	Path     string `json:"path"`
	Template string `json:"template"`
}

// definition is template source that every file gets, with the functions that it names.
type definition struct {
	source    string
	functions template.FuncMap
}

// fileFault is an error whose file is known.
type fileFault struct {
	error
	path string
}

// render does what Operating System Manager does with a phase, step by step.
func (p phase) render(data resources.Data, maxBytes int) ([]string, error) {
	definitions, err := p.definitions(data, maxBytes)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(p.Files))
	out := limitedText{most: maxBytes}
	for _, f := range p.Files {
		parsed, err := f.parse(definitions)
		if err != nil {
			return nil, fileFault{err, f.Path}
		}
		text, err := execute(parsed, data, &out)
		if err != nil {
			return nil, fileFault{err, f.Path}
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// definitions executes each snippet alone with the full data. What comes out becomes template source again, under the
// snippet's name: a file can call it, but give it nothing.
func (p phase) definitions(data resources.Data, maxBytes int) ([]definition, error) {
	definitions := make([]definition, 0, len(p.Snippets))
	out := limitedText{most: maxBytes}
	for _, name := range slices.Sorted(maps.Keys(p.Snippets)) {
		snippet, err := kept.parse(name, p.Snippets[name])
		if err != nil {
			return nil, fmt.Errorf("snippet %q: %w", name, err)
		}
		text, err := execute(snippet, data, &out)
		if err != nil {
			return nil, fmt.Errorf("snippet %q: %w", name, err)
		}
		definitions = append(definitions, definition{
			source:    "\n{{- define \"" + name + "\" }}\n" + text + "\n{{- end }}",
			functions: functionsIn(name + " " + text),
		})
	}
	return definitions, nil
}

func (f file) parse(definitions []definition) (*template.Template, error) {
	parsed, err := kept.parse(f.Path, f.Template)
	if err != nil || len(definitions) == 0 {
		return parsed, err
	}
	parsed, err = parsed.Clone()
	for _, d := range definitions {
		if err == nil {
			parsed, err = parsed.Funcs(d.functions).Parse(d.source)
		}
	}
	return parsed, err
}

func execute(parsed *template.Template, data resources.Data, out *limitedText) (string, error) {
	restartChance(parsed.Name(), data.SecretName, resources.Seed)
	out.Reset()
	err := parsed.Execute(out, data)
	return out.String(), err
}

// limitedText takes texts until all of them together are too much.
type limitedText struct {
	strings.Builder
	bytes, most int
}

func (t *limitedText) Write(text []byte) (int, error) {
	if t.bytes += len(text); t.bytes > t.most {
		return 0, fmt.Errorf("it made more than %d bytes", t.most)
	}
	return t.Builder.Write(text)
}
